"""The staircase of Gaussian means: d is the squared distance, in units where 2 sigma^2 is 1.

The condition of a pair is then y_i + y_j <= (mu_i - mu_j)^2, and the plan an optimal transport of
the masses 1/y^2 of the two sides at that cost, which is Monge.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from bestk.hardness import staircase
from bestk.hardness.staircase import Case, Side, Solution, Step
from bestk.kernels.types import FloatArray

Number = TypeVar("Number", float, FloatArray)

FINE = 1e-12  # as walks are fast, shares are found to more digits than T* needs
FAR = 1e30  # distances are cut here: such an arm adds less than rounding, and squares stay finite


def solve(top: FloatArray, rest: FloatArray, sigma: float) -> Solution:
    """T* in samples, and optimal counts in proportion; infinite, counts equal, if sides touch."""
    with np.errstate(over="ignore"):  # an infinite gap needs no samples
        gap = float(top.min() - rest.max())
    unit = sigma / gap if gap > 0.0 else math.inf
    if math.isinf(unit * unit):
        return staircase.touching(top, rest)
    found = staircase.solve(make((top - top.min()) / gap, (rest.max() - rest) / gap))
    scale = 2.0 * unit * unit
    return found._replace(low=scale * found.low, high=scale * found.high)


def make(top: FloatArray, rest: FloatArray) -> Case:
    """Arms grouped by their distances from mu_K and mu_(K+1), in units of mu_K - mu_(K+1)."""
    return Case(_side(top, -1.0), _side(rest, 1.0), 1.0, _square, _square, _move, FINE)


def _side(far: FloatArray, sign: float) -> Side:
    key = sign * np.minimum(far, FAR)
    key, group, size = np.unique(key, return_inverse=True, return_counts=True)
    return Side((sign * key).tolist(), size.astype(float).tolist(), group)


def _square(step: Number, x: Number, left: Number) -> Number:  # noqa: ARG001
    return step * step


def _move(step: Step, x: float, left: float) -> float:  # noqa: ARG001
    """On a tight pair y_i = (mu_i - mu_j)(mu_i - c), which stays."""
    return step.v * abs(step.w - step.o) / (step.v + step.w)
