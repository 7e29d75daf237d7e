"""Reward assumptions: what a policy may take for granted about an observation.

The assumption decides which bounds are valid. All but `Quantile` are sub-Gaussian with a sigma
known in advance, which is what Lemma 2.1 and the Hoeffding radii of LUCB, CLUCB and UGapE need.
Each also gives evidence of its own (docs/evidence.md), sharper the more it assumes. A reward that
contradicts the assumption is refused, never clipped. `Quantile` assumes nothing of single rewards,
and says which quantile of theirs arms are compared by, in place of the mean.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from bestk.arguments import as_float, flag, is_bool, real, shown
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import BERNOULLI, GAUSSIAN

POSITIVE = "it must be a positive, finite number"
PROPER = "a quantile lies strictly between 0 and 1, such as 0.5 for the median"


LARGEST_SIGMA = 1e250  # rewards and their sums stay finite; any unit of measurement fits in


def _check_sigma(sigma: float) -> None:
    if not (math.isfinite(sigma) and sigma > 0):
        raise InputError(f"sigma={sigma} was refused: {POSITIVE}")
    if sigma > LARGEST_SIGMA:
        raise InputError(
            f"sigma={sigma} was refused: it must be at most {LARGEST_SIGMA:g}, beyond which rewards"
            " overflow; measure them in a larger unit"
        )


def _keep(family: object, **values: float) -> None:
    """Replace NumPy's numbers and the like by doubles; Python's integers are written as such."""
    for name, value in values.items():
        if type(getattr(family, name)) is not int:
            object.__setattr__(family, name, value)


FARTHEST = 1e9  # in sigmas: beyond it a mean has too few digits left for its interval


class RewardFamily(Protocol):
    """What every assumption offers; `bestk.testing.RewardFamilyContract` tests it.

    Kernels know the six families below, so that an assumption of one's own derives from the one
    whose evidence it takes: `class Percent(Bounded)`, for instance, with a stricter `allows`.
    """

    name: ClassVar[str]

    @property
    def sigma(self) -> float:
        """Rewards are sub-Gaussian with it."""
        ...

    @property
    def rule(self) -> str:
        """What a reward must be, in words; part of every refusal."""
        ...

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so; NaN and infinity may not."""
        ...

    def read(self, reward: object) -> float:
        """A reward as a double; refuses what is no number, or what the assumption rules out."""
        ...

    def validate(self, reward: object) -> None:
        """Refuse a reward that this assumption rules out."""
        ...

    def read_for_policy(self, reward: object) -> float:
        """The same, refusing also what policies cannot count without losing digits."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form, with the name under "family"."""
        ...


