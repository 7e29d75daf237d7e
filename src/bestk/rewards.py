"""Reward assumptions: what a policy may take for granted about an observation.

The assumption decides which bounds are valid. All three here are sub-Gaussian with a sigma known in
advance, which is what Lemma 2.1 and the Hoeffding radii of LUCB, CLUCB and UGapE need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from bestk.errors import InputError, UnknownName


def _check_sigma(sigma: float) -> None:
    if not (math.isfinite(sigma) and sigma > 0):
        raise InputError(f"sigma {sigma} was refused: it must be a positive, finite number")


def _check_finite(reward: float) -> None:
    if not math.isfinite(reward):
        raise InputError(f"reward {reward} was refused: rewards must be finite")


@dataclass(frozen=True)
class Gaussian:
    """Normal rewards with unknown mean and a known standard deviation."""

    sigma: float = 0.5  # the paper's experiments: variance 1/4 (Section 5)
    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _check_sigma(self.sigma)

    def validate(self, reward: float) -> None:
        """Refuse a reward that this assumption rules out."""
        _check_finite(reward)


@dataclass(frozen=True)
class SubGaussian:
    """Any rewards with E exp(s (X - mu)) <= exp(s^2 sigma^2 / 2), sigma known in advance.

    Rewards in [a, b] qualify with sigma = (b - a)/2 (Hoeffding's lemma). A sample standard
    deviation does not. Simulations draw normal rewards, the extreme case of the assumption.
    """

    sigma: float = 0.5
    name: ClassVar[str] = "subgaussian"

    def __post_init__(self) -> None:
        _check_sigma(self.sigma)

    def validate(self, reward: float) -> None:
        """Refuse a reward that this assumption rules out."""
        _check_finite(reward)


@dataclass(frozen=True)
class Bernoulli:
    """Rewards that are 0 or 1; sub-Gaussian with sigma = 1/2 by Hoeffding's lemma."""

    name: ClassVar[str] = "bernoulli"

    @property
    def sigma(self) -> float:
        """Half the range."""
        return 0.5

    def validate(self, reward: float) -> None:
        """Refuse a reward that this assumption rules out."""
        if reward not in (0, 1):
            raise InputError(f"reward {reward} was refused: Bernoulli rewards are 0 or 1")


Rewards = Gaussian | SubGaussian | Bernoulli
FAMILIES: dict[str, type[Gaussian] | type[SubGaussian] | type[Bernoulli]] = {
    family.name: family for family in (Gaussian, SubGaussian, Bernoulli)
}


def make_rewards(name: str, sigma: float | None = None) -> Rewards:
    """The assumption of that name; sigma where the family has one (default 1/2)."""
    if name not in FAMILIES:
        raise UnknownName("reward family", name, FAMILIES)
    if name == Bernoulli.name:
        if sigma not in (None, 0.5):
            raise InputError(f"sigma {sigma} was refused: Bernoulli rewards have sigma 1/2")
        return Bernoulli()
    family = Gaussian if name == Gaussian.name else SubGaussian
    return family() if sigma is None else family(sigma)
