"""Compiled maximisation oracles: the feasible set of largest total weight, for any real weights.

Each reads a table of integers that its decision class lays out (`decisions/`) and decides ties by
the order of the arms, so that the answer depends on the weights alone.

| code      | table                                                     | method               |
|-----------|-----------------------------------------------------------|----------------------|
| PARTITION | row 0: group of an arm; row 1: capacity of a group         | greedy               |
| FOREST    | rows 0, 1: ends of an edge                                 | greedy (Kruskal)     |
| DAG       | rows 0, 1: tail, head (nodes in topological order); row 2: | dynamic programming  |
|           | arms in the order of their tails                           |                      |
| ROADS     | rows 0, 1: tail, head; row 2: is the edge two-way?         | Dijkstra, weights <= 0 |
| EXPLICIT  | a row of zeros and ones for each set                       | one by one           |
"""

from __future__ import annotations

import numpy as np

from bestk.kernels.jit import kernel
from bestk.kernels.types import (
    DAG,
    EXPLICIT,
    FOREST,
    PARTITION,
    ROADS,
    BoolArray,
    FloatArray,
    IntArray,
)


@kernel
def sort(order: IntArray, weights: FloatArray) -> bool:
    """Put arms in the order weight descending, index ascending; False if they were already.

    An insertion sort: from one decision to the next hardly anything moves.
    """
    moved = False
    for place in range(1, order.shape[0]):
        arm = order[place]
        weight = weights[arm]
        at = place
        while at > 0:
            above = order[at - 1]
            if weights[above] > weight or (weights[above] == weight and above < arm):
                break
            order[at] = above
            at -= 1
        if at != place:
            order[at] = arm
            moved = True
    return moved


@kernel
def greedy_partition(table: IntArray, order: IntArray, left: IntArray, out: BoolArray) -> None:
    """Exactly `capacity` arms of every group."""
    for group in range(left.shape[0]):
        left[group] = table[1, group]
    for place in range(order.shape[0]):
        arm = order[place]
        group = table[0, arm]
        out[arm] = left[group] > 0
        if out[arm]:
            left[group] -= 1


@kernel
def _root(parent: IntArray, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]  # path halving
        node = parent[node]
    return node


@kernel
def greedy_forest(table: IntArray, order: IntArray, parent: IntArray, out: BoolArray) -> None:
    """A spanning tree: every edge that closes no circle."""
    for node in range(parent.shape[0]):
        parent[node] = node
    missing = parent.shape[0] - 1
    for place in range(order.shape[0]):
        arm = order[place]
        out[arm] = False
        if missing > 0:
            a, b = _root(parent, table[0, arm]), _root(parent, table[1, arm])
            if a != b:
                parent[a] = b
                out[arm] = True
                missing -= 1


@kernel
def longest_path(
    table: IntArray,
    source: int,
    target: int,
    weights: FloatArray,
    parent: IntArray,
    value: FloatArray,
    out: BoolArray,
) -> None:
    """The heaviest path through an acyclic graph; ties go to the edge met first."""
    value[:] = -np.inf
    value[source] = 0.0
    for place in range(weights.shape[0]):
        arm = table[2, place]
        tail, head = table[0, arm], table[1, arm]
        if value[tail] + weights[arm] > value[head]:
            value[head] = value[tail] + weights[arm]
            parent[head] = arm
    out[:] = False
    node = target
    while node != source:
        arm = parent[node]
        out[arm] = True
        node = table[0, arm]


@kernel
def cheapest_road(
    table: IntArray,
    source: int,
    target: int,
    weights: FloatArray,
    parent: IntArray,
    value: FloatArray,
    out: BoolArray,
) -> None:
    """The path of least cost -weights >= 0 in any graph, by Dijkstra without a heap.

    `parent` has a second half that marks finished nodes. Ties go to the node, then the edge, of
    lowest number.
    """
    nodes = value.shape[0]
    value[:] = np.inf
    value[source] = 0.0
    parent[:] = -1
    for _ in range(nodes):
        near = -1
        for node in range(nodes):
            if parent[nodes + node] < 0 and (near < 0 or value[node] < value[near]):
                near = node
        parent[nodes + near] = 1
        if near == target or value[near] == np.inf:
            break
        for arm in range(weights.shape[0]):
            for way in range(1 + table[2, arm]):
                tail, head = table[way, arm], table[1 - way, arm]
                # a finished node keeps its edge, so that edges form a tree whatever the weights
                if tail != near or parent[nodes + head] > 0:
                    continue
                if value[tail] - weights[arm] < value[head]:
                    value[head] = value[tail] - weights[arm]
                    parent[head] = arm
    out[:] = False
    node = target
    while node != source:
        arm = parent[node]
        out[arm] = True
        node = table[1, arm] if table[0, arm] == node else table[0, arm]


@kernel
def best_explicit(table: IntArray, weights: FloatArray, out: BoolArray) -> None:
    """The first set of largest total."""
    record, chosen = -np.inf, 0
    for row in range(table.shape[0]):
        total = 0.0
        for arm in range(table.shape[1]):
            if table[row, arm] != 0:
                total += weights[arm]
        if total > record:
            record, chosen = total, row
    for arm in range(table.shape[1]):
        out[arm] = table[chosen, arm] != 0


@kernel
def best(
    code: int,
    table: IntArray,
    source: int,
    target: int,
    weights: FloatArray,
    order: IntArray,
    parent: IntArray,
    value: FloatArray,
    fresh: bool,
    out: BoolArray,
) -> None:
    """Write the best set into `out`; `order` is any permutation of the arms, kept for later calls.

    A greedy oracle depends on the order alone: `out` stands if nothing moved, unless `fresh`.
    """
    if code in (PARTITION, FOREST):
        if not sort(order, weights) and not fresh:
            return
        if code == PARTITION:
            greedy_partition(table, order, parent, out)
        else:
            greedy_forest(table, order, parent, out)
    elif code == DAG:
        longest_path(table, source, target, weights, parent, value, out)
    elif code == ROADS:
        cheapest_road(table, source, target, weights, parent, value, out)
    elif code == EXPLICIT:
        best_explicit(table, weights, out)
