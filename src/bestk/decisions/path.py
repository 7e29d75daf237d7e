"""The best path from a source to a target."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar

import numpy as np

from bestk.decisions.base import CompiledOracle, Extent, Structure, require_choice
from bestk.decisions.labels import Edge, EdgeArms, label, number, read_edges, thaw, thaw_edges
from bestk.errors import InputError
from bestk.kernels.types import DAG, ROADS


@dataclass(frozen=True)
class Path(EdgeArms, CompiledOracle):
    """The simple paths from source to target. Its arms are its edges.

    In a directed graph without cycles weights are any numbers. In every other graph the longest
    path is intractable: weights are negated costs, costs are known not to be negative
    (`minimise_only`, `ceiling` 0), and `best` reads a weight above 0 as 0.
    """

    edges: Sequence[Edge]
    source: Hashable
    target: Hashable
    directed: bool = True

    kind: ClassVar[str] = "path"

    def __post_init__(self) -> None:
        if not isinstance(self.directed, bool):
            raise InputError(f"directed={self.directed!r} was refused: it must be True or False")
        object.__setattr__(self, "edges", read_edges(self.edges, self.directed))
        for what, node in (("source", self.source), ("target", self.target)):
            if label(node, what) not in self._numbers:
                raise InputError(f"{what} {node!r} was refused: no edge has this node")
        if self.source == self.target:
            raise InputError(f"target {self.target!r} was refused: it is the source")
        if not self._is_reachable():
            raise InputError(
                f"target {self.target!r} was refused: no path leads to it from {self.source!r}"
            )
        require_choice(self)

    @property
    def width(self) -> int:
        """The number of nodes, or the most edges that two paths have."""
        nodes = self.structure.n_nodes
        return min(self.n_arms, 2 * (nodes - 1)) if self.minimise_only else nodes

    @property
    def width_source(self) -> str:
        """A bound: exchanges between paths that cross in different orders may need both whole."""
        if self.minimise_only:
            return "upper bound: the edges of two paths (Chen et al. 2014, Section 3.1)"
        return "upper bound: the number of nodes (Chen et al. 2014, Section 3.1)"

    @property
    def ceiling(self) -> float:
        """Infinity without cycles, else 0: costs are not negative."""
        return math.inf if self.structure.code == DAG else 0.0

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return number(node for edge in self.edges for node in edge)

    @cached_property
    def structure(self) -> Structure:
        """Nodes in topological order if there is one; otherwise as they are met."""
        numbers, code = self._numbers, ROADS
        if self.directed and (ranks := _topological_order(self.edges, numbers)):
            numbers, code = ranks, DAG
        table = np.zeros((3, self.n_arms), np.int64)
        table[:2] = [[numbers[edge[end]] for edge in self.edges] for end in (0, 1)]
        table[2] = np.argsort(table[0], kind="stable") if code == DAG else not self.directed
        return Structure(
            code, self.n_arms, table, len(numbers), numbers[self.source], numbers[self.target]
        )  # fmt: skip

    @cached_property
    def extent(self) -> Extent:
        """Edges by the choices there are at their tails; a path that leaves another says so.

        Inside the answer an edge costs the log of how many edges leave its tail. Where the answer
        has left the other path, that path's edge costs what `steps` is for, less what the answer's
        own edge costs too much there: it is one of the others. docs/e-clucb.md, "Codes".
        """
        shape = self.structure
        tails, heads = shape.table[0], shape.table[1]
        leaving = np.bincount(tails, minlength=shape.n_nodes).astype(np.float64)
        if self.directed:
            inside = np.log(leaving[tails])
            outside = np.log(np.maximum(leaving[tails] - 1.0, 1.0)) - inside
        else:
            leaving += np.bincount(heads, minlength=shape.n_nodes)
            # a path does not go back where it came from
            onwards = np.log(np.maximum(leaving - 1.0, 1.0))
            onwards[shape.source] = math.log(leaving[shape.source])
            inside, outside = np.maximum(onwards[tails], onwards[heads]), np.zeros(self.n_arms)
        steps = shape.n_nodes - 1
        if shape.code == DAG:
            steps = int(self.best(np.ones(self.n_arms)).sum())
        return Extent(
            1, steps, inside=inside, outside=outside, steps=steps, two_way=not self.directed
        )

    def _is_reachable(self) -> bool:
        following = _neighbours(self.edges if self.directed else _both_ways(self.edges))
        seen, waiting = {self.source}, [self.source]
        while waiting:
            for node in following.get(waiting.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
        return self.target in seen

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {
            "class": self.kind,
            "edges": thaw_edges(self.edges),
            "source": thaw(self.source),
            "target": thaw(self.target),
            "directed": self.directed,
        }


def _both_ways(edges: Sequence[Edge]) -> list[Edge]:
    return [*edges, *((v, u) for u, v in edges)]


def _neighbours(edges: Sequence[Edge]) -> dict[Hashable, list[Hashable]]:
    following: dict[Hashable, list[Hashable]] = {}
    for tail, head in edges:
        following.setdefault(tail, []).append(head)
    return following


def _topological_order(
    edges: Sequence[Edge], numbers: dict[Hashable, int]
) -> dict[Hashable, int] | None:
    """Kahn (1962): the first node, in the order they were met, that nothing unplaced leads to."""
    following, incoming = _neighbours(edges), dict.fromkeys(numbers, 0)
    for _, head in edges:
        incoming[head] += 1
    nodes = list(numbers)
    ready = [numbers[node] for node, many in incoming.items() if many == 0]
    heapify(ready)
    ranks: dict[Hashable, int] = {}
    while ready:
        node = nodes[heappop(ready)]
        ranks[node] = len(ranks)
        for head in following.get(node, ()):
            incoming[head] -= 1
            if incoming[head] == 0:
                heappush(ready, numbers[head])
    return ranks if len(ranks) == len(nodes) else None
