"""Every arm's interval, at the levels its policy stops by, and what it says of the arm."""

from __future__ import annotations

import math

import numpy as np

from bestk.kernels import bounds, evidence
from bestk.kernels.types import HIGH, LOW, ROUND, SIGN, FloatArray, Spec, State


def intervals(state: State, spec: Spec) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds as the policy sees them (negated rewards to minimise)."""
    low, high = np.full(spec.n_arms, -math.inf), np.full(spec.n_arms, math.inf)
    width = _width(state, spec) if bounds.grows(spec) else 0.0
    for i in np.flatnonzero(state.counts):
        if bounds.inverts(state, spec):
            low[i], high[i] = (_inverted(state, spec, int(i), end) for end in (LOW, HIGH))
            continue
        t = int(state.counts[i])
        if bounds.grows(spec):
            down = up = width / math.sqrt(t)
        else:
            down, up = (bounds.radius(state, spec, end, t) for end in (LOW, HIGH))
        low[i], high[i] = state.means[i] - down, state.means[i] + up
    return low, high


def _width(state: State, spec: Spec) -> float:
    """As of LUCB's last round, which is never below the samples of an arm: its proof needs that."""
    before = state.clock[ROUND]
    state.clock[ROUND] = max(before, state.counts.max(), 1)
    try:
        return float(bounds.width(state, spec))
    finally:
        state.clock[ROUND] = before


def _inverted(state: State, spec: Spec, i: int, end: int) -> float:
    """A bound by evidence, from scratch: the kernel's own warm starts are left alone."""
    return float(
        evidence.bound(
            state.evidence,
            -SIGN[end],
            float(state.counts[i]),
            state.sums[i] + state.counts[i] * state.origins[i],
            state.spread[i],
            state.levels,
            i,
            -(spec.log_lower if end == LOW else spec.log_upper),
            math.nan,
        )
    )


def verdicts(low: FloatArray, high: FloatArray, k: int) -> list[str]:
    """What the intervals alone say: among the K best (in), not among them (out), or undecided.

    An arm is in if at least N-K arms have upper bounds at or below its lower bound, and out if at
    least K arms have lower bounds at or above its upper bound.
    """
    above, below = np.sort(low), np.sort(high)
    found = []
    for a, b in zip(low, high, strict=True):
        beaten = int(np.searchsorted(below, a, side="right"))  # arms with upper bound <= a
        beating = len(above) - int(np.searchsorted(above, b, side="left"))  # lower bound >= b
        if beaten >= len(low) - k:
            found.append("in")
        else:
            found.append("out" if beating >= k else "undecided")
    return found
