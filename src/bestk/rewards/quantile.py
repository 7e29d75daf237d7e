"""No assumption on single rewards: arms are compared by a quantile, not by the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bestk.arguments import flag, real
from bestk.errors import InputError
from bestk.kernels.types import QUANTILE, Evidence
from bestk.rewards import evidence as ev
from bestk.rewards.base import LARGEST_SIGMA, Family, keep

PROPER = "a quantile lies strictly between 0 and 1, such as 0.5 for the median"


@dataclass(frozen=True)
class Quantile(Family):
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
        if not 0.0 < q < 1.0 or 1.0 - q == 1.0:  # either side needs a probability
            raise InputError(f"q={self.q} was refused: {PROPER}")
        keep(self, q=q)
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

    def evidence(
        self, points: Sequence[float] | None = None, weights: Sequence[float] | None = None
    ) -> Evidence:
        """Bets on how many rewards lie above a value, or below."""
        if points is None:
            points, weights = ev.QUANTILE_FRACTIONS, ev.QUANTILE_WEIGHTS
        return self._bets(self.q, points, weights)

    def policy_evidence(self, setting: ev.Setting) -> Evidence:
        """The same, with another mixture where the product of both sides counts.

        The q-quantile of rewards is the (1-q)-quantile of negated ones, with its sign turned.
        """
        q = self.q if setting.maximize else 1.0 - self.q
        alone = ev.QUANTILE_ALONE if setting.both else ev.QUANTILE_WEIGHTS
        paired = np.array(ev.QUANTILE_PAIRED, np.float64)
        found = self._bets(q, ev.QUANTILE_FRACTIONS, alone)
        return found._replace(log_paired=np.log(paired / paired.sum()))

    def _bets(self, q: float, points: Sequence[float], weights: Sequence[float] | None) -> Evidence:
        """What happens above a value with probability 1 - q at most, below with q."""
        found = ev.mixture(QUANTILE, self.sigma, (-math.inf, math.inf), points, weights)
        theta = found.points
        lifts = np.log1p(np.stack((theta * (q / (1.0 - q)), theta * ((1.0 - q) / q))))
        return found._replace(
            q=q, log_lifts=lifts, relative=self.relative, log_paired=found.log_weights
        )
