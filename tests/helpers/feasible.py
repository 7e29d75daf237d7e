"""All feasible sets of small decision classes, by looking at everything; arms sorted in each set.

Nothing is shared with `bestk`. An edge is a pair of nodes and its number is its arm.
"""

from __future__ import annotations

from itertools import combinations, product


def partition(groups, capacities) -> list[list[int]]:
    members = {g: [i for i, group in enumerate(groups) if group == g] for g in capacities}
    picks = [list(combinations(members[g], capacities[g])) for g in capacities]
    return sorted(sorted(i for part in choice for i in part) for choice in product(*picks))


def spanning_trees(edges) -> list[list[int]]:
    nodes = {node for edge in edges for node in edge}
    trees = combinations(range(len(edges)), len(nodes) - 1)
    return [list(tree) for tree in trees if _connects(nodes, [edges[i] for i in tree])]


def _connects(nodes, edges) -> bool:
    reached = {next(iter(nodes))}
    for _ in nodes:
        reached |= {node for edge in edges if reached & set(edge) for node in edge}
    return reached == nodes


def paths(edges, source, target, directed=True) -> list[list[int]]:
    """Paths that meet no node twice."""
    found = []

    def walk(node, met, arms):
        if node == target:
            found.append(sorted(arms))
            return
        for i, (u, v) in enumerate(edges):
            for tail, head in ((u, v),) if directed else ((u, v), (v, u)):
                if tail == node and head not in met:
                    walk(head, {*met, head}, [*arms, i])

    walk(source, {source}, [])
    return sorted(found)


def matchings(edges, perfect=False) -> list[list[int]]:
    nodes = {node for edge in edges for node in edge}
    sizes = [len(nodes) // 2] if perfect else range(len(nodes) // 2 + 1)
    return [
        list(arms)
        for size in sizes
        for arms in combinations(range(len(edges)), size)
        if len({node for i in arms for node in edges[i]}) == 2 * size
    ]


def solutions(A, lower, upper) -> list[list[int]]:
    """The 0/1 vectors x with lower <= A x <= upper."""
    n = len(A[0])
    chosen = [[i for i in range(n) if x[i]] for x in product((0, 1), repeat=n)]
    rows = list(zip(A, lower, upper, strict=True))
    return [
        arms
        for arms in chosen
        if all(low <= sum(row[i] for i in arms) <= high for row, low, high in rows)
    ]


def gaps(sets, means) -> list[float]:
    """CPE gaps: what it costs to leave out an arm of the best set, or to take in another."""
    totals = [sum(means[i] for i in arms) for arms in sets]
    top = sets[totals.index(max(totals))]
    return [
        max(totals)
        - max(
            (x for arms, x in zip(sets, totals, strict=True) if (i in arms) != (i in top)),
            default=float("-inf"),
        )
        for i in range(len(means))
    ]
