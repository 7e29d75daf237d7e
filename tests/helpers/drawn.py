"""Random decision classes, each with all its feasible sets."""

from bestk.decisions import PartitionMatroid, Path, SpanningTree
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
