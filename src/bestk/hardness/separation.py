"""The search for sets that break y(D) <= g^2: exact, with an oracle for linear weights only.

D is the symmetric difference of a feasible set S with OPT and g = mu(OPT) - mu(S), in units of the
smallest gap. Wanted is R with y(D) <= R g^2 for every S, and sets with y(D) > g^2 if there are any.

For any slope q >= 0 the oracle gives the largest y(D) - q g, hence a line above all points
(g, y(D)). Some lines and the smallest g together bound y(D)/g^2: the largest value of (p + q g)/g^2
below all lines is at a crossing of two, at the smallest g or at g = -2p/q. The slope to ask next is
that of the parabola through the worst place. Lines see the convex hull only: where an edge of the
hull passes above the parabola and its ends do not, the sets are divided in those whose D holds an
arm and those whose D does not (a weight beyond the sum of all others forces an arm in or out), and
each part is searched by itself. OPT is left out by dividing first by the arm of D of largest gap,
which is at most g. So R is a true bound but for rounding, if the oracle is exact, also when the
search ends early at `max_calls`: the parts left keep the bound they had.

In a matroid only single exchanges bind. For bases OPT and S there is a bijection f of OPT\\S to
S\\OPT with OPT - i + f(i) a basis for every i (Brualdi 1969). The gaps of these exchanges are >= 0
and sum to g, and y(D) is the sum of their y_i + y_f(i) <= gap^2, so y(D) <= sum gap^2 <= g^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from bestk.decisions.base import Forced, constrained
from bestk.kernels.types import BoolArray, FloatArray, IntArray

LIMIT = 1.0 + 1e-5  # a set is violated beyond this multiple of g^2
STEPS = 12  # lines asked for in one part before it is divided

# what is `Forced` here is D: 1, it must hold the arm, -1, it must not, 0, it may


class Point(NamedTuple):
    """A competing set seen by the oracle."""

    arms: BoolArray
    gap: float
    cost: float  # y(D)

    @property
    def ratio(self) -> float:
        """What y must be divided by for the set to be satisfied."""
        return self.cost / (self.gap * self.gap)


class Rivals:
    """The feasible sets other than OPT, seen as their symmetric differences with it."""

    def __init__(self, best: Callable[[FloatArray], BoolArray], means: FloatArray) -> None:
        self.optimum = np.array(best(means.copy()), dtype=np.bool_)
        self.calls = 1
        self.means = means
        self.sign = np.where(self.optimum, -1.0, 1.0)
        self._best = best

    def find(self, weights: FloatArray, forced: Forced) -> BoolArray | None:
        """D of the heaviest set that obeys `forced`; None if no set does."""
        self.calls += 1
        inside = np.where(self.optimum, -forced, forced)
        answer = constrained(self._best, weights, inside)
        return None if answer is None else answer != self.optimum

    def gap(self, arms: BoolArray) -> float:
        """mu(OPT) - mu(S), rounded once; 0 where it is below the rounding of the means."""
        terms = (-self.sign[arms] * self.means[arms]).tolist()
        gap = math.fsum(terms)
        return 0.0 if abs(gap) <= 2.0**-53 * math.fsum(map(abs, terms)) else gap


def separate(
    rivals: Rivals, gaps: FloatArray, y: FloatArray, max_calls: int
) -> tuple[float, list[BoolArray]]:
    """A bound R of y(D)/g^2 over all rivals, and violated ones; none of them and calls left:
    R <= LIMIT."""
    scaled = rivals.means / gaps.min()
    parts: list[tuple[Forced, float]] = []
    forced = np.zeros(gaps.size, np.int8)
    for arm in np.argsort(-gaps, kind="stable").tolist():
        if math.isfinite(gaps[arm]):
            forced[arm] = 1
            parts.append((forced.copy(), float(y.sum() * (gaps.min() / gaps[arm]) ** 2)))
        forced[arm] = -1
    worst, violated = 0.0, []
    while parts:
        halves: list[tuple[Forced, float]] = []
        for forced, known in parts:
            if rivals.calls >= max_calls:
                halves.append((forced, known))
                continue
            bound, points = _search(rivals, scaled, float(gaps.min()), y, forced)
            over = [point.arms for point in points if point.ratio > LIMIT]
            violated += over
            split = _split(gaps, forced, points) if bound > LIMIT and not over else -1
            if split < 0:
                worst = max(worst, bound)
                continue
            for side in (1, -1):
                half = forced.copy()
                half[split] = side
                halves.append((half, min(bound, known)))
        if violated or rivals.calls >= max_calls:
            return max([worst, *(known for _, known in halves)]), violated
        parts = halves
    return worst, violated


def _search(
    rivals: Rivals, scaled: FloatArray, unit: float, y: FloatArray, forced: Forced
) -> tuple[float, list[Point]]:
    """A bound of y(D)/g^2 over one part, and the rivals met on the way."""

    def ask(weights: FloatArray) -> Point | None:
        arms = rivals.find(weights, forced)
        return arms if arms is None else Point(arms, rivals.gap(arms) / unit, float(y[arms].sum()))

    near = ask(scaled)
    far = ask(rivals.sign * y)
    if near is None or far is None:
        return 0.0, []
    points = [near, far]
    lines = [(far.cost, 0.0)]
    worst, at = _worst_place(near.gap, lines)
    while worst > LIMIT and points[-1].ratio <= LIMIT and len(lines) < STEPS:
        slope = 2.0 * worst * at
        if min(abs(slope - q) for _, q in lines) <= 1e-9 * slope:
            break  # the worst place is on an edge of the hull
        point = ask(rivals.sign * y + slope * scaled)
        if point is None:
            break
        points.append(point)
        lines.append((point.cost - slope * point.gap, slope))
        worst, at = _worst_place(near.gap, lines)
    return worst, points


def _worst_place(nearest: float, lines: list[tuple[float, float]]) -> tuple[float, float]:
    """The largest min over lines of (p + q g)/g^2 for g >= nearest, and its g."""
    if len(lines) == 1:
        return lines[0][0] / nearest**2, nearest
    p, q = np.array(lines).T
    a, b = np.triu_indices(p.size, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.concatenate(([nearest], (p[a] - p[b]) / (q[b] - q[a]), -2.0 * p / q))
    places = places[(places >= nearest) & np.isfinite(places)]
    values = (p[:, None] + q[:, None] * places).min(axis=0) / places**2
    worst = int(values.argmax())
    return float(values[worst]), float(places[worst])


def _split(gaps: FloatArray, forced: Forced, points: list[Point]) -> int:
    """The free arm of largest gap that only some of the points hold; -1 if there is none."""
    held = np.array([point.arms for point in points])
    mixed = held.any(axis=0) & ~held.all(axis=0) & (forced == 0)
    return int(np.where(mixed, gaps, -1.0).argmax()) if mixed.any() else -1


def exchanges(rivals: Rivals, sampled: BoolArray) -> IntArray:
    """The pairs (i, j) for which OPT - i + j is feasible, one a row."""
    inside, outside = (np.flatnonzero(sampled & (rivals.optimum == side)) for side in (True, False))
    nothing, pairs = np.zeros(sampled.size), []
    for pair in product(inside.tolist(), outside.tolist()):
        forced = np.full(sampled.size, -1, np.int8)
        forced[list(pair)] = 1
        if rivals.find(nothing, forced) is not None:
            pairs.append(pair)
    return np.array(pairs, np.int64)


def separate_exchanges(
    rivals: Rivals, gaps: FloatArray, y: FloatArray, pairs: IntArray
) -> tuple[float, list[BoolArray]]:
    """What `separate` gives, exactly, for a matroid: the worst exchanges are enough."""
    i, j = pairs.T
    ratios = (y[i] + y[j]) / ((rivals.means[i] - rivals.means[j]) / gaps.min()) ** 2
    worst = np.argsort(-ratios, kind="stable")[: 2 * gaps.size]
    arms = np.arange(gaps.size)
    return float(ratios.max()), [np.isin(arms, pairs[k]) for k in worst if ratios[k] > LIMIT]
