"""Tournament trees: the arm with the largest key, updated along one path.

Row `slot` of `keys` holds the leaves (arm i at position i, -inf for arms not in the tree, width a
power of two); row `slot` of `nodes` holds, for each inner node, the winner of its subtree, the
root at 1. Ties go to the lowest index, or to the highest where `last` is set.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels.jit import kernel
from bestk.kernels.types import FloatArray, NodeArray


@kernel
def winner(nodes: NodeArray, slot: int) -> int:
    """The arm with the largest key."""
    return int(nodes[slot, 1])


@kernel
def update(nodes: NodeArray, keys: FloatArray, slot: int, i: int, last: bool) -> None:
    """Replay the matches of leaf i after its key changed."""
    w, key = i, keys[slot, i]
    s = i ^ 1
    node = (nodes.shape[1] + i) >> 1
    while True:
        rival = keys[slot, s]
        if rival > key or (rival == key and (s > w) == last):
            w, key = s, rival
        if w != i and nodes[slot, node] == w:
            return  # the same winner with the same key as before: nothing changes above
        nodes[slot, node] = w
        if node == 1:
            return
        s = nodes[slot, node ^ 1]
        node >>= 1


@kernel
def build(nodes: NodeArray, keys: FloatArray, slot: int, last: bool) -> None:
    """Play every match of a tree."""
    width = nodes.shape[1]
    for node in range(width - 1, 0, -1):
        a, b = 2 * node, 2 * node + 1
        left = nodes[slot, a] if a < width else a - width
        right = nodes[slot, b] if b < width else b - width
        x, y = keys[slot, left], keys[slot, right]
        nodes[slot, node] = right if y > x or (y == x and last) else left


@kernel
def following(nodes: NodeArray, keys: FloatArray, slot: int, i: int) -> int:
    """The first arm after i that is in the tree (i = -1: the first of all), or -1."""
    width = nodes.shape[1]
    node = 1
    if i >= 0:
        node = width + i
        while True:  # up to the first subtree on the right that is not empty
            while node & 1:
                node >>= 1
            if node == 0:
                return -1
            node += 1
            if keys[slot, nodes[slot, node] if node < width else node - width] > -np.inf:
                break
    elif keys[slot, nodes[slot, 1]] == -np.inf:
        return -1
    while node < width:  # down to its first leaf that is not empty
        node *= 2
        if keys[slot, nodes[slot, node] if node < width else node - width] == -np.inf:
            node += 1
    return node - width
