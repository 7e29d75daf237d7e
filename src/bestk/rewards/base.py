"""What every reward assumption offers, and what the families share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from bestk.arguments import as_float, shown
from bestk.errors import InputError
from bestk.kernels.types import Evidence
from bestk.rewards.evidence import Setting

POSITIVE = "it must be a positive, finite number"
LARGEST_SIGMA = 1e250  # rewards and their sums stay finite; any unit of measurement fits in
FARTHEST = 1e9  # in sigmas: beyond it a mean has too few digits left for its interval


def check_sigma(sigma: float) -> None:
    """Refuse a sigma that is none, or with which rewards would overflow."""
    if not (math.isfinite(sigma) and sigma > 0):
        raise InputError(f"sigma={sigma} was refused: {POSITIVE}")
    if sigma > LARGEST_SIGMA:
        raise InputError(
            f"sigma={sigma} was refused: it must be at most {LARGEST_SIGMA:g}, beyond which rewards"
            " overflow; measure them in a larger unit"
        )


def keep(family: object, **values: float) -> None:
    """Replace NumPy's numbers and the like by doubles; Python's integers are written as such."""
    for name, value in values.items():
        if type(getattr(family, name)) is not int:
            object.__setattr__(family, name, value)


class RewardFamily(Protocol):
    """What every assumption offers; `bestk.testing.RewardFamilyContract` tests it.

    Kernels know the six families of this package, so that an assumption of one's own derives from
    the one whose evidence it takes: `class Percent(Bounded)`, say, with a stricter `allows`.
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

    def evidence(
        self, points: Sequence[float] | None = None, weights: Sequence[float] | None = None
    ) -> Evidence:
        """The evidence of confidence sequences; `points` replace what is mixed over."""
        ...

    def policy_evidence(self, setting: Setting) -> Evidence:
        """The evidence that policies use."""
        ...

    def item_evidence(self, maximize: bool) -> Evidence:
        """Evidence on a finite set of items (docs/evaluation.md); refused without a range."""
        ...


class Family:
    """What all assumptions share."""

    name: ClassVar[str]
    law: ClassVar[int | None] = None  # how simulations draw them, if a mean alone says it
    has_range: ClassVar[bool] = True  # whether every reward can be checked
    _shape: ClassVar[str]  # of rewards, in words

    @property
    def title(self) -> str:
        """What arms are compared by, in words."""
        return "mean"

    @property
    def description(self) -> str:
        """What is assumed of one reward, and whether that is checked."""
        return f"Rewards {self._shape.format(self)} (checked, one by one)."

    def item_evidence(self, maximize: bool) -> Evidence:  # noqa: ARG002 - of those with a range
        """Evidence on a finite set of items, whose scores need a range."""
        raise InputError(
            f"{self.name} rewards were refused: scores of items need a range, such as Bounded(0, 1)"
        )

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
