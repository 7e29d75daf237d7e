"""UGapE, fixed confidence (Gabillon, Ghavamzadeh and Lazaric 2012), for the K largest means.

With L_i, U_i = m_i -+ u_i and B_i = (K-th largest U_j over j != i) - L_i, J holds the K smallest
B_i. The K-th largest over the others takes two values only: with S the K largest U, it is the
largest U outside S for arms of S, the smallest U of S for all others. So J is the K largest L with
a bonus for S, and needs L ordered within four groups: in or out of S, in or out of J.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels import bounds, trees
from bestk.kernels.types import (
    HIGH,
    L_ALL_J,
    L_J,
    L_NONE,
    L_S,
    L_SJ,
    LOW,
    U_IN,
    U_OUT,
    U_REST,
    IntArray,
    Slot,
    Spec,
    State,
    outlined,
)

ALL = (U_IN, U_OUT, L_SJ, L_S, L_J, L_NONE, L_ALL_J, U_REST)


def _set(state: State, spec: Spec, i: int) -> None:
    """File arm i in the trees that its memberships of S and J call for."""
    in_s, in_j = state.other[i], state.high[i]
    for slot in ALL:
        state.keys[slot.row, i] = -np.inf
        state.slopes[slot.row, i] = 0.0
    if in_s:
        bounds.set_key(state, spec, U_IN, i, HIGH)  # the lowest U of S
    else:
        bounds.set_key(state, spec, U_OUT, i, HIGH)  # the highest U outside
    if in_j:
        if in_s:
            bounds.set_key(state, spec, L_SJ, i, LOW)  # the lowest L of J
        else:
            bounds.set_key(state, spec, L_J, i, LOW)
        bounds.set_key(state, spec, L_ALL_J, i, LOW)  # the same, ties to the lowest index
    else:
        if in_s:
            bounds.set_key(state, spec, L_S, i, LOW)  # the highest L outside
        else:
            bounds.set_key(state, spec, L_NONE, i, LOW)
        bounds.set_key(state, spec, U_REST, i, HIGH)  # the highest U outside J


def _refile(state: State, spec: Spec, i: int) -> None:
    _set(state, spec, i)
    for slot in ALL:
        bounds.replay(state, spec, slot, i)


def _top(state: State, spec: Spec, slot: Slot) -> tuple[int, float]:
    """The winner of a tree and its value, infinite (-inf of a highest) if the tree is empty."""
    i = trees.winner(state.nodes, slot)
    return i, bounds.index(state, spec, slot, i)


def _settle_s(state: State, spec: Spec) -> tuple[float, float]:
    """Restore S; returns the K-th and the (K+1)-th largest U."""
    while True:
        a, x = _top(state, spec, U_IN)
        b, y = _top(state, spec, U_OUT)
        if x > y or (x == y and a < b):
            return x, y
        state.other[a], state.other[b] = False, True
        _refile(state, spec, a)
        _refile(state, spec, b)


def _worst(state: State, spec: Spec, u_k: float, u_next: float) -> tuple[int, float]:
    """The arm of J with the largest B (ties: the highest index), and that B."""
    a, x = _top(state, spec, L_SJ)
    b, y = _top(state, spec, L_J)
    x, y = u_next - x, u_k - y
    if x > y or (x == y and a > b):
        return a, x
    return b, y


def _best(state: State, spec: Spec, u_k: float, u_next: float) -> tuple[int, float]:
    """The arm outside J with the smallest B (ties: the lowest index), and that B."""
    a, x = _top(state, spec, L_S)
    b, y = _top(state, spec, L_NONE)
    x, y = u_next - x, u_k - y
    if x < y or (x == y and a < b):
        return a, x
    return b, y


@outlined
def build(state: State, spec: Spec) -> None:
    """Start from the first K arms as S and as J; the first ask puts both right."""
    for i in range(spec.n_arms):
        state.high[i] = state.other[i] = i < spec.k
        _set(state, spec, i)
    for slot in ALL:
        bounds.build(state, spec, slot)


@outlined
def settle(state: State, spec: Spec) -> float:
    """Bring S and J up to the current time; returns max over J of B_i."""
    for slot in ALL:
        bounds.advance(state, spec, slot)
    u_k, u_next = _settle_s(state, spec)
    while True:
        a, x = _worst(state, spec, u_k, u_next)
        b, y = _best(state, spec, u_k, u_next)
        if x < y or (x == y and a < b):
            return x
        state.high[a], state.high[b] = False, True
        _refile(state, spec, a)
        _refile(state, spec, b)


@outlined
def ask(state: State, spec: Spec, out: IntArray) -> int:
    """The less sampled of the weakest arm of J and the strongest outside; 0 to stop."""
    if settle(state, spec) <= spec.epsilon:
        return 0
    weakest = trees.winner(state.nodes, L_ALL_J)
    strongest = trees.winner(state.nodes, U_REST)
    out[0] = weakest if state.counts[weakest] <= state.counts[strongest] else strongest
    return 1


@outlined
def tell(state: State, spec: Spec, i: int) -> None:
    """File the new mean; S and J are put right by the next ask."""
    _refile(state, spec, i)
