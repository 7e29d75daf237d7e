"""Evidence and the bounds it gives, restated from docs/evidence.md for all arms at once.

side = +1 is evidence against "mean <= c", side = -1 against "mean >= c". Formulas are written as in
the document, with scipy's special functions, and inverted by halving an interval. Sums and every c
are counted from an origin near the rewards: evidence does not care where zero is, doubles do.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, erfcx, log_ndtr, xlogy

from bestk.verification.arrays import Floats, Ints

HALF_NORMAL, RAYLEIGH = "half normal", "Rayleigh"
# n0, weight, density: docs/e-lucb.md, "Constants"
MIXTURE = ((2.0, 0.8, HALF_NORMAL), (200.0, 0.2, HALF_NORMAL))
BALANCED_MIXTURE = ((4.0, 0.8, RAYLEIGH), (100.0, 0.2, HALF_NORMAL))
PAIR_MIXTURE = ((8.0, 0.8, RAYLEIGH), (200.0, 0.2, RAYLEIGH))  # of both arms of a pair together
FRACTIONS = 0.8 * 0.5 ** np.arange(12)
FRACTION_WEIGHTS = 1.0 / np.arange(1, 13)
COIN_FRACTIONS = np.array(
    [0.98, 0.75, 0.45, 0.25, 0.14, 0.08, 0.04, 0.02, 0.01, 0.005, 0.002, 0.001,
     2e-4, 3e-5, 4e-6, 5e-7, 6e-8]
)  # fmt: skip
COIN_WEIGHTS = np.array([14, 20, 20, 20, 20, 18, 15, 12, 10, 8, 6, 5, 4, 3, 2, 1, 1], np.float64)

HALVINGS = 80  # of an interval: to the last digit of a double
TABLE, LEADING = 1 << 14, 1 << 11  # see `Normal.bound`


class Evidence:
    """The evidence of every arm; t counts its samples, s is their sum as the policy sees them."""

    low, high = -math.inf, math.inf  # the range of rewards

    def __init__(self, t: Floats, s: Floats) -> None:
        self.t, self.s = t, s
        with np.errstate(invalid="ignore"):
            self.means: Floats = s / t

    def log_e(self, side: int, c: float | Floats, arms: Ints) -> Floats:
        """log E of these arms, at one c or one c each."""
        raise NotImplementedError

    def bound(self, side: int, alpha: float) -> Floats:
        """The extreme c with E(c) >= 1/alpha: lower bounds for side = +1, upper ones for -1.

        The end of the range where no c has so much evidence.
        """
        end = self.low if side > 0 else self.high
        found = np.full(self.t.size, end)
        arms = np.flatnonzero((self.t > 0) & (self.means != end))
        enough, short = found[arms], self.means[arms]
        for _ in range(HALVINGS):
            middle = enough + (short - enough) / 2.0
            holds = self.log_e(side, middle, arms) >= -math.log(alpha)
            enough, short = np.where(holds, middle, enough), np.where(holds, short, middle)
        found[arms] = enough
        return found


class Normal(Evidence):
    """A one-sided normal mixture over n0."""

    def __init__(self, t: Floats, s: Floats, sigma: float, balanced: bool) -> None:
        super().__init__(t, s)
        self.sigma, self.mixture = sigma, BALANCED_MIXTURE if balanced else MIXTURE

    def log_e(self, side: int, c: float | Floats, arms: Ints) -> Floats:
        """log of the weighted mean over n0 and its density."""
        return self._mixed(side * self.t[arms] * (self.means[arms] - c), self.t[arms])

    def log_joint(
        self, leaders: Ints, rivals: Ints, c: Floats, epsilon: float, ratio: float, costs: Floats
    ) -> Floats:
        """log J of pairs, at one c each: the mixture of a leader's lead over c and r times that

        of a rival below c + epsilon, half of it for r = ratio and half for r = 1, both times the
        root of what the rival costs over what the leader does.
        """
        joint = []
        for r in np.outer((ratio, 1.0), np.sqrt(costs[rivals] / costs[leaders])):
            excess = self.t[leaders] * (self.means[leaders] - c)
            excess -= r * self.t[rivals] * (self.means[rivals] - c - epsilon)
            joint.append(self._mixed(excess, self.t[leaders] + r**2 * self.t[rivals], PAIR_MIXTURE))
        return np.asarray(np.logaddexp(*joint) - math.log(2.0))

    def _mixed(
        self, excess: Floats, t: Floats, mixture: tuple[tuple[float, float, str], ...] | None = None
    ) -> Floats:
        terms = []
        for n0, weight, density in mixture or self.mixture:
            z = excess / (self.sigma * np.sqrt(t + n0))
            if density == HALF_NORMAL:
                value = 0.5 * np.log(n0 / (t + n0)) + _log_half_normal(z)
            else:
                value = np.log(n0 / (t + n0)) + _log_rayleigh(z)
            terms.append(math.log(weight) + value)
        return _log_sum(np.stack(terms, axis=-1))

    def bound(self, side: int, alpha: float) -> Floats:
        """The same distance from the mean for all arms with so many samples.

        Above 2^14 samples t counts by its eleven or twelve leading bits: a wider, valid bound.
        """
        distinct, place = np.unique(np.maximum(self.t, 1.0), return_inverse=True)
        t = distinct.astype(np.int64)
        shift = np.zeros_like(t)
        while (big := (distinct > TABLE) & (t >> shift >= 2 * LEADING)).any():
            shift[big] += 1
        counted = ((t >> shift) << shift).astype(np.float64)
        near, far = np.zeros(t.size), self.sigma / np.sqrt(counted)
        target = -math.log(alpha)
        while (short := self._mixed(counted * far, counted) < target).any():
            far[short] *= 2.0
        for _ in range(HALVINGS):
            middle = near + (far - near) / 2.0
            holds = self._mixed(counted * middle, counted) >= target
            near, far = np.where(holds, near, middle), np.where(holds, middle, far)
        found: Floats = self.means - side * far[place]
        found[self.t == 0] = -side * math.inf
        return found


def _log_half_normal(z: Floats) -> Floats:
    """log(2 exp(z^2/2) Phi(z)) = log erfcx(-z/sqrt 2)."""
    up, down = np.maximum(z, 0.0), np.minimum(z, 0.0)
    above = math.log(2.0) + up * up / 2.0 + log_ndtr(up)
    return np.where(z > 0.0, above, np.log(erfcx(-down / math.sqrt(2.0))))


def _log_rayleigh(z: Floats) -> Floats:
    """log(1 + sqrt(2 pi) z exp(z^2/2) Phi(z)); far below 0 by its series 1/z^2 - 3/z^4 + ..."""
    up, down = np.maximum(z, 1e-300), np.clip(z, -50.0, 0.0)
    above = np.logaddexp(
        0.0, 0.5 * math.log(2.0 * math.pi) + np.log(up) + up * up / 2.0 + log_ndtr(up)
    )
    middle = np.log1p(math.sqrt(math.pi / 2.0) * down * erfcx(-down / math.sqrt(2.0)))
    r = 1.0 / np.square(np.minimum(z, -50.0))
    far = np.log(r) + np.log1p(-3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r)))
    return np.where(z > 0.0, above, np.where(z > -50.0, middle, far))


class Beta(Evidence):
    """The Beta(1/2, 1/2) mixture of zeros and ones (mirrored: of -1 and 0, counted from -1)."""

    low, high = 0.0, 1.0

    def log_e(self, side: int, c: float | Floats, arms: Ints) -> Floats:
        """log B(1/2+S, 1/2+f) - log pi - S log c - f log(1-c), flat beyond the mean."""
        t, s = self.t[arms], self.s[arms]
        c = np.clip(np.asarray(c), 0.0, 1.0)
        c = np.minimum(c, s / t) if side > 0 else np.maximum(c, s / t)
        f = t - s
        with np.errstate(divide="ignore"):
            value: Floats = (
                betaln(0.5 + s, 0.5 + f) - math.log(math.pi) - xlogy(s, c) - xlogy(f, 1.0 - c)
            )
        return value


class Bets(Evidence):
    """Bets of fixed fractions on finitely many levels; `counts` has a row for each arm.

    `holes` are lost rewards that count as the worst: the end of the range that gives ratio 0.
    """

    def __init__(self, t: Floats, s: Floats, levels: Floats, counts: Ints, holes: Floats) -> None:
        super().__init__(t, s)
        self.holes = holes
        self.levels, self.counts = levels, counts.astype(np.float64)
        self.low, self.high = float(levels[0]), float(levels[-1])
        self.fractions = FRACTIONS
        self.log_weights = np.log(FRACTION_WEIGHTS / FRACTION_WEIGHTS.sum())

    def log_e(self, side: int, c: float | Floats, arms: Ints) -> Floats:
        """log of the weighted mean over theta of the product of 1 - theta + theta ratio.

        The ratio is (x-low)/(c-low), mirrored for side = -1.
        """
        end = self.low if side > 0 else self.high
        c = np.clip(np.asarray(c, np.float64), self.low, self.high)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.levels == end, 0.0, (self.levels - end) / (c - end))
            growth = np.log1p(self.fractions[:, None] * (ratio[..., None, :] - 1.0))
            counts = self.counts[arms][:, None, :]
            # a level that did not occur counts for nothing, infinite as its growth may be
            wealth = np.where(counts > 0.0, counts * growth, 0.0).sum(axis=-1)
        wealth += self.holes[arms][:, None] * np.log1p(-self.fractions)
        return _log_sum(self.log_weights + wealth)


class Coins(Bets):
    """Bets on zeros and ones, by fractions of their own."""

    def __init__(self, t: Floats, s: Floats) -> None:
        counts = np.stack([t - s, s], axis=-1)
        super().__init__(t, s, np.array([0.0, 1.0]), counts.astype(np.int64), np.zeros(t.size))
        self.fractions = COIN_FRACTIONS
        self.log_weights = np.log(COIN_WEIGHTS / COIN_WEIGHTS.sum())


def _log_sum(logs: Floats) -> Floats:
    """log of the sum of exp over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isinf(top), 0.0, top)
    with np.errstate(divide="ignore", over="ignore"):
        total: Floats = top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1))
    return total
