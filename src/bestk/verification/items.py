"""Evidence on a finite set of items, restated from docs/evaluation.md: orders, predictions, bets.

Scores are scaled to [0, 1]. Wealth is kept as logarithms: a row for each arm, a column for each
cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bestk.verification.arrays import Bools, Floats, Ints, numbered
from bestk.verification.coins import ORDER, coins
from bestk.verification.evidence import Evidence
from bestk.verification.history import History

CELLS = 400
EDGES = np.arange(CELLS + 1) / CELLS
TINY = 1e-6  # how far beyond [0, 1] a mean is impossible; the least room of a stake; safety


def check_items(items: Mapping[str, Any], problem: Mapping[str, Any], history: History) -> None:
    """Refuse an evaluation that no theorem covers.

    On these items Theorem 1 of docs/evaluation.md needs every arm's order; of a population, Theorem
    2 of docs/e-lucb.md needs that no two arms are taken together. No arm is on an item twice.
    """
    if items["target"] not in ("items", "population"):
        raise ValueError(f"an evaluation of {items['target']}")
    if items["target"] == "items" and problem.get("items") != items["count"]:
        raise ValueError("an evaluation whose problem knows of other items")
    together = str(problem["params"].get("independent", True)).lower() == "true"
    if items["target"] == "population" and ("items" in problem or together):
        raise ValueError("an evaluation of a population that takes arms together")
    _start(items, 1.0)
    if np.bincount(history.arms, minlength=1).max() > items["count"]:
        raise ValueError(f"an arm has more scores than the {items['count']} items there are")


def _start(items: Mapping[str, Any], sign: float) -> Floats:
    """Residuals on every item before the first score, and how many: those of other arms.

    Whatever they are, they are fixed before the orders are drawn.
    """
    known, start = items["history"], np.zeros((2, items["count"]))
    if known is not None:
        start[0], start[1] = sign * np.array(known["residuals"]), known["counts"]
        if items["target"] != "items" or not np.isfinite(start).all() or start[1].min() < 0:
            raise ValueError("an evaluation with a history that does not fit")
    return start


class _Arm:
    """What is known of an arm before its next score."""

    def __init__(self, n_items: int) -> None:
        self.left = np.arange(n_items)  # items that are yet to come
        self.t, self.total = 0, 0.0
        self.sums = np.zeros(4)  # of y = x - g, of its squares, of (x - expected) z, of z squared


class Scores(Evidence):
    """Every arm on items in its own order, each scored once; scores count in the order given."""

    low, high = 0.0, 1.0

    def __init__(
        self, n_arms: int, of: Mapping[str, Any], sign: float, seed: int, arms: Ints, scores: Floats
    ) -> None:
        self.n_items = n_items = of["count"]
        counts = np.bincount(arms, minlength=n_arms)
        known = [_Arm(n_items) for _ in range(n_arms)]
        self._said = _start(of, sign)  # residuals on every item: their sum, how many
        self._all = np.zeros(3)  # of all arms: scores, how many, squares around what was expected
        # log wealth: against "mean <= c" at upper edges, against "mean >= c" at lower edges
        self._wealth = np.zeros((2, n_arms, CELLS))
        tossed = coins(seed, arms, np.zeros(arms.size, np.int64), numbered(arms), ORDER)
        for arm, x, coin in zip(arms.tolist(), scores.tolist(), tossed.tolist(), strict=True):
            self._follow(arm, known[arm], x, coin)
        super().__init__(counts.astype(np.float64), np.array([arm.total for arm in known]))
        self.is_known = counts == n_items
        # monotone: against "mean <= c" the least up to a cell, against "mean >= c" from it on
        self._wealth[0] = np.minimum.accumulate(self._wealth[0], axis=1)
        self._wealth[1] = np.minimum.accumulate(self._wealth[1][:, ::-1], axis=1)[:, ::-1]

    def _follow(self, row: int, arm: _Arm, x: float, coin: float) -> None:
        """One score: of which item, what was expected of it, and what the bets won."""
        left, t = arm.left, arm.t
        place = min(int(coin * left.size), left.size - 1)
        left[[0, place]] = left[[place, 0]]
        hardness = self._said[0, left] / (self._said[1, left] + 3.0)
        around = hardness - hardness.mean()
        z, (sum_y, sum_yy, sum_xz, sum_zz) = float(around[0]), arm.sums
        beta = min(max((sum_xz + 1.0) / (sum_zz + 1.0), 0.0), 1.5)
        y = x - beta * z
        grand, many, squares = self._all
        usual = (grand + 1.0) / (many + 2.0)
        expected = (sum_y + 4.0 * usual) / (t + 4.0)
        spread = sum_yy - 2.0 * expected * sum_y + t * expected**2
        variance = max((spread + 4.0 * (squares + 0.25) / (many + 1.0)) / (t + 4.0), 1e-4)
        self._bet(row, y, expected, variance, beta * around, arm)
        self._said[:, left[0]] += x - (arm.total + usual) / (t + 1.0), 1.0
        self._all += x, 1.0, (y - expected) ** 2
        arm.sums += y, y * y, (x - expected) * z, z * z
        arm.left, arm.t, arm.total = left[1:], t + 1, arm.total + x

    def _bet(
        self, row: int, y: float, expected: float, variance: float, g: Floats, arm: _Arm
    ) -> None:
        means = (self.n_items * EDGES - arm.total) / arm.left.size  # of what is left, by candidate
        for side, m, room, impossible in (
            (0, means[1:], means[1:] + g.max(), means[1:] < -TINY),
            (1, means[:-1], 1.0 - means[:-1] - g.min(), means[:-1] > 1.0 + TINY),
        ):
            sign = 1.0 - 2.0 * side
            gap = np.maximum(sign * (expected - m), 0.0)
            stake = np.minimum(gap / (variance + gap * gap), 0.9 / np.maximum(room, TINY))
            won = np.log1p(np.where(impossible, 0.0, sign * stake * (y - m)))
            self._wealth[side, row] += np.where(impossible & (gap > 0.0), math.inf, won)

    # --- what it says -----------------------------------------------------------------------------

    def log_e(self, side: int, c: float | Floats, arms: Ints) -> Floats:
        """log E of these arms: the wealth of the cell of c; beyond a known mean infinite."""
        at = np.broadcast_to(np.asarray(c, np.float64), arms.shape)
        cells = np.clip((at * CELLS).astype(np.int64), 0, CELLS - 1)
        found: Floats = self._wealth[0 if side > 0 else 1, arms, cells].copy()
        beyond = side * (self.means[arms] - at) > 0.0
        found[self.is_known[arms]] = -math.inf
        found[self.is_known[arms] & beyond] = math.inf
        return found

    def bound(self, side: int, alpha: float) -> Floats:
        """The edge beyond which every cell has wealth 1/alpha; the mean where it is known."""
        enough = self._wealth[0 if side > 0 else 1] >= -math.log(alpha)
        many = np.count_nonzero(enough, axis=1) / CELLS
        found: Floats = np.where(self.is_known, self.means, many if side > 0 else 1.0 - many)
        return found

    def certifies(
        self, answer: Bools, upper: float, lower: float, product: float, slack: float
    ) -> tuple[bool, float]:
        """Whether the hybrid condition holds for every c; also the first c where it does not.

        Levels are those of a Claim. Between two neighbours of all edges (those of cells, shifted by
        the slack for rivals, and known means) nothing changes, so that middles are enough, and at
        the edges themselves evidence is that of the cell to the right.
        """
        leaders, rivals = np.flatnonzero(answer), np.flatnonzero(~answer)
        shift = int(slack * CELLS + 1e-9) / CELLS  # rivals' cells are shifted by whole cells
        inside = self.means[leaders[self.is_known[leaders]]]
        outside = self.means[rivals[self.is_known[rivals]]] - slack
        marks = np.unique(np.concatenate([EDGES, inside, outside]))
        marks = marks[(marks >= 0.0) & (marks <= 1.0)]
        places = np.concatenate([marks, (marks[1:] + marks[:-1]) / 2.0])
        for c in np.sort(places).tolist():
            y = float(self.log_e(1, c, leaders).min())
            unknown, known = rivals[~self.is_known[rivals]], rivals[self.is_known[rivals]]
            at = c + shift
            x = math.inf
            if unknown.size and at + 0.25 / CELLS < 1.0 + 1.0 / CELLS:
                x = float(self.log_e(-1, min(at + 1e-12, 1.0), unknown).min())
            if known.size:
                x = min(
                    x, float(np.where(c + slack >= self.means[known], math.inf, -math.inf).min())
                )
            wx, wy = math.exp(min(x, 700.0)), math.exp(min(y, 700.0))
            if upper * wx + lower * wy + product * min(wx * wy, 1e300) < 1.0 - TINY:
                return False, c
        return True, math.nan
