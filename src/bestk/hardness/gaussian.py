"""The staircase of Gaussian means: d is the squared distance, in units where 2 sigma^2 is 1.

The condition of a pair is then y_i + y_j <= (mu_i - mu_j)^2, and the plan an optimal transport of
the masses 1/y^2 of the two sides at that cost, which is Monge.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from bestk.hardness import staircase
from bestk.hardness.staircase import Case, Side, Solution, Step
from bestk.kernels.types import FloatArray

Number = TypeVar("Number", float, FloatArray)

FINE = 1e-12  # as walks are fast, shares are found to more digits than T* needs
FAR = 1e30  # distances are cut here: such an arm adds less than rounding, and squares stay finite


def solve(top: FloatArray, rest: FloatArray) -> Solution:
    """T* and optimal counts, for the distances of both sides' arms in units of mu_K - mu_(K+1)."""
    return staircase.solve(make(top, rest))


def make(top: FloatArray, rest: FloatArray) -> Case:
    """The arms of both sides, grouped by distance."""
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
