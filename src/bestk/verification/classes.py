"""Decision classes restated: which sets may be answered, and which of them weighs most.

Plain methods, one call each: greedy for matroids, relaxation for paths, scipy for matchings and
binary programs. A class is read from its JSON form in the log.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from bestk.verification.arrays import Bools, Floats

TOLERANCE = 1e-6  # of a binary program: how far a row may be outside its bounds
FAR = 8.0  # weights beside their differences, up to which HiGHS is precise enough


def _plain(value: Any) -> Any:
    """A label of a node or a group, hashable again."""
    return tuple(map(_plain, value)) if isinstance(value, list) else value


class Decision:
    """A family of feasible sets of arms."""

    k = 0  # how many arms are wanted, of the K best
    rank = 0  # the size of a basis, of a matroid
    ceiling = math.inf  # no weight is above it

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def contains(self, chosen: Bools) -> bool:
        """Whether a set may be answered."""
        raise NotImplementedError

    def best(self, weights: Floats) -> Bools:
        """A feasible set of largest total weight."""
        raise NotImplementedError

    def exchanges(self, chosen: Bools) -> Iterator[tuple[list[int], list[int]]]:
        """Leaders and rivals of a basis: every rival may replace every leader of its entry.

        Together the entries have all such pairs.
        """
        raise NotImplementedError


class Partition(Decision):
    """Exactly so many arms of every group; the K best are a single group."""

    def __init__(self, groups: list[Hashable], capacities: Mapping[Hashable, int]) -> None:
        super().__init__(len(groups))
        self.groups, self.capacities = groups, capacities
        self.rank = sum(capacities.values())

    def contains(self, chosen: Bools) -> bool:
        """Whether every group has its capacity."""
        taken = Counter(self.groups[i] for i in np.flatnonzero(chosen))
        return all(taken[group] == many for group, many in self.capacities.items())

    def best(self, weights: Floats) -> Bools:
        """Greedy."""
        chosen, left = np.zeros(self.n_arms, np.bool_), dict(self.capacities)
        for i in np.argsort(-weights, kind="stable"):
            if left[self.groups[i]] > 0:
                left[self.groups[i]] -= 1
                chosen[i] = True
        return chosen

    def exchanges(self, chosen: Bools) -> Iterator[tuple[list[int], list[int]]]:
        """Within every group."""
        inside: dict[Hashable, list[int]] = {group: [] for group in self.capacities}
        outside: dict[Hashable, list[int]] = {group: [] for group in self.capacities}
        for i, group in enumerate(self.groups):
            (inside if chosen[i] else outside)[group].append(i)
        for group, leaders in inside.items():
            if leaders and outside[group]:
                yield leaders, outside[group]


class TopK(Partition):
    """The K best."""

    def __init__(self, n_arms: int, k: int) -> None:
        if not 1 <= k < n_arms:
            raise ValueError(f"K = {k} of {n_arms} arms")
        super().__init__([0] * n_arms, {0: k})
        self.k = k


class Tree(Decision):
    """The spanning trees of a graph; arms are edges."""

    def __init__(self, edges: list[tuple[Hashable, Hashable]]) -> None:
        super().__init__(len(edges))
        self.edges = edges
        self.rank = len({node for edge in edges for node in edge}) - 1

    def _forest(self, order: Any) -> Bools:
        """Edges in that order, without those that close a cycle."""
        part = {node: node for edge in self.edges for node in edge}
        chosen = np.zeros(self.n_arms, np.bool_)
        for i in order:
            a, b = (part[node] for node in self.edges[i])
            if a != b:
                chosen[i] = True
                part = {node: b if own == a else own for node, own in part.items()}
        return chosen

    def contains(self, chosen: Bools) -> bool:
        """Whether the edges are as many as a tree has and close no cycle."""
        edges = np.flatnonzero(chosen)
        return len(edges) == self.rank and int(self._forest(edges).sum()) == self.rank

    def best(self, weights: Floats) -> Bools:
        """Greedy (Kruskal)."""
        return self._forest(np.argsort(-weights, kind="stable"))

    def exchanges(self, chosen: Bools) -> Iterator[tuple[list[int], list[int]]]:
        """An edge outside the tree replaces the edges of the tree between its ends."""
        beside: dict[Hashable, list[tuple[Hashable, int]]] = {}
        for i in np.flatnonzero(chosen):
            for a, b in (self.edges[i], self.edges[i][::-1]):
                beside.setdefault(a, []).append((b, int(i)))
        root = self.edges[0][0]
        above: dict[Hashable, tuple[Hashable, int]] = {root: (root, -1)}
        waiting = [root]
        while waiting:
            node = waiting.pop()
            for other, edge in beside[node]:
                if other not in above:
                    above[other] = (node, edge)
                    waiting.append(other)
        for i in np.flatnonzero(~chosen):
            to_root = [_walk(above, root, end) for end in self.edges[i]]
            yield sorted(to_root[0] ^ to_root[1]), [int(i)]


def _walk(above: dict[Hashable, tuple[Hashable, int]], root: Hashable, node: Hashable) -> set[int]:
    """The edges from a node of a tree to its root."""
    edges = set()
    while node != root:
        node, edge = above[node]
        edges.add(edge)
    return edges


class Path(Decision):
    """The simple paths from a source to a target; arms are edges."""

    def __init__(self, edges: list[Any], source: Any, target: Any, directed: bool) -> None:
        super().__init__(len(edges))
        self.edges, self.source, self.target, self.directed = edges, source, target, directed
        if not directed or self._has_cycle():
            self.ceiling = 0.0  # weights are negated costs, which are not negative

    def _has_cycle(self) -> bool:
        """Whether edges are left when nodes that no edge leads to are taken away, over and over."""
        left = list(self.edges)
        while left:
            heads = {head for _, head in left}
            fewer = [(tail, head) for tail, head in left if tail in heads]
            if len(fewer) == len(left):
                return True
            left = fewer
        return False

    def _steps(self) -> Iterator[tuple[int, Hashable, Hashable]]:
        for i, (a, b) in enumerate(self.edges):
            yield i, a, b
            if not self.directed:
                yield i, b, a

    def contains(self, chosen: Bools) -> bool:
        """Whether the edges lead from the source to the target, none of them to spare."""
        left = set(np.flatnonzero(chosen).tolist())
        node, visited = self.source, {self.source}
        while left:
            onwards = [(i, b) for i, a, b in self._steps() if a == node and i in left]
            if len(onwards) != 1 or onwards[0][1] in visited:
                return False
            left.remove(onwards[0][0])
            node = onwards[0][1]
            visited.add(node)
        return bool(node == self.target)

    def best(self, weights: Floats) -> Bools:
        """Relaxation until nothing improves (Bellman); no cycle gains anything."""
        value: dict[Hashable, float] = {self.source: 0.0}
        last: dict[Hashable, tuple[int, Hashable]] = {}
        steps = list(self._steps())
        improved = True
        while improved:
            improved = False
            for i, a, b in steps:
                if a in value and value[a] + weights[i] > value.get(b, -math.inf):
                    value[b] = value[a] + float(weights[i])
                    last[b] = (i, a)
                    improved = True
        chosen = np.zeros(self.n_arms, np.bool_)
        node = self.target
        while node != self.source:
            edge, node = last[node]
            chosen[edge] = True
        return chosen


class Explicit(Decision):
    """Sets written out one by one."""

    def __init__(self, sets: list[list[int]], n_arms: int) -> None:
        super().__init__(n_arms)
        self.members = np.zeros((len(sets), n_arms), np.bool_)
        for row, arms in zip(self.members, sets, strict=True):
            row[arms] = True

    def contains(self, chosen: Bools) -> bool:
        """Whether it is one of them."""
        return bool((self.members == chosen).all(axis=1).any())

    def best(self, weights: Floats) -> Bools:
        """Look at all."""
        heaviest: Bools = self.members[int(np.argmax(self.members @ weights))]
        return heaviest.copy()


class Matching(Decision):
    """The matchings of a bipartite graph, or the perfect ones; arms are edges."""

    def __init__(self, edges: list[tuple[Hashable, Hashable]], perfect: bool) -> None:
        super().__init__(len(edges))
        self.edges, self.perfect = edges, perfect
        self.lefts = list(dict.fromkeys(left for left, _ in edges))
        self.rights = list(dict.fromkeys(right for _, right in edges))

    def contains(self, chosen: Bools) -> bool:
        """Whether no node has two edges (perfect: and every node one)."""
        ends = [self.edges[i] for i in np.flatnonzero(chosen)]
        apart = all(len({end[side] for end in ends}) == len(ends) for side in (0, 1))
        enough = len(ends) == len(self.lefts) == len(self.rights)
        return apart and (enough or not self.perfect)

    def best(self, weights: Floats) -> Bools:
        """An assignment; without `perfect` to stay alone weighs 0."""
        from scipy.optimize import linear_sum_assignment

        table = np.full((len(self.lefts), len(self.rights)), -math.inf if self.perfect else 0.0)
        arm = {}
        for i, (left, right) in enumerate(self.edges):
            place = self.lefts.index(left), self.rights.index(right)
            arm[place] = i
            table[place] = weights[i] if self.perfect else max(weights[i], 0.0)
        chosen = np.zeros(self.n_arms, np.bool_)
        for pair in zip(*linear_sum_assignment(table, maximize=True), strict=True):
            place = int(pair[0]), int(pair[1])
            if place in arm and (self.perfect or table[place] > 0.0):
                chosen[arm[place]] = True
        return chosen


class Infeasible(ValueError):
    """A binary program without a solution."""


class Program(Decision):
    """The 0/1 vectors x with lower <= A x <= upper."""

    def __init__(self, matrix: Any, lower: list[Any], upper: list[Any]) -> None:
        self.matrix = np.array(matrix, np.float64)
        super().__init__(self.matrix.shape[1])
        self.lower = np.array([-math.inf if x is None else x for x in lower], np.float64)
        self.upper = np.array([math.inf if x is None else x for x in upper], np.float64)

    def contains(self, chosen: Bools) -> bool:
        """Whether all rows hold."""
        totals = self.matrix @ chosen
        slack = TOLERANCE * np.maximum(1.0, np.abs(self.matrix).max(axis=1))
        return bool(((totals >= self.lower - slack) & (totals <= self.upper + slack)).all())

    def best(self, weights: Floats) -> Bools:
        """HiGHS, size by size where weights are far from zero beside what they differ by.

        It leaves an absolute gap of 1e-6: small beside weights as large as a thousand, not beside
        the differences of weights that all have the same large part. Sets of one size have as much
        of that part.
        """
        middle = float(weights.max() + weights.min()) / 2.0
        if float(np.abs(weights).max()) <= FAR * float(np.ptp(weights)):
            return self._solved(weights)
        ones = np.ones(self.n_arms)
        sizes = [int(self._solved(sign * ones).sum()) for sign in (-1.0, 1.0)]
        found = []
        for size in range(sizes[0], sizes[1] + 1):
            with suppress(Infeasible):
                found.append(self._solved(weights - middle, size))
        return max(found, key=lambda chosen: math.fsum(weights[chosen]))

    def _solved(self, weights: Floats, size: int | None = None) -> Bools:
        """The best set, or the best one of so many arms."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        largest = float(np.abs(weights).max()) or 1.0
        rows = [LinearConstraint(self.matrix, self.lower, self.upper)]
        if size is not None:
            rows.append(LinearConstraint(np.ones((1, self.n_arms)), size, size))
        found = milp(
            -4096.0 / largest * weights, integrality=np.ones(self.n_arms, np.int64),
            bounds=Bounds(0.0, 1.0), constraints=rows, options={"mip_rel_gap": 0.0},
        )  # fmt: skip
        if found.status == 2:
            raise Infeasible("the binary program has no solution")
        if found.x is None:
            raise ValueError(f"the binary program was not solved: {found.message}")
        chosen: Bools = np.asarray(found.x) > 0.5
        if not self.contains(chosen) or size not in (None, int(chosen.sum())):
            raise ValueError("the solver of the binary program gave a set that is not feasible")
        return chosen


def read_decision(data: Mapping[str, Any], n_arms: int) -> Decision:
    """The class in its JSON form; of the K best, among so many arms."""
    kind = data["class"]
    if kind == "top-k":
        return TopK(n_arms, data["k"])
    if kind == "explicit":
        return Explicit(data["sets"], data["n_arms"])
    if kind == "binary-program":
        return Program(data["A"], data["lower"], data["upper"])
    if kind == "partition":
        capacities = {_plain(group): many for group, many in data["capacities"]}
        return Partition([_plain(group) for group in data["groups"]], capacities)
    edges = [(_plain(a), _plain(b)) for a, b in data["edges"]]
    if kind == "spanning-tree":
        return Tree(edges)
    if kind == "matching":
        return Matching(edges, data["perfect"])
    if kind == "path":
        return Path(edges, _plain(data["source"]), _plain(data["target"]), data["directed"])
    raise ValueError(f"the decision class {kind} is unknown")
