"""Every arm's interval, at the levels its policy stops by."""

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


def in_units(low: FloatArray, high: FloatArray, sign: float) -> FloatArray:
    """Both ends in the user's own units, low first; NaN where an interval has no end."""
    ends = np.stack([low, high] if sign > 0 else [-high, -low])
    return np.where(np.isfinite(ends), ends, math.nan)
