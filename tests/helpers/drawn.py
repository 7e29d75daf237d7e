"""Random decision classes, each with all its feasible sets."""

from bestk.decisions import (
    BinaryProgram,
    BipartiteMatching,
    ExplicitSets,
    PartitionMatroid,
    Path,
    SpanningTree,
)
from helpers import feasible


def partition(dice, fewest, most):
    groups = [dice.choice("xyz") for _ in range(dice.randint(fewest, most))]
    capacities = {g: dice.randint(0, groups.count(g)) for g in sorted(set(groups))}
    return PartitionMatroid(groups, capacities), feasible.partition(groups, capacities)


def _graph(dice, most_nodes, most_edges):
    nodes = range(dice.randint(3, most_nodes))
    pairs = [(u, v) for u in nodes for v in nodes if u < v]
    return nodes, dice.sample(pairs, min(len(pairs), dice.randint(len(nodes), most_edges)))


def tree(dice, most_nodes, most_edges):
    _, edges = _graph(dice, most_nodes, most_edges)
    return SpanningTree(edges), feasible.spanning_trees(edges)


def dag(dice, most_nodes, most_edges):
    nodes, edges = _graph(dice, most_nodes, most_edges)
    ends = nodes[0], nodes[-1]
    return Path(edges, *ends), feasible.paths(edges, *ends)


def roads(dice):
    nodes = range(dice.randint(3, 5))
    directed = dice.random() < 0.5
    pairs = [(u, v) for u in nodes for v in nodes if (u != v if directed else u < v)]
    edges = dice.sample(pairs, min(len(pairs), dice.randint(len(nodes), 16)))
    sets = feasible.paths(edges, 0, 1, directed)
    return Path(edges, 0, 1, directed=directed), sets


def explicit(dice):
    n = dice.randint(3, 20)
    sets = {tuple(sorted(dice.sample(range(n), dice.randint(0, n)))) for _ in range(12)}
    sets = [list(arms) for arms in dice.sample(sorted(sets), len(sets))]
    return ExplicitSets(sets, n), sets


def matching(dice):
    n, m = dice.randint(2, 4), dice.randint(2, 5)
    pairs = [(u, v) for u in range(n) for v in range(m)]
    edges = dice.sample(pairs, dice.randint(3, len(pairs)))
    return BipartiteMatching(edges), feasible.matchings([(f"l{u}", f"r{v}") for u, v in edges])


def perfect_matching(dice):
    n = dice.randint(2, 4)
    pairs = [(u, v) for u in range(n) for v in range(n)]
    edges = dice.sample(pairs, dice.randint(n + 2, len(pairs))) if n > 2 else pairs
    sets = feasible.matchings([(f"l{u}", f"r{v}") for u, v in edges], perfect=True)
    return BipartiteMatching(edges, perfect=True), sets


def program(dice):
    n = dice.randint(3, 8)
    costs = [dice.randint(1, 5) for _ in range(n)]
    A, lower, upper = [costs, [1] * n], [0, 1], [sum(costs) // 2, n - 1]
    return BinaryProgram(A, lower, upper), feasible.solutions(A, lower, upper)
