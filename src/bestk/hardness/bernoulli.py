"""The staircase of Bernoulli means: d is kl.

From one cell to the next one y stays, and c moves up by e. Let o, w and v be the distances from c
of the old arm, the new one and the one that stays, and near and far the nearer and the farther one
of old and new. By the three-point identity of d, e solves

    (d(new, c) + v/o d(old, c)) e + s (v + w) d(c + e, c)
        = v/o (w_near d(far, near) + |o - w| d(c, near)),     s = 1 to the right, -1 down.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from bestk.hardness import staircase
from bestk.hardness.staircase import Case, Side, Solution, Step
from bestk.kernels.types import FloatArray

SMALL = 0.01  # where the series of h takes over: both are good to 4e-14
LEAST = 1e-100  # mu_K and mu_(K+1) with a smaller divergence are taken as equal

Number = TypeVar("Number", float, FloatArray)


def solve(top: FloatArray, rest: FloatArray) -> Solution:
    """T* and optimal counts for Bernoulli means; infinite, counts equal, if the sides touch."""
    low, high = float(rest.max()), float(top.min())
    half = (high - low) / 2.0
    if half <= 0.0 or _kl(half, low + half, 1.0 - high + half) < LEAST:
        return staircase.touching(top, rest)
    return staircase.solve(make(top, rest))


def make(top: FloatArray, rest: FloatArray) -> Case:
    """The arms of both sides, grouped by mean."""
    low, high = float(rest.max()), float(top.min())
    beyond = 1.0 - high  # c = low + x and 1 - c = beyond + left
    upper, top_means, top_apart = _side(top, high, 1)
    lower, rest_means, rest_apart = _side(rest, low, 0)

    def move(step: Step, x: float, left: float) -> float:
        """e of the equation above."""
        right, at, o, w, v, d_old = step
        if right:
            near, mean, apart, sign = o, rest_means[at], rest_apart[at], 1.0
        else:
            near, mean, apart, sign = w, top_means[at + 1], top_apart[at], -1.0
        c, other = low + x, beyond + left
        drop = near * apart + abs(w - o) * _kl(sign * near, mean, 1.0 - mean)
        steep = _kl(-sign * w, c, other) + v / o * d_old
        return _increment(steep / (v + w), v / o * drop / (v + w), sign, c, other, left)

    return Case(
        upper,
        lower,
        high - low,
        lambda step, x, left: _kl(step, low + x, beyond + left),
        lambda step, x, left: kl(step, low + x, beyond + left),
        move,
    )


def _side(means: FloatArray, edge: float, nearer: int) -> tuple[Side, list[float], list[float]]:
    """With the groups' means, and d(farther, nearer) of each and the next.

    `nearer` is 0 if the first of two successive groups is nearer to the edge, 1 otherwise.
    """
    key, group, size = np.unique(-means, return_inverse=True, return_counts=True)
    mean, far = -key, np.abs(-key - edge)
    step, near = np.diff(mean), mean[nearer : len(mean) - 1 + nearer]
    apart = kl(-step if nearer else step, near, 1.0 - near)
    side = Side(far.tolist(), size.astype(float).tolist(), group)
    return side, mean.tolist(), apart.tolist()


def kl(x: FloatArray, c: FloatArray, rest: FloatArray) -> FloatArray:
    """d(c + x, c) of Bernoulli means, rest = 1 - c: exact for the smallest x, c and 1 - c too."""
    return c * _h_array(x / c) + rest * _h_array(-x / rest)


def _kl(x: float, c: float, rest: float) -> float:
    return c * _h(x / c) + rest * _h(-x / rest)


def _h(t: float) -> float:
    """(1+t) log(1+t) - t, for t >= -1 up to rounding."""
    if t <= -1.0:
        return 1.0
    return _series(t) if -SMALL < t < SMALL else (1.0 + t) * math.log1p(t) - t


def _h_array(t: FloatArray) -> FloatArray:
    from scipy.special import xlog1py  # loaded for coins alone: it takes a while

    small, t = np.abs(t) < SMALL, np.maximum(t, -1.0)
    return np.where(small, _series(np.where(small, t, 0.0)), xlog1py(1.0 + t, t) - t)


def _series(t: Number) -> Number:
    return t * t * (1 / 2 - t * (1 / 6 - t * (1 / 12 - t * (1 / 20 - t * (1 / 30 - t / 42)))))


def _increment(slope: float, goal: float, sign: float, c: float, rest: float, most: float) -> float:
    """The e > 0 with slope e + sign d(c + e, c) = goal, or `most` if it is no smaller.

    Newton's method, monotone from the second step on as the left side is convex or concave.
    """
    e = min(goal / slope, 0.5 * most)
    for _ in range(100):
        steep = slope + sign * (math.log1p(e / c) - math.log1p(-e / rest))
        if steep <= 0.0:  # rounding at a double root
            break
        new = e + (goal - slope * e - sign * _kl(e, c, rest)) / steep
        if new >= most:
            new = 0.5 * (e + most)
            if not e < new < most:
                return most
        elif abs(new - e) <= 1e-9 * new:
            return new
        e = new
    return e
