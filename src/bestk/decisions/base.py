"""What every decision class offers."""

from __future__ import annotations

from typing import Protocol

from bestk.kernels.types import BoolArray, FloatArray


class DecisionClass(Protocol):
    """A family of feasible sets of arms with an exact maximisation oracle (paper, Section 4.2)."""

    @property
    def n_arms(self) -> int:
        """How many arms the sets are made of."""
        ...

    def best(self, weights: FloatArray) -> BoolArray:
        """The feasible set of largest total weight, the same one every time on ties."""
        ...
