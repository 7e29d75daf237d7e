"""Evidence and its bounds once more: slow, obvious, nothing shared with `bestk`.

side = +1 is evidence against "mean <= c", side = -1 against "mean >= c"; `c` may be an array, so
that "for every c" is a look at many. Evidence reads a summary of all rewards of an arm. Bounds are
found by cutting an interval into pieces again and again.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log, pi, sqrt

import numpy as np
from scipy.special import betaln, erfcx, log_ndtr, xlogy


class Normal:
    """One-sided mixture over n0, of drifts with a half-normal or a Rayleigh prior."""

    low, high = -inf, inf

    def __init__(self, sigma, mixture):
        self.sigma, self.mixture = sigma, mixture  # of (n0, weight, "half-normal" or "rayleigh")

    def see(self, reward, coin):  # noqa: ARG002
        return reward

    def summary(self, rewards):
        return len(rewards), total(rewards)

    def mean(self, seen):
        return seen[1] / seen[0]

    def log_e(self, side, seen, c):
        t, s = seen
        terms = []
        for n0, weight, prior in self.mixture:
            z = side * (s - t * np.asarray(c)) / (self.sigma * sqrt(t + n0))
            gaussian = z**2 / 2 + log_ndtr(z)  # log(exp(z^2/2) Phi(z))
            if prior == "half-normal":
                value = 0.5 * log(n0 / (t + n0)) + log(2) + gaussian
            else:
                value = log(n0 / (t + n0)) + log_one_plus(z)
            terms.append(log(weight) + value)
        return add_up(np.array(terms))


def log_one_plus(z):
    """log(1 + sqrt(2 pi) z exp(z^2/2) Phi(z)), for either sign of z."""
    up, down = np.maximum(z, 1e-300), np.minimum(z, 0.0)
    above = np.logaddexp(0, log(sqrt(2 * pi)) + np.log(up) + up**2 / 2 + log_ndtr(up))
    below = np.log(1 + sqrt(2 * pi) * down * erfcx(-down / sqrt(2)) / 2)
    return np.where(z > 0, above, below)


class Beta:
    """Beta(1/2, 1/2) mixture of 0 and 1 (or -1 and 0), made one-sided at the mean."""

    def __init__(self, low=0.0, high=1.0):
        self.low, self.high = low, high

    see, summary, mean = Normal.see, Normal.summary, Normal.mean

    def log_e(self, side, seen, c):
        t, s = seen[0], seen[1] - seen[0] * self.low
        c = np.clip(np.asarray(c) - self.low, 0.0, 1.0)
        c = np.minimum(c, s / t) if side > 0 else np.maximum(c, s / t)
        return betaln(0.5 + s, 0.5 + t - s) - log(pi) - xlogy(s, c) - xlogy(t - s, 1 - c)


class Bets:
    """Bets of fixed fractions: each sample multiplies by 1 - theta + theta x/c."""

    def __init__(self, levels, mixture):
        self.levels, self.mixture = sorted(levels), mixture  # of (fraction, weight)
        self.low, self.high = self.levels[0], self.levels[-1]

    def see(self, reward, coin):  # noqa: ARG002
        assert reward in self.levels
        return reward

    def summary(self, rewards):
        return tuple(rewards.count(x) for x in self.levels)

    def mean(self, seen):
        return total(n * x for n, x in zip(seen, self.levels, strict=True)) / sum(seen)

    def log_e(self, side, seen, c):
        end = self.low if side > 0 else self.high
        far = abs(np.clip(c, self.low, self.high) - end)
        theta, weight = (
            np.reshape(x, (-1, *[1] * far.ndim)) for x in zip(*self.mixture, strict=True)
        )
        wealth = np.log(weight) + 0 * far
        with np.errstate(divide="ignore"):
            for x, n in zip(self.levels, seen, strict=True):
                if n:
                    ratio = abs(x - end) / far if x != end else 0.0
                    wealth = wealth + n * np.log(1 - theta + theta * ratio)
        return add_up(wealth)


class Coins(Normal):
    """Bets of fixed fractions on rewards of 0 and 1 (or -1 and 0), from their number and sum."""

    def __init__(self, low, high, mixture):
        self.low, self.high, self.bets = low, high, Bets((low, high), mixture)

    def log_e(self, side, seen, c):
        t, ones = seen[0], seen[1] - seen[0] * self.low
        return self.bets.log_e(side, (t - ones, ones), c)


def is_normal(family):
    """Whether a family is one of normal rewards; coins only count like them."""
    return isinstance(family, Normal) and not isinstance(family, Coins)


class Rounded(Bets):
    """Rewards anywhere in a range, rounded at random to 64 steps, then bet on."""

    def __init__(self, low, high, mixture):
        super().__init__((low + (high - low) * j / 64 for j in range(65)), mixture)

    def see(self, reward, coin):
        below = max(x for x in self.levels if x <= reward)
        if below == reward:
            return reward
        above = min(x for x in self.levels if x > reward)
        up = (reward - below) / (above - below)  # so that the mean is kept
        return above if coin < up else below


class Bernstein:
    """Empirical-Bernstein mixture; the order of rewards matters."""

    see, mean = Normal.see, Normal.mean

    def __init__(self, low, high, mixture):
        self.low, self.high, self.mixture = low, high, mixture  # of (b, weight)

    def summary(self, rewards):
        middle, v = (self.low + self.high) / 2, 0.0
        for n, x in enumerate(rewards):
            v += (x - (total(rewards[:n]) / n if n else middle)) ** 2
        return len(rewards), total(rewards), v

    def log_e(self, side, seen, c):
        t, s, v = seen
        width = self.high - self.low
        lead = side * (s - t * np.clip(c, self.low, self.high)) / width
        terms = [log(w) + b * lead - (-log(1 - b) - b) * v / width**2 for b, w in self.mixture]
        return add_up(np.array(terms))


def add_up(logs):
    """log of the sum of exp, along the first axis."""
    top = logs.max(axis=0)
    if np.isinf(top).any():
        return np.where(np.isinf(top), top, add_up(np.where(np.isinf(logs), 0.0, logs)))
    return top + np.log(np.exp(logs - top).sum(axis=0))


def total(rewards) -> float:
    """One after the other (`sum` is cleverer than that)."""
    s = 0.0
    for x in rewards:
        s += x
    return s


@lru_cache(maxsize=1 << 16)
def bound(family, side, seen, alpha) -> float:
    """The extreme c with E(c) >= 1/alpha: a lower bound for side = +1, an upper one for -1."""
    if type(family) is Normal:  # depends on the distance from the mean alone
        there = normal_distance(family, seen[0], alpha)
        return family.mean(seen) - side * there
    mean, end = family.mean(seen), family.low if side > 0 else family.high
    if mean == end or family.log_e(side, seen, end) < log(1 / alpha):
        return end
    return cut(lambda c: family.log_e(side, seen, c), end, mean, alpha)


@lru_cache(maxsize=1 << 16)
def normal_distance(family, t, alpha) -> float:
    far = family.sigma / sqrt(t)
    while family.log_e(1, (t, 0.0), -far) < log(1 / alpha):
        far *= 2
    return -cut(lambda c: family.log_e(1, (t, 0.0), c), -far, 0.0, alpha)


def cut(log_e, enough, short, alpha) -> float:
    """The last c from `enough` towards `short` with evidence 1/alpha, 32 pieces at a time."""
    for _ in range(7):  # 32^7 = 3e10
        pieces = np.linspace(enough, short, 33)
        last = int(np.flatnonzero(log_e(pieces[:-1]) >= log(1 / alpha))[-1])
        enough, short = pieces[last], pieces[last + 1]
    return float(enough)
