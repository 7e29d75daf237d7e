"""Algorithm 2 of the paper (lil'CLUCB), and CLUCB (Chen et al. 2014), for the K largest means.

M holds the K largest means, Mt the K largest *revised* means: lower bounds inside M, upper bounds
outside. Both sets and their symmetric difference are kept up to date, arm by arm.

| Algorithm 2   | here                                                                |
|---------------|---------------------------------------------------------------------|
| line 1        | `step.begin`: every arm once                                        |
| line 3        | `top_means`: M                                                      |
| line 4        | `bounds`: the radii                                                 |
| lines 5 and 6 | `_set_revised`: the revised means, as keys of two trees             |
| line 7        | `settle`: Mt                                                        |
| line 8        | `ask`, `_exceeds`: stop when Mt cannot beat M                       |
| line 9        | `ask`: the largest radius in the symmetric difference               |
| line 10       | `step.tell`: T_i and the mean; `tell`: sets and trees               |
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from bestk.kernels import bounds, top_means, trees
from bestk.kernels.types import (
    DIFFERENCE,
    HIGH,
    LOW,
    REVISED_IN,
    REVISED_OUT,
    IntArray,
    Spec,
    State,
    outlined,
)


def _set_revised(state: State, spec: Spec, i: int) -> None:
    """Algorithm 2, lines 5 and 6: m - u inside M, m + u outside, filed under Mt or its rest."""
    end = LOW if state.high[i] else HIGH
    if state.other[i]:
        bounds.set_key(state, spec, REVISED_IN, i, end)
    else:
        bounds.set_key(state, spec, REVISED_OUT, i, end)


def _set_difference(state: State, spec: Spec, i: int) -> None:
    """The radius of an arm of the symmetric difference (or 1/sqrt(T), in the same order)."""
    key = -np.inf
    if state.high[i] != state.other[i]:
        if bounds.grows(spec):
            key = 1.0 / sqrt(float(state.counts[i]))
        else:
            key = bounds.half_width(state, spec, i, LOW if state.high[i] else HIGH)
    state.keys[DIFFERENCE.row, i] = key


def _refresh(state: State, spec: Spec, i: int) -> None:
    _set_revised(state, spec, i)
    if state.other[i]:
        bounds.replay(state, spec, REVISED_IN, i)
    else:
        bounds.replay(state, spec, REVISED_OUT, i)
    _set_difference(state, spec, i)
    trees.update(state.nodes, state.keys, DIFFERENCE, i)


def settle(state: State, spec: Spec) -> None:
    """Algorithm 2, line 7: Mt, first K in the order revised mean descending, index ascending."""
    while True:
        a = trees.winner(state.nodes, REVISED_IN)
        b = trees.winner(state.nodes, REVISED_OUT)
        x, y = bounds.index(state, spec, REVISED_IN, a), bounds.index(state, spec, REVISED_OUT, b)
        if x > y or (x == y and a < b):
            return
        bounds.remove(state, spec, REVISED_IN, a)
        bounds.remove(state, spec, REVISED_OUT, b)
        state.other[a], state.other[b] = False, True
        _refresh(state, spec, a)
        _refresh(state, spec, b)


@outlined
def build(state: State, spec: Spec) -> None:
    """M, then Mt = M as a start, then swaps until Mt is right."""
    top_means.build(state, spec)
    for i in range(spec.n_arms):
        state.other[i] = state.high[i]
        _set_revised(state, spec, i)
        _set_difference(state, spec, i)
    bounds.build(state, spec, REVISED_IN)
    bounds.build(state, spec, REVISED_OUT)
    trees.build(state.nodes, state.keys, DIFFERENCE)
    settle(state, spec)


def ask(state: State, spec: Spec, out: IntArray) -> int:
    """The arm of largest radius in the symmetric difference; 0 when Mt cannot beat M."""
    bounds.advance(state, spec, REVISED_IN)
    bounds.advance(state, spec, REVISED_OUT)
    settle(state, spec)
    # Algorithm 2, line 8: M = Mt, made safe for ties and for slack on the total
    if not _exceeds(state, spec):
        return 0
    # line 9: the largest radius in the symmetric difference
    out[0] = trees.winner(state.nodes, DIFFERENCE)
    return 1


def _exceeds(state: State, spec: Spec) -> bool:
    """Whether Mt beats M in revised means by more than the slack.

    Every arm of Mt is at or above x, every other at or below y <= x, so the exchange that involves
    an arm of the difference leads by at least its distance to the other side. Only when that is
    within the slack (a tie, or small leads that may add up) is the whole difference summed.
    """
    arm = trees.winner(state.nodes, DIFFERENCE)
    if state.keys[DIFFERENCE.row, arm] == -np.inf:
        return False
    x = bounds.index(state, spec, REVISED_IN, trees.winner(state.nodes, REVISED_IN))
    y = bounds.index(state, spec, REVISED_OUT, trees.winner(state.nodes, REVISED_OUT))
    revised = _revised(state, spec, arm)
    if (revised - y if state.other[arm] else x - revised) > spec.epsilon:
        return True
    return lead(state, spec) > spec.epsilon


@outlined
def lead(state: State, spec: Spec) -> float:
    """By how much Mt beats M in revised means."""
    total = 0.0
    arm = trees.following(state.nodes, state.keys, DIFFERENCE, -1)
    while arm >= 0:
        revised = _revised(state, spec, arm)
        total += revised if state.other[arm] else -revised
        arm = trees.following(state.nodes, state.keys, DIFFERENCE, arm)
    return total


def _revised(state: State, spec: Spec, i: int) -> float:
    if state.other[i]:
        return bounds.index(state, spec, REVISED_IN, i)
    return bounds.index(state, spec, REVISED_OUT, i)


def tell(state: State, spec: Spec, i: int) -> None:
    """Restore M, Mt and their difference after arm i got a new mean."""
    left, entered = top_means.refresh(state, i)
    if left >= 0:
        _refresh(state, spec, left)
        _refresh(state, spec, entered)
    if i not in (left, entered):
        _refresh(state, spec, i)
    settle(state, spec)
