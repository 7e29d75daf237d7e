"""Assumptions on means: normal, sub-Gaussian, coins, ratings, rewards in a range."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bestk.arguments import as_float, is_bool, real, shown
from bestk.errors import InputError
from bestk.kernels.types import (
    BERNOULLI,
    BERNSTEIN,
    BETA,
    BETTING,
    COINS,
    FINITE,
    GAUSSIAN,
    NORMAL,
    Evidence,
)
from bestk.rewards import evidence as ev
from bestk.rewards.base import FARTHEST, POSITIVE, Family, check_sigma, keep


class Normal(Family):
    """Rewards that may be any finite number, their scatter known in advance."""

    sigma: float
    law: ClassVar[int | None] = GAUSSIAN
    has_range: ClassVar[bool] = False

    @property
    def description(self) -> str:
        """What is assumed of one reward, which nobody can check."""
        return (
            f"Rewards {self._shape} with standard deviation {self.sigma:g} around the arm's mean"
            " (taken on trust: no data can show it)."
        )

    def __post_init__(self) -> None:
        sigma = real(self.sigma, "sigma", POSITIVE)
        check_sigma(sigma)
        keep(self, sigma=sigma)

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        return "rewards must be finite numbers"

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        return math.isfinite(reward)

    def read_for_policy(self, reward: object) -> float:
        """The same, refusing also what policies cannot count without losing digits."""
        value = self.read(reward)
        if abs(value) > FARTHEST * self.sigma:
            raise InputError(
                f"reward {value!r} was refused: more than {FARTHEST:g} times sigma away from 0,"
                " digits are lost; subtract a constant from all rewards"
            )
        return value

    def evidence(
        self, points: Sequence[float] | None = None, weights: Sequence[float] | None = None
    ) -> Evidence:
        """A one-sided mixture over n0."""
        if points is None:
            points, weights = ev.N0, ev.N0_WEIGHTS
        return ev.mixture(NORMAL, self.sigma, ev.UNIT, points, weights)

    def policy_evidence(self, setting: ev.Setting) -> Evidence:
        """The same over n0 that suit the number of samples that arms of policies get."""
        n0, weights, shapes = zip(
            *(ev.BALANCED_NORMAL if setting.balanced else ev.POLICY_NORMAL), strict=True
        )
        return ev.mixture(NORMAL, self.sigma, ev.UNIT, n0, weights, shapes)


class Ranged(Family):
    """Rewards between two numbers known in advance; sub-Gaussian by Hoeffding's lemma."""

    @property
    def low(self) -> float:
        """The smallest that a reward can be."""
        raise NotImplementedError

    @property
    def high(self) -> float:
        """The largest that a reward can be."""
        raise NotImplementedError

    @property
    def sigma(self) -> float:
        """Half the range."""
        return (self.high - self.low) / 2

    def item_evidence(self, maximize: bool) -> Evidence:
        """Evidence on a finite set of items: all it needs is the range."""
        ends = sorted(end if maximize else -end for end in (float(self.low), float(self.high)))
        one = np.ones(1)
        return Evidence(FINITE, self.sigma, np.array(ends), one, np.zeros(1), np.zeros(1))


@dataclass(frozen=True)
class Gaussian(Normal):
    """Normal rewards with unknown mean and a known standard deviation.

    Evidence: the one-sided normal mixture.
    """

    sigma: float = 0.5  # the paper's experiments: variance 1/4 (Section 5)
    name: ClassVar[str] = "gaussian"
    _shape: ClassVar[str] = "are normal"


@dataclass(frozen=True)
class SubGaussian(Normal):
    """Any rewards with E exp(s (X - mu)) <= exp(s^2 sigma^2 / 2), sigma known in advance.

    Rewards in [a, b] qualify with sigma = (b - a)/2 (Hoeffding's lemma). A sample standard
    deviation does not. Simulations draw normal rewards, the extreme case of the assumption.
    Evidence: the one-sided normal mixture.
    """

    sigma: float = 0.5
    name: ClassVar[str] = "subgaussian"
    _shape: ClassVar[str] = "scatter no wider than normal"


