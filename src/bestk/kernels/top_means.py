"""M (the paper's High): the first K arms in the order mean descending, index ascending.

Two trees, the lowest mean inside and the highest outside; one changed mean moves at most one pair
of arms across the boundary.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels import trees
from bestk.kernels.types import MEAN_IN, MEAN_OUT, Slot, Spec, State


def _put(state: State, slot: Slot, i: int) -> None:
    state.keys[slot.row, i] = slot.sign * state.means[i]
    trees.update(state.nodes, state.keys, slot, i)


def _take(state: State, slot: Slot, i: int) -> None:
    state.keys[slot.row, i] = -np.inf
    trees.update(state.nodes, state.keys, slot, i)


def settle(state: State) -> tuple[int, int]:
    """Swap the boundary pair if it is out of order: (arm that left, arm that entered), or -1."""
    a = trees.winner(state.nodes, MEAN_IN)
    b = trees.winner(state.nodes, MEAN_OUT)
    x, y = state.means[a], state.means[b]
    if x > y or (x == y and a < b):
        return -1, -1
    _take(state, MEAN_IN, a)
    _take(state, MEAN_OUT, b)
    state.high[a], state.high[b] = False, True
    _put(state, MEAN_OUT, a)
    _put(state, MEAN_IN, b)
    return a, b


def refresh(state: State, i: int) -> tuple[int, int]:
    """Restore M after the mean of arm i changed: (arm that left, arm that entered), or -1."""
    if state.high[i]:
        _put(state, MEAN_IN, i)
    else:
        _put(state, MEAN_OUT, i)
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