class _Family:
    """What all assumptions share."""

    name: ClassVar[str]
    law: ClassVar[int | None] = None  # how simulations draw them, if a mean alone says it
    has_range: ClassVar[bool] = True  # whether every reward can be checked
    _shape: ClassVar[str]  # of rewards, in words

    @property
    def description(self) -> str:
        """What is assumed of one reward, and whether that is checked."""
        return f"Rewards {self._shape.format(self)} (checked, one by one)."

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; `rewards_from_dict` reads it back."""
        return {"family": self.name, **vars(self)}

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        raise NotImplementedError

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        raise NotImplementedError

    def read(self, reward: object) -> float:
        """A reward as a double; refuses what is no number, or what the assumption rules out."""
        if type(reward) is float and self.allows(reward):
            return reward  # quickly: every observation passes here
        value = as_float(reward)
        if value is None or not self.allows(value):
            raise InputError(f"reward {shown(reward)} was refused: {self.rule}")
        return value

    def validate(self, reward: object) -> None:
        """Refuse a reward that this assumption rules out."""
        self.read(reward)

    def read_for_policy(self, reward: object) -> float:
        """The same, refusing also what policies cannot count without losing digits."""
        return self.read(reward)


class _Normal(_Family):
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
        _check_sigma(sigma)
        _keep(self, sigma=sigma)

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


@dataclass(frozen=True)
class Gaussian(_Normal):
    """Normal rewards with unknown mean and a known standard deviation.

    Evidence: the one-sided normal mixture.
    """

    sigma: float = 0.5  # the paper's experiments: variance 1/4 (Section 5)
    name: ClassVar[str] = "gaussian"
    _shape: ClassVar[str] = "are normal"


@dataclass(frozen=True)
class SubGaussian(_Normal):
    """Any rewards with E exp(s (X - mu)) <= exp(s^2 sigma^2 / 2), sigma known in advance.

    Rewards in [a, b] qualify with sigma = (b - a)/2 (Hoeffding's lemma). A sample standard
    deviation does not. Simulations draw normal rewards, the extreme case of the assumption.
    Evidence: the one-sided normal mixture.
    """

    sigma: float = 0.5
    name: ClassVar[str] = "subgaussian"
    _shape: ClassVar[str] = "scatter no wider than normal"


@dataclass(frozen=True)
class Bernoulli(_Family):
    """Rewards that are 0 or 1; sub-Gaussian with sigma = 1/2 by Hoeffding's lemma.

    Evidence: the Beta(1/2, 1/2) mixture; in policies a mixture of bets, sharper for one side.
    """

    name: ClassVar[str] = "bernoulli"
    law: ClassVar[int | None] = BERNOULLI
    _shape: ClassVar[str] = "are 0 or 1"
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0

    @property
    def sigma(self) -> float:
        """Half the range."""
        return 0.5

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        return "Bernoulli rewards are 0 or 1"

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        return reward in (0.0, 1.0)


@dataclass(frozen=True)
class Ratings(_Family):
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
        _check_sigma(self.sigma)

    @property
    def low(self) -> float:
        """The lowest level."""
        return self.levels[0]

    @property
    def high(self) -> float:
        """The highest level."""
        return self.levels[-1]

    @property
    def sigma(self) -> float:
        """Half the range."""
        return (self.high - self.low) / 2

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

    def index(self, reward: float) -> int:
        """The position of a reward among the levels; refuses what is not a level."""
        return bisect_left(self.levels, self.read(reward))


@dataclass(frozen=True)
class Bounded(_Family):
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
        _keep(self, low=low, high=high)
        _check_sigma(self.sigma)

    @property
    def sigma(self) -> float:
        """Half the range."""
        return (self.high - self.low) / 2

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        return f"rewards lie in [{self.low}, {self.high}]"

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        return self.low <= reward <= self.high


@dataclass(frozen=True)
class Quantile(_Family):
    """Any finite rewards; arms are compared by their q-quantile, such as the median, not the mean.

    No range and no sigma is needed: q = 0.5 for typical values, 0.9 or 0.99 for tails. Evidence:
    bets on how many observations lie above a value (docs/quantiles.md). Where the q-quantile is not
    unique, what is proved holds for any choice of it. With `relative` the slack epsilon is a
    factor: an answered arm's quantile is within a factor 1 + epsilon of the K-th best, and rewards
    must be positive.
    """

    q: float = 0.5
    relative: bool = False
    name: ClassVar[str] = "quantile"
    has_range: ClassVar[bool] = False
    _shape: ClassVar[str] = "are finite numbers"

    def __post_init__(self) -> None:
        q = real(self.q, "q", PROPER)
        if not 0.0 < q < 1.0:
            raise InputError(f"q={self.q} was refused: {PROPER}")
        _keep(self, q=q)
        object.__setattr__(self, "relative", flag(self.relative, "relative"))

    @property
    def sigma(self) -> float:
        """Infinite: nothing is assumed of the scatter."""
        return math.inf

    @property
    def title(self) -> str:
        """What arms are compared by, in words."""
        return "median" if self.q == 0.5 else f"{self.q:g}-quantile"

    @property
    def description(self) -> str:
        """What is assumed of one reward, and whether that is checked."""
        kind = "positive numbers" if self.relative else "any finite numbers"
        return f"Rewards are {kind} (checked, one by one); arms are compared by their {self.title}."

    @property
    def rule(self) -> str:
        """What a reward must be, in words."""
        if self.relative:
            return "with a relative slack rewards must be positive, finite numbers"
        return "rewards must be finite numbers"

    def allows(self, reward: float) -> bool:
        """Whether a reward may be so."""
        return math.isfinite(reward) and (reward > 0.0 or not self.relative)

    def read_for_policy(self, reward: object) -> float:
        """The same, refusing also what overflows where rewards are added up for people to read."""
        value = self.read(reward)
        if abs(value) > LARGEST_SIGMA:
            raise InputError(
                f"reward {value!r} was refused: it must be at most {LARGEST_SIGMA:g} away from 0;"
                " measure rewards in a larger unit"
            )
        return value

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; `rewards_from_dict` reads it back."""
        return {"family": self.name, "q": self.q} | ({"relative": True} if self.relative else {})


Rewards = Gaussian | SubGaussian | Bernoulli | Ratings | Bounded | Quantile
FAMILIES: dict[str, type[Rewards]] = {
    family.name: family for family in (Gaussian, SubGaussian, Bernoulli, Ratings, Bounded, Quantile)
}


def require_rewards(rewards: object) -> None:
    """Refuse what is no assumption: its name, its class, a number."""
    if not isinstance(rewards, Rewards):
        raise InputError(
            f"rewards {shown(rewards)} were refused: give an assumption, such as Bernoulli()"
        )


def make_rewards(
    name: str,
    sigma: float | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    levels: Iterable[float] | None = None,
    q: float | None = None,
    relative: bool | None = None,
) -> Rewards:
    """The assumption of that name, from the parameters that it has.

    sigma for gaussian and subgaussian (default 1/2), low and high for bounded (default 0 and 1),
    levels for ratings, q (default 1/2) and relative for quantile. The others have a sigma of their
    own, which may be given if it agrees.
    """
    if name not in FAMILIES:
        raise UnknownName("reward family", name, FAMILIES)
    if name != Bounded.name and (low is not None or high is not None):
        raise InputError(f"low and high were refused: they belong to bounded rewards, not {name}")
    if name != Ratings.name and levels is not None:
        raise InputError(f"levels were refused: they belong to ratings, not to {name} rewards")
    if name != Quantile.name and (q is not None or relative is not None):
        raise InputError(f"q and relative were refused: they belong to quantile, not to {name}")
    if name == Quantile.name:
        if sigma is not None:
            raise InputError(f"sigma {sigma} was refused: a quantile needs none")
        return Quantile(0.5 if q is None else q, False if relative is None else relative)
    if name in (Gaussian.name, SubGaussian.name):
        family = Gaussian if name == Gaussian.name else SubGaussian
        return family() if sigma is None else family(sigma)
    rewards: Rewards
    if name == Bernoulli.name:
        rewards = Bernoulli()
    elif name == Bounded.name:
        rewards = Bounded(0.0 if low is None else low, 1.0 if high is None else high)
    elif levels is None:
        raise InputError("ratings need their levels, such as levels=[1, 2, 3, 4, 5]")
    else:
        rewards = Ratings(tuple(levels))
    if sigma not in (None, rewards.sigma):
        own = "1/2" if rewards.sigma == 0.5 else f"{rewards.sigma:g}"
        title = "Bernoulli" if name == Bernoulli.name else name
        raise InputError(f"sigma {sigma} was refused: {title} rewards have sigma {own}")
    return rewards


def rewards_from_dict(data: Mapping[str, Any]) -> Rewards:
    """Read what `to_dict` wrote."""
    given = dict(data)
    return make_rewards(given.pop("family"), **given)
