"""Normal rewards and coins: what likelihood-ratio policies have to know of their rewards."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestk.hardness import t_star
from bestk.kernels.types import BERNOULLI, FloatArray
from bestk.policies.fixed_confidence import thresholds
from bestk.policies.protocol import Question
from bestk.rewards import Bernoulli, Gaussian


class Normal:
    """Normal rewards of known sigma, all of whose formulas are closed; prior: flat.

    Counts n, o and means m, r are arrays of equal or matching shape.
    """

    shift = 0.0

    def __init__(self, sigma: float) -> None:
        self.rewards = Gaussian(sigma)
        self.scale = 2.0 * sigma * sigma

    def costs(self, n: FloatArray, m: FloatArray, o: FloatArray, r: FloatArray) -> FloatArray:
        """Z of pairs with means m >= r: (m - r)^2 / (2 sigma^2 (1/n + 1/o))."""
        cost: FloatArray = (m - r) ** 2 / (self.scale * (1.0 / n + 1.0 / o))
        return cost

    def share(self, n: float, m: float, o: float, r: float) -> float:  # noqa: ARG002
        """Which part of the cost is that of the first arm: o / (n + o)."""
        return o / (n + o)

    def shares(self, means: FloatArray, k: int) -> FloatArray:
        """w*, the shares of samples that attain T*."""
        return t_star(means, k, rewards=self.rewards)[1]

    def draw(
        self, rng: np.random.Generator, n: FloatArray, sums: FloatArray, size: int
    ) -> FloatArray:
        """Means drawn from the posterior, a row each: normal, with variance sigma^2 / n."""
        return rng.normal(sums / n, self.rewards.sigma / np.sqrt(n), (size, len(n)))

    # the parts of the proved threshold that do not depend on the number of samples, and that do
    fixed = staticmethod(thresholds.normal)
    growth = staticmethod(thresholds.normal_growth)


class Coins:
    """Bernoulli rewards; prior: Beta(1, 1). Of coins that are costs, tails are counted."""

    def __init__(self, maximize: bool) -> None:
        self.shift = 0.0 if maximize else 1.0

    def costs(self, n: FloatArray, m: FloatArray, o: FloatArray, r: FloatArray) -> FloatArray:
        """Z of pairs with means m >= r: n kl(m, c) + o kl(r, c), c the mean of both together."""
        c = (n * m + o * r) / (n + o)
        cost: FloatArray = n * divergence(m, c) + o * divergence(r, c)
        return np.maximum(cost, 0.0)

    def share(self, n: float, m: float, o: float, r: float) -> float:
        """Which part of the cost is that of the first arm; of equal means, of nearly equal ones."""
        c = (n * m + o * r) / (n + o)
        first, second = float(n * divergence(m, c)), float(o * divergence(r, c))
        return first / (first + second) if first + second > 0.0 else o / (n + o)

    def shares(self, means: FloatArray, k: int) -> FloatArray:
        """w*, the shares of samples that attain T*."""
        return t_star(np.clip(means, 0.0, 1.0), k, rewards=Bernoulli())[1]

    def draw(
        self, rng: np.random.Generator, n: FloatArray, sums: FloatArray, size: int
    ) -> FloatArray:
        """Means drawn from the posterior, a row each: Beta(1 + heads, 1 + tails)."""
        return rng.beta(1.0 + sums, 1.0 + n - sums, (size, len(n)))

    fixed = staticmethod(thresholds.exponential)
    growth = staticmethod(thresholds.exponential_growth)


def divergence(p: Any, q: Any) -> Any:
    """kl(p, q) of coins, elementwise; infinite where q is 0 or 1 and p is not."""
    from scipy.special import rel_entr

    return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)


def family_of(problem: Question) -> Normal | Coins:
    """Coins for Bernoulli rewards; all others are sub-Gaussian, and taken as normal."""
    if problem.rewards.law == BERNOULLI:
        return Coins(problem.maximize)
    return Normal(problem.rewards.sigma)
