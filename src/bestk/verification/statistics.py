"""What a log says of every arm: its samples, and the interval that they give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any

import numpy as np

from bestk.verification.arrays import Floats, Ints, numbered
from bestk.verification.assumptions import QUANTILE, limits_of
from bestk.verification.claims import EVIDENCE, LIL, ROUNDS, Claim
from bestk.verification.coins import coins
from bestk.verification.evidence import Beta, Bets, Coins, Evidence, Normal
from bestk.verification.history import History
from bestk.verification.items import Scores
from bestk.verification.quantiles import Quantiles

STEPS = 64  # to which bounded rewards are rounded
LARGEST = 1e250  # reward whose quantile is compared
FARTHEST = 1e9  # in sigmas: normal rewards farther from 0 lose the digits that evidence needs


class Statistics:
    """All arms that ever were in the study, one entry each.

    `means`, `lower` and `upper` are as the policy sees them, of rewards negated to minimise, and of
    bounded rewards after rounding; they are counted from `origin`, the low end of the range or a
    reward, so that no digits are lost far from zero. `sums` are of rewards as they were told. Sums
    are exact up to their last digit; the drifts say what adding in the order of the log loses.
    """

    def __init__(self, history: History, claim: Claim) -> None:
        self.history, self.claim = history, claim
        self.n = len(history.labels)
        self._present = set(history.present)
        self.rewards: Mapping[str, Any] = history.specification["problem"]["rewards"]
        arms, told = history.arms, history.rewards
        self.counts: Ints = np.bincount(arms, minlength=self.n)
        self.sums = _sums(arms, told, self.n)
        self.sum_drifts = np.abs(_added(arms, told, self.n) - self.sums)
        self.levels: Ints | None = None  # how often each level of ratings or rounding was seen
        seen = claim.sign * told
        self.origin = self._origin(seen)
        grid = self._grid()
        if grid is not None:
            place = self._placed(grid, seen)
            seen = grid[place]
            pairs = np.bincount(arms * grid.size + place, minlength=self.n * grid.size)
            self.levels = pairs.reshape(self.n, grid.size)
        self.seen_sums = _sums(arms, seen, self.n, self.origin)
        with np.errstate(invalid="ignore"):
            self.means: Floats = self.seen_sums / self.counts
            self.drifts = self.sum_drifts / self.counts
            if grid is not None:
                whole = _sums(arms, seen, self.n)
                self.drifts = np.abs(_added(arms, seen, self.n) - whole) / self.counts
        if history.lost_as == "worst" and grid is None and not claim.q:
            raise ValueError("lost pulls count as the worst only where rewards are bet on")
        self.evidence = self._evidence(grid) if claim.bounds == EVIDENCE else None
        if claim.q and self.evidence is not None:  # the quantiles of the sample, which are exact
            self.means, self.drifts = self.evidence.means, np.zeros(self.n)
        self.lower, self.upper = self._bounds()

    def misfits(self) -> int:
        """Rewards that the assumption rules out."""
        told, family = self.history.rewards, self.rewards["family"]
        if family in ("gaussian", "subgaussian"):
            fits = np.abs(told) <= FARTHEST * self.claim.sigma
        elif family == QUANTILE:
            fits = np.abs(told) <= LARGEST
            if self.claim.relative:
                fits &= told > 0.0
        elif family == "bounded":
            fits = (told >= self.rewards["low"]) & (told <= self.rewards["high"])
        else:
            fits = np.isin(told, (0.0, 1.0) if family == "bernoulli" else self.rewards["levels"])
        return int((~fits).sum())

    def competes(self, arm: int) -> bool:
        """Whether an arm is in the study, not withdrawn."""
        return arm in self._present

    def told(self, value: float) -> float:
        """A mean or a bound as people see it: from zero, and not negated."""
        return self.claim.sign * (self.origin + value)

    def _origin(self, seen: Floats) -> float:
        """What means and bounds are counted from, as the policy sees rewards."""
        limits = limits_of(self.rewards)
        if self.claim.q:
            return 0.0
        if limits is not None:
            return min(self.claim.sign * end for end in limits)
        return float(seen[0]) if seen.size else 0.0

    # --- bets -------------------------------------------------------------------------------------

    def _grid(self) -> Floats | None:
        """The levels that are bet on, ascending, as the policy sees them."""
        family = self.rewards["family"]
        if self.claim.bounds != EVIDENCE or family not in ("ratings", "bounded"):
            return None
        if self.claim.items:
            return None
        if family == "ratings":
            grid = np.array(sorted(self.rewards["levels"]), np.float64)
        else:
            grid = np.linspace(self.rewards["low"], self.rewards["high"], STEPS + 1)
        return grid if self.claim.sign > 0 else -grid[::-1]

    def _placed(self, grid: Floats, seen: Floats) -> Ints:
        """The level of every reward; between two, one or the other by a coin, its mean kept."""
        above = np.clip(np.searchsorted(grid, seen), 0, grid.size - 1)
        between = np.flatnonzero(grid[above] != seen)
        numbers = numbered(self.history.arms)[between]
        rows, changes = self.history.places[between].T
        tossed = coins(self.history.specification["seed"], rows, changes, numbers)
        top = above[between]
        below = np.maximum(top - 1, 0)
        goes_up = tossed * (grid[top] - grid[below]) < seen[between] - grid[below]
        above[between] = np.where(goes_up, top, below)
        return above

    # --- bounds -----------------------------------------------------------------------------------

    def _evidence(self, grid: Floats | None) -> Evidence:
        t = self.counts.astype(np.float64)
        if self.claim.items:
            history, scale = self.history, self.claim.scale
            scores = (self.claim.sign * history.rewards - self.origin) / scale
            seed, items = history.specification["seed"], history.specification["items"]
            return Scores(self.n, items, self.claim.sign, seed, history.arms, scores)
        if self.rewards["family"] == "bernoulli":
            kind = Beta if self.claim.edition == 1 else Coins
            return kind(t, self.seen_sums)
        holes = np.array(self.history.lost["holes"], np.float64)
        if self.history.lost_as == "skip":
            holes[:] = 0.0
        if self.claim.q:
            seen = self.claim.sign * self.history.rewards
            hybrid = self.claim.product > 0.0
            return Quantiles(self.history.arms, seen, self.n, holes, self.claim.q, hybrid)
        if grid is not None and self.levels is not None:
            return Bets(t, self.seen_sums, grid - self.origin, self.levels, holes)
        return Normal(t, self.seen_sums, self.claim.sigma, self.claim.balanced)

    def _bounds(self) -> tuple[Floats, Floats]:
        claim = self.claim
        if self.evidence is not None:
            lower, upper = self.evidence.bound(1, claim.lower), self.evidence.bound(-1, claim.upper)
            if self.claim.items:  # in [0, 1] there
                lower, upper = claim.scale * lower, claim.scale * upper
            unseen = self.counts == 0  # certificates show no interval for them
            lower[unseen], upper[unseen] = -math.inf, math.inf
            return lower, upper
        t = np.where(self.counts > 0, self.counts, np.nan)
        if claim.bounds == LIL:
            down, up = _lil(t, claim.lower, claim), _lil(t, claim.upper, claim)
        else:
            down = up = claim.sigma * np.sqrt(2.0 * self._log_term() / t)
        unknown = np.isnan(t)
        return (
            np.where(unknown, -math.inf, self.means - down),
            np.where(unknown, math.inf, self.means + up),
        )

    def _log_term(self) -> float:
        """Under the root of the radii that grow with time."""
        n = len(self.history.present)
        if self.claim.bounds == ROUNDS:  # log(5 N r^4 / (4 nu))
            return math.log(1.25 * n / self.claim.nu) + 4.0 * math.log(self.round)
        samples = max(1, int(self.counts.sum()))
        return math.log(4.0 * n / self.claim.nu) + 3.0 * math.log(samples)  # log(4 N t^3 / nu)

    @property
    def round(self) -> int:
        """Of lucb, at the check that stops: one more, never fewer than an arm has samples."""
        return max(self.history.round + 1, int(self.counts.max()))


def _sums(arms: Ints, values: Floats, n: int, origin: float = 0.0) -> Floats:
    """The sum of value - origin for every arm, rounded once."""
    ends = np.cumsum(np.bincount(arms, minlength=n))[:-1]
    own = np.split(values[np.argsort(arms, kind="stable")], ends)
    return np.array([math.fsum(chain(x.tolist(), repeat(-origin, x.size))) for x in own])


def _added(arms: Ints, values: Floats, n: int) -> Floats:
    """The sum of the values of every arm, added in the order in which they came."""
    return np.asarray(np.bincount(arms, values, n), np.float64)


def _lil(t: Floats, level: float, claim: Claim) -> Floats:
    """U(t, w) of Lemma 2.1, with the "+2" of Section 5."""
    inner = np.log(np.log((1.0 + claim.eps) * t + 2.0) / level)
    factor = (1.0 + math.sqrt(claim.eps)) * claim.sigma
    radius: Floats = factor * np.sqrt(2.0 * (1.0 + claim.eps) / t * inner)
    return radius
