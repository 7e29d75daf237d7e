"""Confidence bounds, and as keys of the trees.

A LIL radius, and the radius of normal evidence, depend on T_i alone: tabulated when first used, and
the trees are plain. Other evidence is inverted for the sampled arm, and the trees are plain too.
The radii of LUCB, CLUCB and UGapE grow with time by a factor common to all arms,
u_i = c(t) / sqrt(T_i): the trees are kinetic.

A lower bound has level `level_high` (it matters for arms of High), an upper bound `level_low`.
"""

from __future__ import annotations

from math import isnan, log, sqrt

import numpy as np

from bestk.kernels import evidence, kinetic, trees
from bestk.kernels.jit import entry, kernel
from bestk.kernels.types import (
    ALL_SAMPLES,
    EVIDENCE,
    LUCB_ROUNDS,
    NORMAL,
    ROUND,
    TOTAL,
    WIDTH,
    Spec,
    State,
)

TABLE = 1 << 14  # radii kept once computed, for T up to this; arbitrary: a core's cache holds them
LEADING = 1 << 11  # beyond it so many for each octave of T, up to 2^62
BEYOND = 52 * LEADING
ROUNDING = 1e-14  # of a mean, which a radius must not undercut
LOW, HIGH = -1.0, 1.0  # the lower and the upper end of an interval

# Trees in which a tie goes to the highest index hold the *lowest* of a set ordered by
# (value descending, index ascending); all others the highest, where it goes to the lowest index.


@kernel
def lil(t: float, w: float, sigma: float, eps: float) -> float:
    """U(t, w) of Lemma 2.1 with the "+2" of Section 5, which keeps the inner log positive."""
    inner = log(log((1.0 + eps) * t + 2.0) / w)
    return (1.0 + sqrt(eps)) * sqrt(2.0 * sigma * sigma * (1.0 + eps) / t * inner)


@kernel
def width(state: State, spec: Spec) -> float:
    """c(t) of the radii that depend on time, u_i = c(t) / sqrt(T_i)."""
    if spec.radius == LUCB_ROUNDS:
        # Kalyanakrishnan et al. (2012): beta(u, t) = sqrt(log(5 n t^4 / (4 delta)) / (2 u)), which
        # is this at sigma = 1/2; t is LUCB's round number.
        r = float(state.clock[ROUND])
        return spec.sigma * sqrt(2.0 * (log(1.25 * spec.n_arms / spec.nu) + 4.0 * log(r)))
    # Chen et al. (2014), Algorithm 1, and Gabillon et al. (2012): t counts all samples.
    t = float(state.clock[TOTAL])
    return spec.sigma * sqrt(2.0 * (log(4.0 * spec.n_arms / spec.nu) + 3.0 * log(t)))


@kernel
def grows(spec: Spec) -> bool:
    """Whether radii depend on time."""
    return spec.radius in (LUCB_ROUNDS, ALL_SAMPLES)


@entry
def _normal_radius(state: State, log_level: float, t: int) -> float:
    """The distance of a bound of normal evidence from the mean of t samples."""
    e = state.evidence
    return -evidence.bound(
        e, evidence.PLUS, float(t), 0.0, 0.0, state.levels, 0, -log_level, np.nan
    )


@kernel
def _computed_radius(state: State, spec: Spec, side: int, t: int) -> float:
    if spec.radius == EVIDENCE:
        return _normal_radius(state, spec.log_high if side == 0 else spec.log_low, t)
    w = spec.level_high if side == 0 else spec.level_low
    return spec.scale * lil(float(t), w, spec.sigma, spec.eps)


@kernel
def radius(state: State, spec: Spec, side: int, t: int) -> float:
    """The radius of an arm sampled t times, from its lower (side 0) or upper (1) bound.

    Beyond the table evidence counts t down to its leading bits: a radius that is at most 1 part in
    4,000 wider, and kept as well. The LIL, which is quickly computed, stays exact.
    """
    place = t - 1
    if t > TABLE:
        if spec.radius != EVIDENCE:
            return _computed_radius(state, spec, side, t)
        shift = 0
        while t >> shift >= 2 * LEADING:
            shift += 1
        place = TABLE + shift * LEADING + (t >> shift) - LEADING
        t = (t >> shift) << shift
    if isnan(state.radii[side, place]):
        state.radii[side, place] = _computed_radius(state, spec, side, t)
    return state.radii[side, place]


