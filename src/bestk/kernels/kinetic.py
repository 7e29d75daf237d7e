"""Kinetic tournament trees: the arm with the largest key + c * slope while c grows.

Radii that depend on time share one growing factor, u_i = c(t) / sqrt(T_i), so every index is a
line in c. Beside its winner a node keeps the smallest c at which a match below it may turn
(Basch, Guibas and Hershberger 1999, "Data structures for mobile data"). Nothing is rescanned, and
no index is approximated: near a crossing the match is simply replayed.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels.jit import kernel
from bestk.kernels.types import FloatArray, State

MARGIN = 1e-9  # replay this much (relative) before a computed crossing: covers its rounding error


@kernel
def value(keys: FloatArray, slopes: FloatArray, slot: int, i: int, c: float) -> float:
    """The index of arm i at c."""
    return keys[slot, i] + c * slopes[slot, i]


@kernel
def _play(state: State, slot: int, node: int, c: float, last: bool) -> None:
    """Decide one match at c, and until which c the decisions below the node stand."""
    width = state.nodes.shape[1]
    a, b = 2 * node, 2 * node + 1
    if a < width:
        w, s = state.nodes[slot, a], state.nodes[slot, b]
        fail = min(state.fails[slot, a], state.fails[slot, b])
    else:
        w, s = np.int32(a - width), np.int32(b - width)
        fail = np.inf
    x = value(state.keys, state.slopes, slot, w, c)
    y = value(state.keys, state.slopes, slot, s, c)
    if y > x or (y == x and last):
        w, s = s, w
    gain = state.slopes[slot, s] - state.slopes[slot, w]
    if gain > 0.0 and state.keys[slot, s] > -np.inf:
        crossing = (state.keys[slot, w] - state.keys[slot, s]) / gain * (1.0 - MARGIN)
        fail = min(fail, max(crossing, c * (1.0 + 1e-15)))
    state.nodes[slot, node] = w
    state.fails[slot, node] = fail


@kernel
def update(state: State, slot: int, i: int, c: float, last: bool) -> None:
    """Replay the matches of leaf i after its key or slope changed."""
    node = (state.nodes.shape[1] + i) >> 1
    while node >= 1:
        _play(state, slot, node, c, last)
        node >>= 1


@kernel
def build(state: State, slot: int, c: float, last: bool) -> None:
    """Play every match of a tree."""
    for node in range(state.nodes.shape[1] - 1, 0, -1):
        _play(state, slot, node, c, last)


@kernel
def advance(state: State, slot: int, c: float, last: bool) -> None:
    """Move to a larger c: replay the matches that may have turned, lowest first."""
    width = state.nodes.shape[1]
    while state.fails[slot, 1] <= c:
        node = 1
        while 2 * node < width:
            if state.fails[slot, 2 * node] <= c:
                node = 2 * node
            elif state.fails[slot, 2 * node + 1] <= c:
                node = 2 * node + 1
            else:
                break
        while node >= 1:
            _play(state, slot, node, c, last)
            node >>= 1
