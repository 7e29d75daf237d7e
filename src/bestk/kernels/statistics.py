"""Many observations at once, by numpy: the statistics are those of `step.tell` to the bit.

A study is read back this way, in a time that does not depend on whether kernels are compiled. Every
bound and every tree follows from the statistics (`step.rebuild`), but for the running variance of
`BERNSTEIN`, which no policy uses.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels import bounds, finite_many, quantile, rng
from bestk.kernels.types import (
    BETTING,
    FAR,
    FINITE,
    LUCB_ROUNDS,
    PLANS,
    QUANTILE,
    ROOM,
    ROUND,
    RUN,
    START,
    TAKEN,
    TOTAL,
    FloatArray,
    IntArray,
    Spec,
    State,
)


def tell_many(state: State, spec: Spec, arms: IntArray, rewards: FloatArray) -> None:
    """Record observations, one after the other; -1 in place of an arm is LUCB's next round.

    `step.rebuild` must follow.
    """
    told = arms >= 0
    if spec.radius == LUCB_ROUNDS and not told.all():
        state.clock[ROUND] = _rounds(state, arms)
    arms, rewards = arms[told], rewards[told]
    if bounds.inverts(state, spec) and state.evidence.kind == QUANTILE:
        _merge(state, arms, rewards)
        return
    if bounds.inverts(state, spec):
        rewards = _count(state, spec, arms, rewards)
    new = np.flatnonzero(state.counts[arms] == 0)
    if new.size:
        first, where = np.unique(arms[new], return_index=True)
        start = rewards[new][where]
        state.origins[first] = np.where(np.abs(start) > FAR * spec.sigma, start, 0.0)
    np.add.at(state.sums, arms, rewards - state.origins[arms])  # in order, as the kernel adds
    np.add.at(state.counts, arms, 1)
    state.clock[TOTAL] += arms.size
    state.means[arms] = state.origins[arms] + state.sums[arms] / state.counts[arms]


def _merge(state: State, arms: IntArray, rewards: FloatArray) -> None:
    """Put observations among those of their arms, as `quantile.insert` would; makes room."""
    order = np.lexsort((rewards, arms))
    arms, rewards = arms[order], rewards[order]
    first, where, many = np.unique(arms, return_index=True, return_counts=True)
    make_room(state, int(np.maximum(quantile.FIRST_ROOM, 2 * (state.counts[first] + many)).sum()))
    for arm, begin, new in zip(first.tolist(), where.tolist(), many.tolist(), strict=True):
        old, start = int(state.counts[arm]), int(state.places[START, arm])
        count, before = old + new, state.ordered[start : start + old]
        both = np.sort(np.concatenate((before, rewards[begin : begin + new])))
        if count > state.places[ROOM, arm]:
            start, room = int(state.clock[TAKEN]), max(quantile.FIRST_ROOM, 2 * count)
            state.places[:, arm] = start, room
            state.clock[TAKEN] += room
        state.ordered[start : start + count] = both
        state.counts[arm] = count
        state.means[arm] = quantile.sample_quantile(state.ordered, start, count, state.evidence.q)
    state.clock[TOTAL] += arms.size


def make_room(state: State, more: int) -> None:
    """Room for so many more observations; the array stays the same object, at another address."""
    taken = int(state.clock[TAKEN])
    if taken + more > state.ordered.size:
        state.ordered.resize(max(taken + more, 2 * state.ordered.size), refcheck=False)


def _occurrences(arms: IntArray) -> IntArray:
    """How often each entry occurred before its place."""
    order = np.argsort(arms, kind="stable")
    ranked = arms[order]
    found = np.empty(arms.size, np.int64)
    found[order] = np.arange(arms.size) - np.searchsorted(ranked, ranked)
    return found


def _count(state: State, spec: Spec, arms: IntArray, rewards: FloatArray) -> FloatArray:
    """Count the levels of rewards; returns the rewards as the policy sees them: `step._count`."""
    if state.evidence.kind == FINITE:
        number = state.counts[arms] + _occurrences(arms)
        finite_many.score_many(state, spec, arms, number, rewards)
    if state.evidence.kind != BETTING:
        return rewards
    levels = state.evidence.levels
    above = np.searchsorted(levels, rewards)
    between = np.flatnonzero(levels[above] != rewards)
    if between.size:
        stream = rng.ROUNDING if state.clock[PLANS] == 0 else rng.PLANNING
        number = (state.counts[arms] + _occurrences(arms))[between]
        coins = rng.uniform(spec.seed, int(state.clock[RUN]), arms[between], number, stream)
        upper, lower = levels[above[between]], levels[above[between] - 1]
        above[between] -= coins * (upper - lower) >= rewards[between] - lower
    np.add.at(state.levels, (arms, above), 1)
    seen: FloatArray = levels[above]
    return seen


def _rounds(state: State, arms: IntArray) -> int:
    """LUCB's round number after all these: r = max(r + 1, most samples of an arm) each time."""
    told = arms >= 0
    own = np.zeros(arms.size, np.int64)  # samples of the arm that was sampled
    own[told] = state.counts[arms[told]] + _occurrences(arms[told]) + 1
    most = np.maximum(np.maximum.accumulate(own), state.counts.max())
    seen = np.count_nonzero(state.counts) + np.cumsum(own == 1)
    most = most[~told & (seen == len(state.counts))]
    before = int(state.clock[ROUND])
    if not most.size:
        return before
    return most.size + max(before, int((most - np.arange(1, most.size + 1)).max()))