@entry
def _inverted(state: State, spec: Spec, i: int, end: float) -> float:
    """A bound of arm i by evidence that depends on more than T_i, started from the last one."""
    side = 0 if end < 0.0 else 1
    state.ends[side, i] = evidence.bound(
        state.evidence,
        -end,
        float(state.counts[i]),
        state.sums[i] + state.counts[i] * state.origins[i],
        state.spread[i],
        state.levels,
        i,
        -spec.log_high if side == 0 else -spec.log_low,
        state.ends[side, i],
    )
    return state.ends[side, i]


@kernel
def bound(state: State, spec: Spec, i: int, end: float) -> float:
    """The lower (end = LOW) or upper (HIGH) bound of an arm, where it does not depend on time."""
    if spec.radius == EVIDENCE and state.evidence.family != NORMAL:
        return _inverted(state, spec, i, end)
    side = 0 if end < 0.0 else 1
    u = radius(state, spec, side, state.counts[i])
    if spec.radius == EVIDENCE:
        u += ROUNDING * abs(state.means[i])
    return state.means[i] + end * u


@kernel
def current(state: State, spec: Spec, i: int, end: float) -> float:
    """The same, without computing what `bound` computed after the last observation."""
    if spec.radius == EVIDENCE and state.evidence.family != NORMAL:
        return state.ends[0 if end < 0.0 else 1, i]
    return bound(state, spec, i, end)


@kernel
def half_width(state: State, spec: Spec, i: int, end: float) -> float:
    """The distance of that bound, which must be up to date, from the mean of arm i."""
    side = 0 if end < 0.0 else 1
    if spec.radius == EVIDENCE and state.evidence.family != NORMAL:
        return end * (state.ends[side, i] - state.means[i])
    return radius(state, spec, side, state.counts[i])


@kernel
def set_key(state: State, spec: Spec, slot: int, i: int, flip: float, end: float) -> None:
    """Write the leaf of arm i: its lower or upper bound, negated for flip = -1."""
    if grows(spec):
        state.keys[slot, i] = flip * state.means[i]
        state.slopes[slot, i] = flip * end / sqrt(float(state.counts[i]))
    else:
        state.keys[slot, i] = flip * bound(state, spec, i, end)


@kernel
def replay(state: State, spec: Spec, slot: int, i: int, last: bool) -> None:
    """Update the tree of radii-dependent keys above leaf i."""
    if grows(spec):
        kinetic.update(state, slot, i, state.widths[WIDTH], last)
    else:
        trees.update(state.nodes, state.keys, slot, i, last)


@kernel
def place(state: State, spec: Spec, slot: int, i: int, flip: float, end: float, last: bool) -> None:
    """Put arm i into the tree, or move it there, by its lower or upper bound."""
    set_key(state, spec, slot, i, flip, end)
    replay(state, spec, slot, i, last)


@kernel
def remove(state: State, spec: Spec, slot: int, i: int, last: bool) -> None:
    """Take arm i out of the tree."""
    state.keys[slot, i] = -np.inf
    if grows(spec):
        state.slopes[slot, i] = 0.0
    replay(state, spec, slot, i, last)


@kernel
def build(state: State, spec: Spec, slot: int, last: bool) -> None:
    """Play every match of a tree of radii-dependent keys."""
    if grows(spec):
        kinetic.build(state, slot, state.widths[WIDTH], last)
    else:
        trees.build(state.nodes, state.keys, slot, last)


@kernel
def advance(state: State, spec: Spec, slot: int, last: bool) -> None:
    """Bring a tree of radii-dependent keys up to the current time."""
    if grows(spec):
        kinetic.advance(state, slot, state.widths[WIDTH], last)


@kernel
def index(state: State, spec: Spec, slot: int, i: int) -> float:
    """The current index of arm i in a tree of radii-dependent keys."""
    if grows(spec):
        return kinetic.value(state.keys, state.slopes, slot, i, state.widths[WIDTH])
    return state.keys[slot, i]
