"""Decision classes drawn at random, and what is feasible in them, straight from the definition."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from bestk.decisions import (
    BinaryProgram,
    BipartiteMatching,
    ExplicitSets,
    PartitionMatroid,
    Path,
    SpanningTree,
    TopK,
)
from bestk.errors import InputError

# --- naive feasibility: a set of arms against the definition of its class -----------------------


def is_tree(edges, chosen):
    nodes = {node for edge in edges for node in edge}
    part = {node: node for node in nodes}
    for arm in chosen:
        u, v = (part[node] for node in edges[arm])
        if u == v:
            return False
        part = {node: v if label == u else label for node, label in part.items()}
    return len(set(part.values())) == 1


def is_matching(edges, chosen, perfect):
    lefts, rights = ([edges[arm][side] for arm in chosen] for side in (0, 1))
    apart = len(set(lefts)) == len(chosen) == len(set(rights))
    everyone = all(len(chosen) == len({edge[side] for edge in edges}) for side in (0, 1))
    return apart and (everyone or not perfect)


def simple_paths(edges, source, target, directed, seen=()):
    if source == target:
        yield frozenset()
        return
    for arm, (u, v) in enumerate(edges):
        for tail, head in ((u, v),) if directed else ((u, v), (v, u)):
            if tail == source and head not in (*seen, source):
                for rest in simple_paths(edges, head, target, directed, (*seen, source)):
                    yield rest | {arm}


def is_feasible(decision, chosen):
    match decision:
        case TopK():
            return len(chosen) == decision.k
        case ExplicitSets():
            return chosen in decision.sets
        case PartitionMatroid():
            picked = [decision.groups[arm] for arm in chosen]
            return all(picked.count(group) == n for group, n in decision.capacities.items())
        case SpanningTree():
            return is_tree(decision.edges, chosen)
        case BipartiteMatching():
            return is_matching(decision.edges, chosen, decision.perfect)
        case BinaryProgram():
            totals = [sum(row[arm] for arm in chosen) for row in decision.A]
            bounds = zip(decision.lower, totals, decision.upper, strict=True)
            return all(lower <= total <= upper for lower, total, upper in bounds)


@cache
def feasible_sets(decision):
    if isinstance(decision, Path):
        ends = decision.edges, decision.source, decision.target, decision.directed
        return {tuple(sorted(path)) for path in simple_paths(*ends)}
    every = range(decision.n_arms)
    subsets = itertools.chain(*(itertools.combinations(every, n) for n in range(len(every) + 1)))
    return {chosen for chosen in subsets if is_feasible(decision, chosen)}


# --- random instances --------------------------------------------------------------------------


def draw_edges(rng, pairs):
    pairs = list(pairs)
    many = int(rng.integers(1, min(len(pairs), 9) + 1))
    return [pairs[i] for i in rng.permutation(len(pairs))[:many]]


def draw_topk(rng):
    n_arms = int(rng.integers(2, 8))
    return TopK(n_arms, int(rng.integers(1, n_arms)))


def draw_explicit(rng):
    rows = np.unique(rng.integers(0, 2, (int(rng.integers(2, 9)), 5)), axis=0)
    return ExplicitSets([np.flatnonzero(row) for row in rng.permutation(rows)], 5)


def draw_partition(rng):
    groups = [["x", ("y", 1), 2][g] for g in rng.integers(0, 3, int(rng.integers(2, 9)))]
    sizes = {group: groups.count(group) for group in groups}
    return PartitionMatroid(groups, {g: int(rng.integers(0, n + 1)) for g, n in sizes.items()})


def draw_tree(rng):
    return SpanningTree(draw_edges(rng, itertools.combinations("abcde", 2)))


def draw_matching(rng):
    return BipartiteMatching(draw_edges(rng, itertools.product(range(4), range(3))))


def draw_perfect(rng):
    return BipartiteMatching(draw_edges(rng, itertools.product(range(3), range(3))), perfect=True)


def draw_acyclic(rng):
    nodes = list(rng.permutation(list("abcdef")))
    return Path(draw_edges(rng, itertools.combinations(nodes, 2)), nodes[0], nodes[-2])


def draw_cyclic(rng):
    return Path(draw_edges(rng, itertools.permutations(range(4), 2)), 0, 3)


def draw_undirected(rng):
    return Path(draw_edges(rng, itertools.combinations(range(5), 2)), 0, 4, directed=False)


def draw_program(rng):
    rows = int(rng.integers(1, 4))
    matrix = rng.integers(-2, 5, (rows, int(rng.integers(2, 8))))
    lower = np.where(rng.random(rows) < 0.5, -np.inf, rng.integers(-2, 4, rows))
    upper = np.where(rng.random(rows) < 0.3, np.inf, rng.integers(1, 7, rows))
    return BinaryProgram(matrix, lower, upper)


DRAWS = [
    draw_topk,
    draw_explicit,
    draw_partition,
    draw_tree,
    draw_matching,
    draw_perfect,
    draw_acyclic,
    draw_cyclic,
    draw_undirected,
    draw_program,
]


def instances(draw, count, seed=0):
    """`count` random classes; draws that are no class are refused and skipped."""
    rng = np.random.default_rng(seed)
    for _ in range(100 * count):
        try:
            decision = draw(rng)
        except InputError:
            continue
        yield decision
        count -= 1
        if count == 0:
            return
    raise AssertionError("too few draws are classes")
