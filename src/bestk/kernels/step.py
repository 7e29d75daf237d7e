"""The step ladder: `ask`, `tell` and `recommend` for every policy, one if-ladder an axis."""

from __future__ import annotations

import numpy as np

from bestk.kernels import bounds, clucb, cpe, lilucb, pair, ugape
from bestk.kernels.jit import entry, kernel
from bestk.kernels.types import (
    ASKS,
    CLOCK_SIZE,
    CLUCB,
    CPE,
    EMPIRICAL,
    LIL,
    LIL_UCB,
    LUCB_ROUNDS,
    MOST,
    NEXT,
    NO_ORACLE,
    PAIR,
    ROADS,
    ROUND,
    RUN,
    SEEN,
    SLOTS,
    TOTAL,
    UGAPE,
    IntArray,
    Spec,
    State,
)

TABLE = 1 << 14  # radii kept in a table; arbitrary: two tables fit a core's cache


def new_state(spec: Spec, table: IntArray | None = None) -> State:
    """Allocate the state of a policy before its first observation; `table` is its oracle's."""
    n, slots = spec.n_arms, SLOTS[spec.family]
    leaves = 1 << max(1, (n - 1).bit_length())
    arms = n if spec.family == CPE else 1
    scratch = 2 * spec.n_nodes if spec.structure == ROADS else spec.n_nodes
    timed = (1, 1) if spec.radius == LIL else (slots, leaves)
    state = State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        means=np.zeros(n),
        high=np.zeros(n, np.bool_),
        other=np.zeros(n, np.bool_),
        keys=np.full((slots, leaves), -np.inf),
        slopes=np.zeros(timed),
        nodes=np.zeros((slots, leaves), np.int32),
        fails=np.full(timed, np.inf),
        widths=np.zeros(2),
        radii=np.zeros((2, TABLE if spec.radius == LIL else 1)),
        clock=np.zeros(CLOCK_SIZE, np.int64),
        table=np.zeros((1, 1), np.int64) if table is None else table,
        weights=np.zeros((2, arms)),
        orders=np.zeros((2, arms), np.int64),
        parent=np.zeros(scratch, np.int64),
        value=np.zeros(spec.n_nodes),
    )
    if spec.radius == LIL:
        bounds.tabulate(state, spec)
    return state


@kernel
def reset(state: State, run: int) -> None:
    """Forget all observations; `run` numbers the policy's coins."""
    state.counts[:] = 0
    state.sums[:] = 0.0
    state.means[:] = 0.0
    state.high[:] = False
    state.other[:] = False
    state.keys[:] = -np.inf
    state.slopes[:] = 0.0
    state.clock[:] = 0
    state.clock[RUN] = run


@entry
def _build(state: State, spec: Spec) -> None:
    """Set up the trees once every arm has been sampled."""
    if spec.radius != LIL:
        state.clock[ROUND] = max(1, state.counts[state.clock[MOST]])
        state.widths[0] = bounds.width(state, spec)
        state.clock[ROUND] = 0
    if spec.family == PAIR:
        pair.build(state, spec)
    elif spec.family == CLUCB:
        clucb.build(state, spec)
    elif spec.family == UGAPE:
        ugape.build(state, spec)
    elif spec.family == CPE:
        cpe.build(state, spec)
    else:
        lilucb.build(state, spec)


@kernel
def begin(state: State, spec: Spec, out: IntArray) -> int:
    """Count an ask and move the clocks; 1 with an arm never sampled, 0 if there is none."""
    state.clock[ASKS] += 1
    if state.clock[SEEN] < spec.n_arms:  # every policy starts by sampling each arm once
        while state.counts[state.clock[NEXT]] > 0:
            state.clock[NEXT] += 1
        out[0] = state.clock[NEXT]
        return 1
    if spec.radius != LIL:
        if spec.radius == LUCB_ROUNDS:
            # LUCB's proof needs T_i <= r at every check, which its own rounds keep by themselves
            state.clock[ROUND] = max(state.clock[ROUND] + 1, state.counts[state.clock[MOST]])
        state.widths[0] = bounds.width(state, spec)
    return 0


@kernel
def ask(state: State, spec: Spec, out: IntArray) -> int:
    """Write the arms of the next round into `out`, return how many; 0 = stop."""
    if begin(state, spec, out) == 1:
        return 1
    if spec.family == PAIR:
        return pair.ask(state, spec, out)
    if spec.family == CLUCB:
        return clucb.ask(state, spec, out)
    if spec.family == UGAPE:
        return ugape.ask(state, spec, out)
    if spec.family == CPE:
        return cpe.ask(state, spec, out)
    return lilucb.ask(state, spec, out)


@kernel
def tell(state: State, spec: Spec, arm: int, reward: float) -> None:
    """Record one observation."""
    state.counts[arm] += 1
    state.sums[arm] += reward
    state.means[arm] = state.sums[arm] / state.counts[arm]
    state.clock[TOTAL] += 1
    most = state.clock[MOST]
    lead = state.counts[arm] - state.counts[most]
    if lead > 0 or (lead == 0 and arm < most):
        state.clock[MOST] = arm
    if state.clock[SEEN] < spec.n_arms:
        if state.counts[arm] == 1:
            state.clock[SEEN] += 1
        if state.clock[SEEN] == spec.n_arms:
            _build(state, spec)
    elif spec.family == PAIR:
        pair.tell(state, spec, arm)
    elif spec.family == CLUCB:
        clucb.tell(state, spec, arm)
    elif spec.family == UGAPE:
        ugape.tell(state, spec, arm)
    elif spec.family == CPE:
        cpe.tell(state, spec, arm)
    else:
        lilucb.tell(state, spec, arm)


@entry
def recommend(state: State, spec: Spec, out: IntArray) -> int:
    """Write the arms of the current answer into `out`, lowest index first; returns how many."""
    if spec.family == LIL_UCB:
        out[0] = state.clock[MOST]
        return 1
    if state.clock[SEEN] == spec.n_arms:  # an answer that depends on time or on an oracle
        if spec.family == UGAPE:
            state.widths[0] = bounds.width(state, spec)
            ugape.settle(state, spec)
        elif spec.structure != NO_ORACLE:
            cpe.means(state, spec)
            cpe.solve(state, spec, EMPIRICAL, False)
    n = 0
    for i in range(spec.n_arms):
        if state.high[i]:
            out[n] = i
            n += 1
    return n


@kernel
def ask_means(state: State, spec: Spec, out: IntArray) -> int:
    """The part of `ask` before a Python oracle: 1 with an initial arm, or 0 with weights for M."""
    if begin(state, spec, out) == 1:
        return 1
    cpe.means(state, spec)
    return 0
