"""What simulated rewards are drawn from where arms are compared by a quantile.

A quantile alone does not say how to draw. Rewards are normal or log-normal around it: with the same
spread for all arms, and shifted so that the arm's q-quantile is the one that the instance names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bestk.arguments import real, string
from bestk.errors import InputError, UnknownName
from bestk.kernels.rng import normal_quantile
from bestk.kernels.types import GAUSSIAN, LOG_NORMAL, FloatArray, World
from bestk.rewards import Quantile

NORMAL_LAW, LOG_NORMAL_LAW = "normal", "log-normal"
LAWS = (NORMAL_LAW, LOG_NORMAL_LAW)
SPREADS = "it must be a positive, finite number"


@dataclass(frozen=True)
class Law:
    """Normal rewards with standard deviation `spread`, or log-normal: then of the logarithm."""

    name: str = NORMAL_LAW
    spread: float = 0.5  # the paper's experiments: variance 1/4 (Section 5)

    def __post_init__(self) -> None:
        if string(self.name, "law") not in LAWS:
            raise UnknownName("law", self.name, LAWS)
        spread = real(self.spread, "spread", SPREADS)
        if not 0.0 < spread < math.inf:
            raise InputError(f"spread={self.spread} was refused: {SPREADS}")
        object.__setattr__(self, "spread", spread)

    def check(self, quantiles: FloatArray, rewards: Quantile) -> None:
        """Refuse quantiles that the law cannot have, or an assumption that it does not keep."""
        if self.name == NORMAL_LAW and rewards.relative:
            raise InputError(
                "relative quantiles were refused: normal rewards may be negative; draw log-normal"
                " ones"
            )
        outside = quantiles[quantiles <= 0.0]
        if self.name == LOG_NORMAL_LAW and outside.size:
            raise InputError(
                f"quantile {outside[0]:g} was refused: those of log-normal rewards are positive"
            )

    def world(self, quantiles: FloatArray, q: float) -> World:
        """How kernels draw rewards whose q-quantiles are these."""
        is_log = self.name == LOG_NORMAL_LAW
        middle = np.log(quantiles) if is_log else quantiles
        means = middle - self.spread * normal_quantile(q)
        return World(LOG_NORMAL if is_log else GAUSSIAN, means, self.spread)


def law_of(name: str | None, spread: float | None) -> Law | None:
    """The law that was named, if any; what is not given is the default."""
    if name is None and spread is None:
        return None
    default = Law()
    return Law(default.name if name is None else name, default.spread if spread is None else spread)