@dataclass(frozen=True)
class Bernoulli(Ranged):
    """Rewards that are 0 or 1; sub-Gaussian with sigma = 1/2 by Hoeffding's lemma.

    Evidence: the Beta(1/2, 1/2) mixture; in policies a mixture of bets, sharper for one side.
    """

    name: ClassVar[str] = "bernoulli"
    law: ClassVar[int | None] = BERNOULLI
    _shape: ClassVar[str] = "are 0 or 1"

    @property
    def low(self) -> float:
        """No hit."""
        return 0.0

    @property
    def high(self) -> float:
        """A hit."""
        return 1.0

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        return "Bernoulli rewards are 0 or 1"

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        return reward in (0.0, 1.0)

    def evidence(
        self, points: Sequence[float] | None = None, weights: Sequence[float] | None = None
    ) -> Evidence:
        """The Beta mixture; with points, bets of these fractions."""
        if points is None:
            return ev.mixture(BETA, self.sigma, ev.UNIT, ev.N0, None)  # which has no use for points
        return ev.mixture(COINS, self.sigma, ev.UNIT, points, weights)

    def policy_evidence(self, setting: ev.Setting) -> Evidence:
        """Bets, or the Beta mixture of version 0.1."""
        if not setting.bets:
            return ev.mixture(BETA, self.sigma, ev.UNIT, ev.N0, None, maximize=setting.maximize)
        points, weights = ev.COIN_FRACTIONS, ev.COIN_WEIGHTS
        return ev.mixture(COINS, self.sigma, ev.UNIT, points, weights, maximize=setting.maximize)


@dataclass(frozen=True)
class Ratings(Ranged):
    """Rewards that take finitely many values known in advance, such as stars from 1 to 5.

    Sub-Gaussian with half the range (Hoeffding's lemma). Evidence: a mixture of bets on the counts
    of the levels; it adapts to the variance, so it beats sigma = half the range where ratings pile
    up. `levels` is kept in ascending order; a level that never occurs costs nothing.
    """

    levels: tuple[float, ...]
    name: ClassVar[str] = "ratings"
    _shape: ClassVar[str] = "are one of {0.listed}"

    def __post_init__(self) -> None:
        levels = tuple(self.levels) if isinstance(self.levels, Iterable) else (self.levels,)
        values = [as_float(level) for level in levels]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        if len(finite) < len(levels):
            raise InputError(f"levels {shown(levels)} were refused: they must be finite numbers")
        distinct = tuple(sorted(set(finite)))
        if len(distinct) < 2:
            raise InputError(
                f"levels {shown(levels)} were refused: ratings need two different levels"
            )
        object.__setattr__(self, "levels", distinct)
        check_sigma(self.sigma)

    @property
    def low(self) -> float:
        """The lowest level."""
        return self.levels[0]

    @property
    def high(self) -> float:
        """The highest level."""
        return self.levels[-1]

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        return f"the levels are {self.listed}"

    @property
    def listed(self) -> str:
        """The levels, in words."""
        return ", ".join(f"{level:g}" for level in self.levels)

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        i = bisect_left(self.levels, reward)
        return i < len(self.levels) and self.levels[i] == reward

    def evidence(
        self, points: Sequence[float] | None = None, weights: Sequence[float] | None = None
    ) -> Evidence:
        """Bets on the counts of the levels."""
        if points is None:
            points, weights = ev.FRACTIONS, ev.FRACTION_WEIGHTS
        return ev.mixture(BETTING, self.sigma, self.levels, points, weights)

    def policy_evidence(self, setting: ev.Setting) -> Evidence:
        """The same, of fewer fractions."""
        return ev.policy_bets(self.sigma, self.levels, setting)

    def index(self, reward: float) -> int:
        """The position of a reward among the levels; refuses what is not a level."""
        return bisect_left(self.levels, self.read(reward))


@dataclass(frozen=True)
class Bounded(Ranged):
    """Any rewards between two numbers known in advance.

    Sub-Gaussian with half the range (Hoeffding's lemma). Evidence adapts to the variance: the
    empirical-Bernstein mixture; in policies bets, after random rounding to 64 steps.
    """

    low: float = 0.0
    high: float = 1.0
    name: ClassVar[str] = "bounded"
    _shape: ClassVar[str] = "lie between {0.low:g} and {0.high:g}"

    def __post_init__(self) -> None:
        ends = [None if is_bool(end) else as_float(end) for end in (self.low, self.high)]
        low, high = (math.nan if end is None else end for end in ends)
        if not -math.inf < low < high < math.inf:
            raise InputError(
                f"range [{shown(self.low)}, {shown(self.high)}] was refused: low < high, both"
                " finite, is needed"
            )
        keep(self, low=low, high=high)
        check_sigma(self.sigma)

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        return f"rewards lie in [{self.low}, {self.high}]"

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        return self.low <= reward <= self.high

    def evidence(
        self, points: Sequence[float] | None = None, weights: Sequence[float] | None = None
    ) -> Evidence:
        """The empirical-Bernstein mixture."""
        if points is None:
            points, weights = ev.FRACTIONS, ev.FRACTION_WEIGHTS
        return ev.mixture(BERNSTEIN, self.sigma, (self.low, self.high), points, weights)

    def policy_evidence(self, setting: ev.Setting) -> Evidence:
        """Bets on the steps to which rewards are rounded at random."""
        steps = np.linspace(self.low, self.high, ev.STEPS + 1).tolist()
        return ev.policy_bets(self.sigma, steps, setting)
