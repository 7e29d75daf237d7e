"""Kinetic tournament trees: the arm with the largest key + c * slope while c grows.

Radii that depend on time share one growing factor, u_i = c(t) / sqrt(T_i), so every index is a
line in c. Beside its winner a node keeps the smallest c at which a match below it may turn
(Basch, Guibas and Hershberger 1999, "Data structures for mobile data"). Nothing is rescanned, and
no index is approximated: near a crossing the match is simply replayed.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels.types import FloatArray, Slot, State

MARGIN = 1e-9  # replay this much (relative) before a computed crossing: covers its rounding error


def value(keys: FloatArray, slopes: FloatArray, slot: Slot, i: int, c: float) -> float:
    """The index of arm i at c."""
    return keys[slot.row, i] + c * slopes[slot.row, i]


def _play(state: State, slot: Slot, node: int, c: float) -> None:
    """Decide one match at c, and until which c the decisions below the node stand."""
    width = state.nodes.shape[1]
    a, b = 2 * node, 2 * node + 1
    if a < width:
        w, s = state.nodes[slot.row, a], state.nodes[slot.row, b]
        fail = min(state.fails[slot.row, a], state.fails[slot.row, b])
    else:
        w, s = np.int32(a - width), np.int32(b - width)
        fail = np.inf
    x = value(state.keys, state.slopes, slot, w, c)
    y = value(state.keys, state.slopes, slot, s, c)
    if y > x or (y == x and slot.last):
        w, s = s, w
    gain = state.slopes[slot.row, s] - state.slopes[slot.row, w]
    if gain > 0.0 and state.keys[slot.row, s] > -np.inf:
        crossing = (state.keys[slot.row, w] - state.keys[slot.row, s]) / gain * (1.0 - MARGIN)
        fail = min(fail, max(crossing, c * (1.0 + 1e-15)))
    state.nodes[slot.row, node] = w
    state.fails[slot.row, node] = fail


def update(state: State, slot: Slot, i: int, c: float) -> None:
    """Replay the matches of leaf i after its key or slope changed."""
    node = (state.nodes.shape[1] + i) >> 1
    while node >= 1:
        _play(state, slot, node, c)
        node >>= 1


def build(state: State, slot: Slot, c: float) -> None:
    """Play every match of a tree."""
    for node in range(state.nodes.shape[1] - 1, 0, -1):
        _play(state, slot, node, c)


def advance(state: State, slot: Slot, c: float) -> None:
    """Move to a larger c: replay the matches that may have turned, lowest first."""
    width = state.nodes.shape[1]
    while state.fails[slot.row, 1] <= c:
        node = 1
        while 2 * node < width:
            if state.fails[slot.row, 2 * node] <= c:
                node = 2 * node
            elif state.fails[slot.row, 2 * node + 1] <= c:
                node = 2 * node + 1
            else:
                break
        while node >= 1:
            _play(state, slot, node, c)
            node >>= 1
