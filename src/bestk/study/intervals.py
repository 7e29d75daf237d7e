"""Every arm's interval, at the levels its policy stops by, and what it says of the arm."""

from __future__ import annotations

import math

import numpy as np

from bestk.compiled.live import Machine
from bestk.kernels import bounds
from bestk.kernels.types import ROUND, WIDTH, FloatArray


def intervals(machine: Machine) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds as the policy sees them (negated rewards to minimise).

    LUCB's are those of its last round, which is never below the samples of an arm: its proof needs
    that.
    """
    state, spec = machine.state, machine.spec
    low, high = np.full(spec.n_arms, -math.inf), np.full(spec.n_arms, math.inf)
    round_, width = state.clock[ROUND], state.widths[WIDTH]
    if bounds.grows(spec) and state.counts.any():
        state.clock[ROUND] = max(round_, state.counts.max(), 1)
        state.widths[WIDTH] = bounds.width(state, spec)
    machine.call("intervals", low, high)
    state.clock[ROUND], state.widths[WIDTH] = round_, width
    return low, high


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
