"""Codes of the sets rule: what arms pay for being in a difference from M (docs/e-clucb.md)."""

from __future__ import annotations

from bestk.kernels.types import (
    CODE,
    CODE_IN,
    CODE_OUT,
    DAG,
    EXPLICIT,
    REVISED,
    ROADS,
    SHARE,
    Spec,
    State,
    outlined,
)

SAFETY = 1e-9  # nats an arm: more than rounding


@outlined
def encode(state: State, spec: Spec) -> None:
    """What every arm pays for being in a difference from M.

    On a path an arm outside M pays for every end where M leaves it: its tail, if that is on M, or
    either end where edges lead both ways.
    """
    if spec.structure in (DAG, ROADS):
        on = state.parent
        on[:] = 0
        for i in range(spec.n_arms):
            if state.high[i]:
                on[state.table[0, i]] = 1
                if spec.structure == ROADS and state.table[2, i] != 0:
                    on[state.table[1, i]] = 1
    elif spec.structure == EXPLICIT:
        _share(state, spec)
    for i in range(spec.n_arms):
        code = state.codes[CODE_IN, i] if state.high[i] else state.codes[CODE_OUT, i]
        if spec.structure in (DAG, ROADS) and not state.high[i]:
            ends = state.parent[state.table[0, i]]
            if spec.structure == ROADS and state.table[2, i] != 0:
                ends += state.parent[state.table[1, i]]
            code *= ends
        state.codes[CODE, i] = code + spec.constant * state.codes[SHARE, i] + SAFETY


def _share(state: State, spec: Spec) -> None:
    """Shares of the constant: 1 / (the least difference from M that the arm is in).

    They add up to at least 1 over any difference D, for each of its arms has 1/|D| or more.
    """
    inside = state.orders[REVISED]  # as scratch: the arms of M
    n_inside = 0
    for i in range(spec.n_arms):
        state.codes[SHARE, i] = 0.0
        state.other[i] = False
        if state.high[i]:
            inside[n_inside] = i
            n_inside += 1
    for row in range(state.table.shape[0]):
        size, common = state.table[row, 0], 0
        for place in range(1, 1 + size):
            arm = state.table[row, place]
            state.other[arm] = True
            if state.high[arm]:
                common += 1
        share = 1.0 / max(1, n_inside + size - 2 * common)
        for k in range(n_inside):
            arm = inside[k]
            if not state.other[arm]:
                state.codes[SHARE, arm] = max(state.codes[SHARE, arm], share)
        for place in range(1, 1 + size):
            arm = state.table[row, place]
            state.other[arm] = False
            if not state.high[arm]:
                state.codes[SHARE, arm] = max(state.codes[SHARE, arm], share)
