"""The K largest means: the decision class of the Best-K problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bestk.errors import InputError
from bestk.kernels.types import BoolArray, FloatArray


@dataclass(frozen=True)
class TopK:
    """All sets of exactly k of n_arms arms."""

    n_arms: int
    k: int

    def __post_init__(self) -> None:
        if self.n_arms < 2:
            raise InputError(f"{self.n_arms} arm(s) were refused: there must be at least 2")
        if not 1 <= self.k <= self.n_arms - 1:
            raise InputError(
                f"K={self.k} was refused: of {self.n_arms} arms K must be 1 to {self.n_arms - 1}"
            )

    def best(self, weights: FloatArray) -> BoolArray:
        """The first k arms in the order weight descending, index ascending."""
        chosen = np.zeros(self.n_arms, np.bool_)
        chosen[np.argsort(-weights, kind="stable")[: self.k]] = True
        return chosen


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
    return k
