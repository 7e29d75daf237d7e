"""The best matching of a bipartite graph: who does what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bestk.decisions.base import Extent, PythonOracle, read_weights, require_choice
from bestk.decisions.labels import Edge, EdgeArms, number, read_edges, thaw_edges
from bestk.errors import InputError
from bestk.kernels.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class BipartiteMatching(EdgeArms, PythonOracle):
    """The matchings of edges (left, right), or the perfect ones. Its arms are its edges.

    Left and right nodes are named apart: 1 on the left is not 1 on the right. Without `perfect`
    any node may stay alone, and an edge of weight 0 or less is never chosen.
    """

    edges: Sequence[Edge]
    perfect: bool = False

    kind: ClassVar[str] = "matching"
    width_source: ClassVar[str] = (
        "upper bound: the number of nodes, on an alternating path or cycle "
        "(Chen et al. 2014, Section 3.1)"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", read_edges(self.edges, directed=True, bipartite=True))
        if not isinstance(self.perfect, bool):
            raise InputError(f"perfect={self.perfect!r} was refused: it must be True or False")
        n_left, n_right = self._sides
        if self.perfect and n_left != n_right:
            raise InputError(
                f"the graph was refused: {n_left} left and {n_right} right nodes have no perfect "
                "matching"
            )
        try:
            require_choice(self)
        except InputError:
            raise
        except ValueError:  # of scipy: the cost matrix is infeasible
            raise InputError("the graph was refused: it has no perfect matching") from None

    @property
    def width(self) -> int:
        """The number of nodes."""
        return sum(self._sides)

    @cached_property
    def _sides(self) -> tuple[int, int]:
        return len({left for left, _ in self.edges}), len({right for _, right in self.edges})

    @cached_property
    def extent(self) -> Extent:
        """Of perfect matchings, how many differ from one in the partners of m left nodes.

        Choose the m nodes, then give none its old partner: at most (n choose m) derangements, and
        at most the product of the nodes' other edges, on either side.
        """
        n_left, n_right = self._sides
        if not self.perfect:
            return Extent(0, min(n_left, n_right))
        left, right = (
            _others(list(Counter(edge[side] for edge in self.edges).values())) for side in (0, 1)
        )
        derangements = [1, 0]
        while len(derangements) <= n_left:
            derangements.append((len(derangements) - 1) * (derangements[-1] + derangements[-2]))
        counts = {}
        for m in range(2, n_left + 1):
            most = min(left[m], right[m], math.comb(n_left, m) * derangements[m])
            if most > 0:
                counts[2 * m] = math.log(most)
        return Extent(n_left, n_left, least=4, counts=counts)

    @cached_property
    def _arms(self) -> IntArray:
        """The arm that joins left node i and right node j; n_arms where there is none."""
        lefts, rights = (number(edge[side] for edge in self.edges) for side in (0, 1))
        arms = np.full(self._sides, self.n_arms, np.int64)
        for arm, (left, right) in enumerate(self.edges):
            arms[lefts[left], rights[right]] = arm
        return arms

    def best(self, weights: FloatArray) -> BoolArray:
        """The matching of largest total weight (Jonker-Volgenant); ties by its fixed order."""
        from scipy.optimize import linear_sum_assignment

        n_arms, arms = len(self.edges), self._arms
        costs = np.empty(n_arms + 1)
        np.negative(read_weights(weights, n_arms), out=costs[:-1])
        if self.perfect:
            costs[-1] = np.inf  # a pair that is no edge is forbidden
        else:
            costs[-1] = 0.0  # to stay alone costs nothing ...
            np.minimum(costs, 0.0, out=costs)  # ... and no pair costs more
        left, right = linear_sum_assignment(costs.take(arms))
        chosen = np.zeros(n_arms + 1, np.bool_)
        chosen[arms[left, right]] = True
        if not self.perfect:
            chosen &= costs < 0.0
        return chosen[:-1]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {"class": self.kind, "edges": thaw_edges(self.edges), "perfect": self.perfect}


def _others(degrees: list[int]) -> list[int]:
    """For m = 0, 1, ...: the sum, over all choices of m nodes, of the product of degree - 1."""
    totals = [1] + [0] * len(degrees)
    for degree in degrees:
        for m in range(len(degrees), 0, -1):
            totals[m] += (degree - 1) * totals[m - 1]
    return totals
