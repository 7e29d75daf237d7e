"""Tournament trees: the arm with the largest key, updated along one path.

The slot's row of `keys` holds the leaves (arm i at position i, -inf for arms not in the tree, width
a power of two); its row of `nodes` holds, for each inner node, the winner of its subtree, the root
at 1.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels.types import FloatArray, NodeArray, Slot


def winner(nodes: NodeArray, slot: Slot) -> int:
    """The arm with the largest key."""
    return int(nodes[slot.row, 1])


def update(nodes: NodeArray, keys: FloatArray, slot: Slot, i: int) -> None:
    """Replay the matches of leaf i after its key changed."""
    w, key = i, keys[slot.row, i]
    s = i ^ 1
    node = (nodes.shape[1] + i) >> 1
    while True:
        rival = keys[slot.row, s]
        if rival > key:
            w, key = s, rival
        elif rival == key and (s > w) == slot.last:
            w = s
        if w != i and nodes[slot.row, node] == w:
            break  # the same winner with the same key as before: nothing changes above
        nodes[slot.row, node] = w
        if node == 1:
            break
        s = nodes[slot.row, node ^ 1]
        node >>= 1


def build(nodes: NodeArray, keys: FloatArray, slot: Slot) -> None:
    """Play every match of a tree."""
    width = nodes.shape[1]
    for node in range(width - 1, 0, -1):
        a, b = 2 * node, 2 * node + 1
        left = nodes[slot.row, a] if a < width else a - width
        right = nodes[slot.row, b] if b < width else b - width
        x, y = keys[slot.row, left], keys[slot.row, right]
        nodes[slot.row, node] = right if y > x or (y == x and slot.last) else left


def following(nodes: NodeArray, keys: FloatArray, slot: Slot, i: int) -> int:
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
            if keys[slot.row, nodes[slot.row, node] if node < width else node - width] > -np.inf:
                break
    elif keys[slot.row, nodes[slot.row, 1]] == -np.inf:
        return -1
    while node < width:  # down to its first leaf that is not empty
        node *= 2
        if keys[slot.row, nodes[slot.row, node] if node < width else node - width] == -np.inf:
            node += 1
    return node - width
