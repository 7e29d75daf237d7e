"""Compiled maximisation oracles: the feasible set of largest total weight, for any real weights.

Each reads a table of integers that its decision class lays out (`decisions/`) and decides ties by
the order of the arms, so that the answer depends on the weights alone.

| code      | table                                                     | method               |
|-----------|-----------------------------------------------------------|----------------------|
| PARTITION | row 0: group of an arm; row 1: capacity of a group         | greedy               |
| FOREST    | rows 0, 1: ends of an edge                                 | greedy (Kruskal)     |
| DAG       | rows 0, 1: tail, head (nodes in topological order); row 2: | dynamic programming  |
|           | arms in the order of their tails                           |                      |
| ROADS     | rows 0, 1: tail, head; row 2: is the edge two-way?         | label correction,    |
|           |                                                            | weights <= 0         |
| EXPLICIT  | a row for each set: its size, then its arms                | one by one           |
"""

from __future__ import annotations

import numpy as np

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


def _root(parent: IntArray, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]  # path halving
        node = parent[node]
    return node


def greedy_forest(table: IntArray, order: IntArray, parent: IntArray, out: BoolArray) -> None:
    """A spanning tree: every edge that closes no cycle."""
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


def _by_distance(table: IntArray, value: FloatArray, order: IntArray) -> None:
    """Put arms in the order of their nearer end: the next call then settles in a pass or two."""
    for place in range(1, order.shape[0]):
        arm = order[place]
        near = min(value[table[0, arm]], value[table[1, arm]])
        at = place
        while at > 0:
            above = order[at - 1]
            if min(value[table[0, above]], value[table[1, above]]) <= near:
                break
            order[at] = above
            at -= 1
        order[at] = arm


def _arrive(parent: IntArray, nodes: int, arm: int, tail: int, head: int) -> bool:
    """Count the edges to `head` by way of an arm; False if another pass is needed.

    Arms come in the order of their tails, so that only edges between equally distant nodes can be
    met before their tail is counted, or before it is counted right.
    """
    edges = parent[nodes + tail] + 1
    if edges > 2 * nodes:
        return False
    if edges < parent[nodes + head]:
        first = parent[nodes + head] == 2 * nodes
        parent[nodes + head], parent[head] = edges, arm
        return first
    if edges == parent[nodes + head] and arm < parent[head]:
        parent[head] = arm
    return True


def cheapest_road(
    table: IntArray,
    source: int,
    target: int,
    weights: FloatArray,
    order: IntArray,
    parent: IntArray,
    value: FloatArray,
    out: BoolArray,
) -> None:
    """The path of least cost -weights >= 0 in any graph, of fewest edges among those.

    Labels are corrected pass by pass until none changes (Bellman 1958), in the order in which the
    last call found the nodes. Distances do not depend on that order; the path follows tight edges
    only, each to a node one edge nearer, and of several the one of lowest number. `parent` has a
    second half, the number of edges to a node.
    """
    nodes = value.shape[0]
    value[:] = np.inf
    value[source] = 0.0
    settled = False
    while not settled:
        settled = True
        for place in range(order.shape[0]):
            arm = order[place]
            a, b, cost = table[0, arm], table[1, arm], max(-weights[arm], 0.0)
            if value[a] + cost < value[b]:
                value[b] = value[a] + cost
                settled = False
            elif table[2, arm] != 0 and value[b] + cost < value[a]:
                value[a] = value[b] + cost
                settled = False
    _by_distance(table, value, order)
    parent[:] = 2 * nodes
    parent[nodes + source] = 0
    settled = False
    while not settled:
        settled = True
        for place in range(order.shape[0]):
            arm = order[place]
            a, b, cost = table[0, arm], table[1, arm], max(-weights[arm], 0.0)
            if table[2, arm] != 0 and value[b] < value[a]:
                a, b = b, a
            if value[a] < np.inf and value[a] + cost == value[b]:
                settled &= _arrive(parent, nodes, arm, a, b)
                if cost == 0.0 and table[2, arm] != 0:
                    settled &= _arrive(parent, nodes, arm, b, a)
    out[:] = False
    node = target
    while node != source:
        arm = parent[node]
        out[arm] = True
        node = table[1, arm] if table[0, arm] == node else table[0, arm]


def best_explicit(table: IntArray, weights: FloatArray, out: BoolArray) -> None:
    """The first set of largest total."""
    record, chosen = -np.inf, 0
    for row in range(table.shape[0]):
        total = 0.0
        for place in range(1, 1 + table[row, 0]):
            total += weights[table[row, place]]
        if total > record:
            record, chosen = total, row
    out[:] = False
    for place in range(1, 1 + table[chosen, 0]):
        out[table[chosen, place]] = True


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
        cheapest_road(table, source, target, weights, order, parent, value, out)
    elif code == EXPLICIT:
        best_explicit(table, weights, out)
