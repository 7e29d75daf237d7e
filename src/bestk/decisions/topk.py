"""The K largest means: the decision class of the Best-K problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bestk.arguments import integer
from bestk.decisions.base import CompiledOracle, NumberedArms, Structure, read_weights
from bestk.errors import InputError
from bestk.kernels.types import PARTITION, BoolArray, FloatArray


@dataclass(frozen=True)
class TopK(NumberedArms, CompiledOracle):
    """All sets of exactly k of n_arms arms."""

    n_arms: int
    k: int

    kind: ClassVar[str] = "top-k"
    width: ClassVar[int] = 2
    width_source: ClassVar[str] = "exact: one arm for another (Chen et al. 2014, Section 3.1)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", integer(self.n_arms, "n_arms"))
        object.__setattr__(self, "k", integer(self.k, "K"))
        if self.n_arms < 2:
            raise InputError(f"{self.n_arms} arm(s) were refused: there must be at least 2")
        if not 1 <= self.k <= self.n_arms - 1:
            raise InputError(
                f"K={self.k} was refused: of {self.n_arms} arms K must be 1 to {self.n_arms - 1}"
            )

    @cached_property
    def structure(self) -> Structure:
        """A partition with one group."""
        table = np.zeros((2, self.n_arms), np.int64)
        table[1, 0] = self.k
        return Structure(PARTITION, self.n_arms, table)

    def best(self, weights: FloatArray) -> BoolArray:
        """The first k arms in the order weight descending, index ascending."""
        chosen = np.zeros(self.n_arms, np.bool_)
        values = read_weights(weights, self.n_arms)
        chosen[np.argsort(-values, kind="stable")[: self.k]] = True
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {"class": self.kind, "n_arms": self.n_arms, "k": self.k}


def parse_k(k: int | str, n_arms: int) -> int:
    """K as an integer; "N/2" stands for half of the arms."""
    if isinstance(k, str):
        if k.strip().upper() == "N/2":
            if n_arms % 2:
                raise InputError(f"K=N/2 was refused: {n_arms} arms is an odd number")
            return n_arms // 2
        try:
            return int(k)
        except ValueError:
            raise InputError(f"K='{k}' was refused: give an integer or N/2") from None
    return integer(k, "K")
