"""The step ladder: `ask`, `tell` and `recommend` for every policy, one if-ladder an axis."""

from __future__ import annotations

import numpy as np

from bestk.kernels import (
    bounds,
    clucb,
    cpe,
    evidence,
    finite,
    lil_ucb,
    lucb,
    matroid,
    quantile,
    rng,
    sets,
    ugape,
)
from bestk.kernels.types import (
    ASKS,
    BERNSTEIN,
    BETTING,
    CLOCK_SIZE,
    CLUCB,
    CPE,
    EMPIRICAL,
    EVIDENCE,
    EXCHANGE,
    FAR,
    FINITE,
    FLOOR,
    LEAD,
    LIL_UCB,
    LUCB_ROUNDS,
    MOST,
    NEXT,
    NO_EVIDENCE,
    NO_ORACLE,
    NORMAL,
    PAIR,
    PLANS,
    QUANTILE,
    REVISED_IN,
    REVISED_OUT,
    ROADS,
    ROUND,
    RUN,
    SEEN,
    SETS,
    SLOTS,
    TILTS,
    TOTAL,
    UGAPE,
    WIDTH,
    WIDTHS_SIZE,
    WITNESS_IN,
    WITNESS_OUT,
    Evidence,
    FloatArray,
    IntArray,
    Spec,
    State,
    outlined,
)


def new_state(
    spec: Spec,
    table: IntArray | None = None,
    evidence: Evidence = NO_EVIDENCE,
    codes: FloatArray | None = None,
    costs: FloatArray | None = None,
) -> State:
    """Allocate the state of a policy before its first observation; `table` is its oracle's."""
    n, slots = spec.n_arms, SLOTS[spec.family]
    leaves = 1 << max(1, (n - 1).bit_length())
    arms = n if spec.family in (CPE, EXCHANGE, SETS) else 1
    whole = n if spec.family == SETS else 1
    inverted = spec.radius == EVIDENCE and evidence.kind != NORMAL
    scratch = 2 * spec.n_nodes if spec.structure == ROADS else spec.n_nodes
    timed = (slots, leaves) if bounds.grows(spec) else (1, 1)
    ordered = inverted and evidence.kind == QUANTILE
    return State(
        counts=np.zeros(n, np.int64),
        origins=np.zeros(n),
        sums=np.zeros(n),
        means=np.zeros(n),
        high=np.zeros(n, np.bool_),
        other=np.zeros(n, np.bool_),
        keys=np.full((slots, leaves), -np.inf),
        slopes=np.zeros(timed),
        nodes=np.zeros((slots, leaves), np.int32),
        fails=np.full(timed, np.inf),
        widths=np.zeros(WIDTHS_SIZE),
        radii=np.full((2, 1 if bounds.grows(spec) else bounds.TABLE + bounds.BEYOND), np.nan),
        clock=np.zeros(CLOCK_SIZE, np.int64),
        table=np.zeros((1, 1), np.int64) if table is None else table,
        weights=np.zeros((2, arms)),
        orders=np.zeros((2, arms), np.int64),
        parent=np.zeros(scratch, np.int64),
        value=np.zeros(spec.n_nodes),
        evidence=evidence,
        levels=np.zeros((n, evidence.levels.size + 1) if inverted else (1, 1), np.int64),
        spread=np.zeros(n if spec.radius == EVIDENCE else 1),
        ends=np.full((2, n) if inverted else (2, 1), np.nan),
        codes=np.zeros((4, whole)) if codes is None else np.vstack((codes, np.zeros((2, whole)))),
        coded=np.zeros(whole, np.bool_),
        tilted=np.zeros((2 * TILTS, whole)),
        stamps=np.zeros((TILTS, whole + 1), np.int64),
        items=finite.new_items(n, spec.n_items if evidence.kind == FINITE else 0),
        root_costs=np.ones(n) if costs is None else np.sqrt(costs / costs.max()),
        ordered=np.zeros(4 * quantile.FIRST_ROOM * n if ordered else 1),
        places=np.zeros((2, n if ordered else 1), np.int64),
    )


def reset(state: State, spec: Spec, run: int) -> None:
    """Forget all observations; `run` numbers the policy's coins."""
    state.counts[:] = 0
    state.origins[:] = 0.0
    state.sums[:] = 0.0
    state.means[:] = 0.0
    state.high[:] = False
    state.keys[:] = -np.inf
    if spec.family in (CLUCB, UGAPE, CPE, EXCHANGE, SETS):
        state.other[:] = False
    if bounds.grows(spec):
        state.slopes[:] = 0.0
    if bounds.inverts(state, spec):
        state.levels[:] = 0
        state.spread[:] = 0.0
        state.ends[:] = np.nan
        if state.evidence.kind == FINITE:
            finite.reset(state)
        if state.evidence.kind == QUANTILE:
            state.places[:] = 0
    if spec.family in (CPE, EXCHANGE, SETS):
        state.widths[LEAD] = np.inf
    state.clock[:] = 0
    state.clock[RUN] = run
    state.clock[WITNESS_IN] = state.clock[WITNESS_OUT] = -1
    if spec.family == SETS:
        sets.forget(state)


