"""Evidence on quantiles restated from docs/evidence.md, "Quantiles", and the stop that it gives.

Bets on how many observations of an arm lie above c (side = +1) or not above it (side = -1).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from bestk.verification.arrays import Floats, Ints
from bestk.verification.claims import Claim
from bestk.verification.evidence import Evidence, _log_sum

FRACTIONS = np.array([0.95, 0.75, 0.5, 0.3, 0.18, 0.1, 0.05, 0.02, 0.007, 0.002, 3e-4, 4e-5])
WEIGHTS = np.array([50, 60, 60, 60, 50, 40, 30, 20, 10, 6, 4, 3], np.float64)
# of the hybrid stop: where one side is enough by itself, and where both are multiplied
ALONE = np.array([120, 150, 60, 15, 5, 4, 3, 3, 2, 2, 1, 1], np.float64)
PAIRED = np.array([20, 40, 60, 60, 50, 40, 30, 20, 10, 6, 4, 3], np.float64)
HALVINGS = 64  # of an interval of whole numbers


class Quantiles(Evidence):
    """Every arm's observations in ascending order, as the policy sees them, and its lost ones."""

    def __init__(
        self, arms: Ints, seen: Floats, n: int, holes: Floats, q: float, hybrid: bool
    ) -> None:
        counts = np.bincount(arms, minlength=n)
        super().__init__(counts.astype(np.float64), np.zeros(n))
        order = np.lexsort((seen, arms))
        self.own = np.split(seen[order], np.cumsum(counts)[:-1])
        self.holes, self.q = holes, q
        self.weights = ALONE if hybrid else WEIGHTS
        self.means = np.array([_quantile(x, q) for x in self.own])

    def wealth(self, side: int, hits: Floats, t: Floats, weights: Floats) -> Floats:
        """log of the weighted mean over theta of (1 - theta + theta/p)^hits (1 - theta)^(t - hits).

        p is the largest probability of a hit: of lying above the quantile, or below it.
        """
        share = np.log(weights / weights.sum())
        p = 1.0 - self.q if side > 0 else self.q
        hit, miss = np.log(1.0 - FRACTIONS + FRACTIONS / p), np.log1p(-FRACTIONS)
        return _log_sum(share + hits[..., None] * hit + (t - hits)[..., None] * miss)

    def least(
        self, side: int, places: Floats, arms: Ints, strictly: bool = False
    ) -> tuple[Floats, Floats]:
        """At each place the least evidence of these arms, by itself and to be multiplied.

        Bets on what is above the place, or not above it; strictly: on what is below it.
        """
        alone, paired = np.full((2, places.size), math.inf)
        end: Literal["left", "right"] = "left" if strictly else "right"
        for arm in arms:
            to = self.own[arm].searchsorted(places, end).astype(np.float64)
            hits, t = self.t[arm] - to if side > 0 else to, np.full(places.size, self._held[arm])
            alone = np.minimum(alone, self.wealth(side, hits, t, ALONE))
            paired = np.minimum(paired, self.wealth(side, hits, t, PAIRED))
        return alone, paired

    @property
    def _held(self) -> Floats:
        return self.t + self.holes

    def bound(self, side: int, alpha: float) -> Floats:
        """The order statistic up to which "quantile <= c" is refuted, or from which on ">= c" is.

        It has as many observations on its far side, itself included, as evidence of 1/alpha needs.
        """
        t = self._held
        short, enough = np.zeros(t.size), t + 1.0  # nothing is ever refuted without a hit
        for _ in range(HALVINGS):
            middle = np.floor((short + enough) / 2.0)
            holds = self.wealth(side, middle, t, self.weights) >= -math.log(alpha)
            is_open = enough - short > 1.0
            enough = np.where(is_open & holds, middle, enough)
            short = np.where(is_open & ~holds, middle, short)
        found = np.full(t.size, -side * math.inf)
        for arm, k in enumerate(enough.astype(np.int64).tolist()):
            if k <= self.own[arm].size:
                found[arm] = self.own[arm][-k if side > 0 else k - 1]
        return found


def _quantile(ordered: Floats, q: float) -> float:
    """Linear between neighbours: at place (n-1) q of the values, counted from 0."""
    if not ordered.size:
        return math.nan
    at = (ordered.size - 1) * q
    below = min(math.floor(at), ordered.size - 1)
    x, y = float(ordered[below]), float(ordered[min(below + 1, ordered.size - 1)])
    part = at - below
    return x if x == y or part <= 0.0 else min(max(x * (1.0 - part) + y * part, x), y)


def certified_by_counts(
    claim: Claim, evidence: Quantiles, leaders: Ints, rivals: Ints
) -> tuple[bool, float, float]:
    """Whether for every c, X the least evidence of a rival up to the reach of c, Y of a leader,

        w1 X/K + w2 Y/(N-K) + w3 X Y/(K (N-K)) >= 1/nu.

    X Y is of evidence by another mixture. Y falls at observations of leaders alone, and X rises:
    the left side is least at one of these, or below all. With the smaller union of Theorem 7 a
    rival's hits lie strictly below. Returned as by `rules.certified`.
    """
    places = np.unique(np.concatenate([[-math.inf], *(evidence.own[arm] for arm in leaders)]))
    y, y_paired = evidence.least(1, places, leaders)
    beyond = np.array([claim.reach(c) for c in places.tolist()])
    x, x_paired = evidence.least(-1, beyond, rivals, claim.exact)
    total = np.logaddexp(math.log(claim.upper) + x, math.log(claim.lower) + y)
    total = np.logaddexp(total, math.log(claim.product) + x_paired + y_paired)
    worst = int(np.argmin(total))
    return bool(total[worst] >= 0.0), float(total[worst]), float(places[worst])
