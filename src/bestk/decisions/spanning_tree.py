"""The best spanning tree of a connected graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bestk.decisions.base import CompiledOracle, Structure, require_choice
from bestk.decisions.labels import Edge, EdgeArms, number, read_edges, thaw_edges
from bestk.errors import InputError
from bestk.kernels.types import FOREST


@dataclass(frozen=True)
class SpanningTree(EdgeArms, CompiledOracle):
    """The spanning trees of an undirected graph. Its arms are its edges."""

    edges: Sequence[Edge]

    kind: ClassVar[str] = "spanning-tree"
    width: ClassVar[int] = 2
    width_source: ClassVar[str] = "exact: bases of a matroid (Chen et al. 2014, Section 3.1)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", read_edges(self.edges, directed=False))
        # an edge of the best forest for each node but the first, or the graph has several parts
        n_nodes, n_chosen = self.structure.n_nodes, int(self.best(np.zeros(self.n_arms)).sum())
        if n_chosen < n_nodes - 1:
            raise InputError(
                f"the graph was refused: it is disconnected, in {n_nodes - n_chosen} parts"
            )
        require_choice(self)

    @cached_property
    def structure(self) -> Structure:
        """The ends of every edge."""
        numbers = number(node for edge in self.edges for node in edge)
        table = np.array([[numbers[edge[end]] for edge in self.edges] for end in (0, 1)], np.int64)
        return Structure(FOREST, self.n_arms, table, n_nodes=len(numbers))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {"class": self.kind, "edges": thaw_edges(self.edges)}