@outlined
def _build(state: State, spec: Spec) -> None:
    """Set up the trees once every arm has been sampled."""
    if bounds.grows(spec):
        before = state.clock[ROUND]
        state.clock[ROUND] = max(1, state.counts[state.clock[MOST]])
        state.widths[WIDTH] = bounds.width(state, spec)
        state.clock[ROUND] = before
    if spec.family == PAIR:
        lucb.build(state, spec)
    elif spec.family == CLUCB:
        clucb.build(state, spec)
    elif spec.family == UGAPE:
        ugape.build(state, spec)
    elif spec.family == CPE:
        cpe.build(state, spec)
    elif spec.family == EXCHANGE:
        matroid.build(state, spec)
    elif spec.family == SETS:
        sets.build(state, spec)
    else:
        lil_ucb.build(state, spec)


def next_round(state: State) -> None:
    """LUCB's round number: its proof needs T_i <= r at every check, which its own rounds keep."""
    state.clock[ROUND] = max(state.clock[ROUND] + 1, state.counts[state.clock[MOST]])


def begin(state: State, spec: Spec, out: IntArray) -> int:
    """Count an ask and move the clocks; 1 with an arm sampled too little, 0 if there is none."""
    state.clock[ASKS] += 1
    # every policy starts by sampling each arm once; e-lucb goes on to keep all arms sampled
    floor = 1
    if spec.share > 0:
        floor = max(1, state.clock[TOTAL] // (spec.share * spec.n_arms))
    if floor > state.clock[FLOOR]:
        state.clock[FLOOR], state.clock[NEXT] = floor, 0
    while state.clock[NEXT] < spec.n_arms:
        if state.counts[state.clock[NEXT]] < floor:
            out[0] = state.clock[NEXT]
            return 1
        state.clock[NEXT] += 1
    if bounds.grows(spec):
        if spec.radius == LUCB_ROUNDS:
            next_round(state)
        state.widths[WIDTH] = bounds.width(state, spec)
    return 0


def ask(state: State, spec: Spec, out: IntArray) -> int:
    """Write the arms of the next round into `out`, return how many; 0 = stop."""
    if begin(state, spec, out) == 1:
        return 1
    if spec.family == PAIR:
        return lucb.ask(state, spec, out)
    if spec.family == CLUCB:
        return clucb.ask(state, spec, out)
    if spec.family == UGAPE:
        return ugape.ask(state, spec, out)
    if spec.family == CPE:
        return cpe.ask(state, spec, out)
    if spec.family == EXCHANGE:
        return matroid.ask(state, spec, out)
    if spec.family == SETS:
        return sets.ask(state, spec, out)
    return lil_ucb.ask(state, spec, out)


@outlined
def _count(state: State, spec: Spec, arm: int, reward: float) -> float:
    """Keep what evidence needs of a reward; returns the reward as the policy sees it.

    Bets need one of finitely many levels: a reward between two of them becomes one or the other at
    random, such that its mean is kept, by a coin that belongs to the arm's n-th observation. States
    that only plan have coins of their own: a plan must not know the coin of an observation to come.
    """
    e = state.evidence
    if e.kind == BERNSTEIN:
        n, s = float(state.counts[arm]), state.sums[arm]
        state.spread[arm] = evidence.spread(e, n, s, state.spread[arm], reward)
    elif e.kind == FINITE:
        finite.score(state, spec, arm, reward)
    elif e.kind == BETTING:
        above = np.searchsorted(e.levels, reward)
        if e.levels[above] != reward:
            stream = rng.ROUNDING if state.clock[PLANS] == 0 else rng.PLANNING
            coin = rng.uniform(spec.seed, state.clock[RUN], arm, state.counts[arm], stream)
            step = e.levels[above] - e.levels[above - 1]
            if coin * step >= reward - e.levels[above - 1]:
                above -= 1
            reward = e.levels[above]
        state.levels[arm, above] += 1
    return reward


def _record(state: State, spec: Spec, arm: int, reward: float) -> None:
    """One more observation in an arm's statistics."""
    if bounds.inverts(state, spec) and state.evidence.kind == QUANTILE:
        quantile.insert(state, arm, reward)
        return
    if bounds.inverts(state, spec):
        reward = _count(state, spec, arm, reward)
    if state.counts[arm] == 0 and abs(reward) > FAR * spec.sigma:
        state.origins[arm] = reward
    state.counts[arm] += 1
    state.sums[arm] += reward - state.origins[arm]
    state.means[arm] = state.origins[arm] + state.sums[arm] / state.counts[arm]


def tell(state: State, spec: Spec, arm: int, reward: float) -> None:
    """Record one observation."""
    _record(state, spec, arm, reward)
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
        lucb.tell(state, spec, arm)
    elif spec.family == CLUCB:
        clucb.tell(state, spec, arm)
    elif spec.family == UGAPE:
        ugape.tell(state, spec, arm)
    elif spec.family in (CPE, EXCHANGE):
        cpe.tell(state, spec, arm)
    elif spec.family != SETS:  # which looks at the statistics when it is asked
        lil_ucb.tell(state, spec, arm)


@outlined
def rebuild(state: State, spec: Spec) -> None:
    """Clocks and trees from the arms' statistics alone, whatever they were before."""
    state.high[:] = False
    state.keys[:] = -np.inf
    if spec.family in (CLUCB, UGAPE, CPE, EXCHANGE, SETS):
        state.other[:] = False
    state.clock[TOTAL] = state.clock[SEEN] = state.clock[MOST] = 0
    state.clock[FLOOR] = state.clock[NEXT] = 0
    for i in range(spec.n_arms):
        state.clock[TOTAL] += state.counts[i]
        if state.counts[i] > 0:
            state.clock[SEEN] += 1
        if state.counts[i] > state.counts[state.clock[MOST]]:
            state.clock[MOST] = i
    if state.clock[SEEN] == spec.n_arms:
        _build(state, spec)


@outlined
def recommend(state: State, spec: Spec, out: IntArray) -> int:
    """Write the arms of the current answer into `out`, lowest index first; returns how many."""
    if spec.family == LIL_UCB:
        out[0] = state.clock[MOST]
        return 1
    if state.clock[SEEN] == spec.n_arms:  # an answer that depends on time or on an oracle
        if spec.family == UGAPE:
            state.widths[WIDTH] = bounds.width(state, spec)
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


@outlined
def slack(state: State, spec: Spec) -> float:
    """The least epsilon at which the bounds certify the answer; once every arm has been sampled.

    Around a Python oracle `widths[LEAD]` must be up to date.
    """
    if spec.family == LIL_UCB or spec.glr:
        return np.inf
    if bounds.grows(spec):
        # LUCB's proof needs T_i <= r, also after observations that it did not ask for
        before = state.clock[ROUND]
        state.clock[ROUND] = max(1, before, state.counts[state.clock[MOST]])
        state.widths[WIDTH] = bounds.width(state, spec)
        state.clock[ROUND] = before
    if spec.family == PAIR:
        _, _, lower, upper = lucb.critical(state, spec)
        return bounds.gap(state, spec, lower, upper)
    if spec.family == CLUCB:
        bounds.advance(state, spec, REVISED_IN)
        bounds.advance(state, spec, REVISED_OUT)
        clucb.settle(state, spec)
        return clucb.lead(state, spec)
    if spec.family == UGAPE:
        return ugape.settle(state, spec)
    if spec.family == EXCHANGE:
        matroid.critical(state, spec)
    elif spec.family == SETS:
        sets.compare(state, spec)
    elif spec.structure != NO_ORACLE:
        cpe.compare(state, spec)
    return state.widths[LEAD]


@outlined
def is_certified(state: State, spec: Spec) -> bool:
    """Whether the answer is certified at spec.epsilon, checked on the spot; for e-lucb, e-clucb."""
    if spec.family == EXCHANGE:
        return matroid.is_certified(state, spec)
    if spec.family == SETS:
        return slack(state, spec) <= spec.epsilon
    return lucb.is_certified(state, spec)


def ask_means(state: State, spec: Spec, out: IntArray) -> int:
    """The part of `ask` before a Python oracle: 1 with an initial arm, or 0 with weights for M."""
    if begin(state, spec, out) == 1:
        return 1
    cpe.means(state, spec)
    return 0


def revise(state: State, spec: Spec) -> bool:
    """The part of `ask` between calls of a Python oracle: weights for Mt; True if M is wrong."""
    if spec.family == SETS:
        return sets.start(state, spec)
    return cpe.revise(state, spec)


def choose(state: State, spec: Spec, out: IntArray) -> int:
    """The part of `ask` after Mt: how many arms are in `out`, -1 if Mt is wrong.

    `sets.AGAIN` if the sets rule wants Mt once more, for other weights.
    """
    if spec.family == SETS:
        return sets.advance(state, spec, out)
    return cpe.choose(state, spec, out)


def lead(state: State, spec: Spec) -> None:
    """By how much Mt beats M under the revised means; the sets rule has kept the least."""
    if spec.family != SETS:
        cpe.lead(state, spec)
