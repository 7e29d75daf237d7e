"""Code lengths of the sets rule: how the error is spread over all wrong answers.

A code gives every answer M, beside the best set M', a length such that exp(-length) adds up to at
most nu over all M, for every M'. It is a sum over the arms in which they differ (D), so that one
call of an oracle tests all sets at once:

    length = rate |D| + constant * (shares of the arms of D, which add up to 1 or more).

docs/e-clucb.md, "Codes", says why each is valid; tests add them up over enumerated classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bestk.decisions import DecisionClass
from bestk.decisions.base import Extent, extent_of
from bestk.kernels.types import FloatArray

USUAL = 4  # arms of a small difference, where the class does not say: what codes are made best for
SHARP = 60  # halvings of the search for the best rate
LARGEST = 700.0  # exponent


class Code(NamedTuple):
    """Of arms inside the answer and outside (two rows), and what is to be shared."""

    arms: FloatArray
    constant: float


def log_choose(n: int, k: int) -> float:
    """The log of n choose k."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def log_counts(n_arms: int, extent: Extent) -> Mapping[int, float]:
    """How many sets differ from any one set in exactly d arms, at most, as logs."""
    if extent.counts is not None:
        return extent.counts
    k = extent.smallest
    if k == extent.largest:  # as many arms go as come
        ways = {
            2 * m: log_choose(k, m) + log_choose(n_arms - k, m)
            for m in range(1, min(k, n_arms - k) + 1)
        }
    else:
        ways = {d: log_choose(n_arms, d) for d in range(1, n_arms + 1)}
    return ways if extent.n_sets is None else _capped(ways, extent.n_sets - 1.0)


def _capped(ways: Mapping[int, float], left: float) -> dict[int, float]:
    """The same where there are so many sets in all: worst if these differ as little as they can."""
    capped = {}
    for d, many in sorted(ways.items()):
        if left <= 0.0:
            break
        here = min(math.exp(min(many, LARGEST)), left)
        capped[d] = math.log(here)
        left -= here
    return capped


def set_code(decision: DecisionClass, nu: float) -> Code:
    """The code of a class at error nu, fixed before any data."""
    extent, n_arms = extent_of(decision), decision.n_arms
    if extent.inside is not None and extent.outside is not None:
        # of every node of M' that M leaves: (1 + leave)^steps - 1 = nu
        leave = math.expm1(math.log1p(nu) / extent.steps)
        if extent.two_way:
            leave = two_way_leave(nu, extent.steps)
        return Code(np.stack((extent.inside, extent.outside - math.log(leave))), 0.0)
    rate, constant = best_rate(log_counts(n_arms, extent), nu, extent.least)
    return Code(np.full((2, n_arms), rate), constant)


def best_rate(counts: Mapping[int, float], nu: float, least: int | None) -> tuple[float, float]:
    """A rate, and the constant log(1/nu) + log(sum over d of count_d exp(-rate d)) >= 0.

    Where the class knows how many arms two sets differ in at least, no constant is left, which is
    best for the smallest differences; otherwise rate + constant/USUAL is the smallest there is.
    """
    sizes = np.array(list(counts), np.float64)
    logs = np.array(list(counts.values()))

    def constant(rate: float) -> float:
        terms = logs - rate * sizes
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum())) - math.log(nu)

    low, high = 0.0, 1.0
    while constant(high) > 0.0:
        high *= 2.0
    zero = high
    for _ in range(SHARP):
        middle = low + (zero - low) / 2.0
        low, zero = (middle, zero) if constant(middle) > 0.0 else (low, middle)
    if least is not None:
        return zero, 0.0
    low, high = 0.0, zero  # the sum is convex in the rate
    for _ in range(SHARP):
        first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
        if first + constant(first) / USUAL <= second + constant(second) / USUAL:
            high = second
        else:
            low = first
    if high + max(constant(high), 0.0) / USUAL > zero:
        return zero, 0.0
    return high, max(constant(high), 0.0)


def two_way_leave(nu: float, steps: int) -> float:
    """The largest weight of an end of a missing edge with which all undirected paths weigh 1 + nu.

    `along` is what all ways to go on weigh from a step along the other path, `off` from outside it,
    with so many of its nodes left: docs/e-clucb.md, "Codes".
    """

    def excess(z: float) -> float:
        along, off = 1.0, z
        for _ in range(steps):
            along, off = along + z * off, max(z, 2.0 * z * along + z * z * off)
        return along - 1.0 - nu

    low, high = 0.0, 1.0
    for _ in range(SHARP):
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if excess(middle) > 0.0 else (middle, high)
    return low
