"""M (the paper's High): the first K arms in the order mean descending, index ascending.

Two trees, the lowest mean inside and the highest outside; one changed mean moves at most one pair
of arms across the boundary.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels import trees
from bestk.kernels.types import MEAN_IN, MEAN_OUT, Spec, State


def _put(state: State, i: int, inside: bool) -> None:
    state.high[i] = inside
    if inside:
        state.keys[MEAN_IN.row, i] = -state.means[i]
        trees.update(state.nodes, state.keys, MEAN_IN, i)
    else:
        state.keys[MEAN_OUT.row, i] = state.means[i]
        trees.update(state.nodes, state.keys, MEAN_OUT, i)


def _take(state: State, i: int, inside: bool) -> None:
    if inside:
        state.keys[MEAN_IN.row, i] = -np.inf
        trees.update(state.nodes, state.keys, MEAN_IN, i)
    else:
        state.keys[MEAN_OUT.row, i] = -np.inf
        trees.update(state.nodes, state.keys, MEAN_OUT, i)


def settle(state: State) -> tuple[int, int]:
    """Swap the boundary pair if it is out of order: (arm that left, arm that entered), or -1."""
    a = trees.winner(state.nodes, MEAN_IN)
    b = trees.winner(state.nodes, MEAN_OUT)
    x, y = state.means[a], state.means[b]
    if x > y or (x == y and a < b):
        return -1, -1
    _take(state, a, True)
    _take(state, b, False)
    _put(state, a, False)
    _put(state, b, True)
    return a, b


def refresh(state: State, i: int) -> tuple[int, int]:
    """Restore M after the mean of arm i changed: (arm that left, arm that entered), or -1."""
    _put(state, i, state.high[i])
    return settle(state)


def build(state: State, spec: Spec) -> None:
    """M from scratch: start from the first K arms and swap until the boundary is in order."""
    for i in range(spec.n_arms):
        state.high[i] = i < spec.k
        state.keys[MEAN_IN.row, i] = -state.means[i] if i < spec.k else -np.inf
        state.keys[MEAN_OUT.row, i] = state.means[i] if i >= spec.k else -np.inf
    trees.build(state.nodes, state.keys, MEAN_IN)
    trees.build(state.nodes, state.keys, MEAN_OUT)
    while settle(state)[0] >= 0:
        pass
