"""Confidence bounds, and as keys of the trees.

A LIL radius, and the radius of normal evidence, depend on T_i alone: tabulated when first used, and
the trees are plain. Other evidence is inverted for the sampled arm, and the trees are plain too;
of coins that were seldom sampled the inverse is tabulated by samples and hits.
The radii of LUCB, CLUCB and UGapE grow with time by a factor common to all arms,
u_i = c(t) / sqrt(T_i): the trees are kinetic.

A lower bound has level `level_lower` (it matters for arms of High), an upper bound `level_upper`.
`end` is LOW or HIGH; a slot (`types.py`) says how a bound becomes the key of a tree.
"""

from __future__ import annotations

from math import floor, isnan, log, sqrt

import numpy as np

from bestk.kernels import evidence, finite, kinetic, quantile, trees
from bestk.kernels.types import (
    ALL_SAMPLES,
    COINS,
    EVIDENCE,
    FINITE,
    HIGH,
    LOW,
    LUCB_ROUNDS,
    NORMAL,
    QUANTILE,
    ROUND,
    SIGN,
    TOTAL,
    WIDTH,
    FloatArray,
    Slot,
    Spec,
    State,
    outlined,
)

TABLE = 1 << 14  # radii kept once computed, for T up to this; arbitrary: a core's cache holds them
LEADING = 1 << 11  # beyond it so many for each octave of T, up to 2^62
BEYOND = 52 * LEADING
COINS_TABLE = 490  # fewer samples of a coin: t (t + 1) / 2 + hits fits into the same table
ROUNDING = 1e-14  # of a mean, which a radius must not undercut
AT_END = 1e-9  # of the range: a mean this close to an end of it lies there; arbitrary


def lil(t: float, w: float, sigma: float, eps: float) -> float:
    """U(t, w) of Lemma 2.1 with the "+2" of Section 5, which keeps the inner log positive."""
    inner = log(log((1.0 + eps) * t + 2.0) / w)
    return (1.0 + sqrt(eps)) * sqrt(2.0 * sigma * sigma * (1.0 + eps) / t * inner)


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


def grows(spec: Spec) -> bool:
    """Whether radii depend on time."""
    return spec.radius in (LUCB_ROUNDS, ALL_SAMPLES)


def inverts(state: State, spec: Spec) -> bool:
    """Whether a bound depends on more than T_i and the mean."""
    return spec.radius == EVIDENCE and state.evidence.kind != NORMAL


@outlined
def _normal_radius(state: State, log_level: float, t: int) -> float:
    """The distance of a bound of normal evidence from the mean of t samples."""
    e = state.evidence
    return -evidence.bound(
        e, evidence.PLUS, float(t), 0.0, 0.0, state.levels, 0, -log_level, np.nan
    )


def _computed_radius(state: State, spec: Spec, end: int, t: int) -> float:
    if spec.radius == EVIDENCE:
        return _normal_radius(state, spec.log_lower if end == LOW else spec.log_upper, t)
    w = spec.level_lower if end == LOW else spec.level_upper
    return spec.scale * lil(float(t), w, spec.sigma, spec.eps)


def radius(state: State, spec: Spec, end: int, t: int) -> float:
    """The distance of an end of the interval from the mean of an arm sampled t times.

    Beyond the table evidence counts t down to its leading bits: a radius that is at most 1 part in
    4,000 wider, and kept as well. The LIL, which is quickly computed, stays exact.
    """
    place = t - 1
    if t > TABLE:
        if spec.radius != EVIDENCE:
            return _computed_radius(state, spec, end, t)
        shift = 0
        while t >> shift >= 2 * LEADING:
            shift += 1
        place = TABLE + shift * LEADING + (t >> shift) - LEADING
        t = (t >> shift) << shift
    if isnan(state.radii[end, place]):
        state.radii[end, place] = _computed_radius(state, spec, end, t)
    return state.radii[end, place]


@outlined
def _computed(state: State, spec: Spec, i: int, end: int, warm: float) -> float:
    """A bound of arm i by evidence that depends on more than T_i; `warm`: one nearby, or nan."""
    if state.evidence.kind == FINITE:
        return finite.bound(state, spec, i, end)
    if state.evidence.kind == QUANTILE:
        return quantile.bound(state, spec, i, end)
    return evidence.bound(
        state.evidence,
        -SIGN[end],
        float(state.counts[i]),
        state.sums[i] + state.counts[i] * state.origins[i],
        state.spread[i],
        state.levels,
        i,
        -spec.log_lower if end == LOW else -spec.log_upper,
        warm,
    )


@outlined
def _inverted(state: State, spec: Spec, i: int, end: int) -> float:
    """The same, started from the last one and kept; coins by their table."""
    t, place = state.counts[i], -1
    if state.evidence.kind == COINS and t < COINS_TABLE:
        hits = state.sums[i] - t * state.evidence.levels[0]
        if hits == floor(hits):  # plans have stand-ins between 0 and 1
            place = t * (t + 1) // 2 + int(hits)
            if not isnan(state.radii[end, place]):
                state.ends[end, i] = state.radii[end, place]
                return state.ends[end, i]
    state.ends[end, i] = _computed(state, spec, i, end, state.ends[end, i])
    if place >= 0:
        state.radii[end, place] = state.ends[end, i]
    return state.ends[end, i]


def bound(state: State, spec: Spec, i: int, end: int) -> float:
    """An end of the interval of an arm, where it does not depend on time."""
    if inverts(state, spec):
        return _inverted(state, spec, i, end)
    u = radius(state, spec, end, state.counts[i])
    if spec.radius == EVIDENCE:
        u += ROUNDING * abs(state.means[i])
    return state.means[i] + SIGN[end] * u


def current(state: State, spec: Spec, i: int, end: int) -> float:
    """The same, without computing what `bound` computed after the last observation."""
    if inverts(state, spec):
        return state.ends[end, i]
    return bound(state, spec, i, end)


def half_width(state: State, spec: Spec, i: int, end: int) -> float:
    """The distance of that bound, which must be up to date, from the mean of arm i.

    A mean at that end of the range (a coin that never hit) has no distance to it, and yet the arm
    need not be known: it would hardly be sampled again. The other bound's stands for it then.
    """
    if not inverts(state, spec):
        return radius(state, spec, end, state.counts[i])
    if state.evidence.kind != QUANTILE:
        levels = state.evidence.levels
        least, most = levels[0], levels[levels.shape[0] - 1]
        left = state.means[i] - least if end == LOW else most - state.means[i]
        if left <= AT_END * (most - least):
            other = HIGH if end == LOW else LOW
            return SIGN[other] * (_computed(state, spec, i, other, np.nan) - state.means[i])
    return SIGN[end] * (state.ends[end, i] - state.means[i])


def gap(state: State, spec: Spec, lower: float, upper: float) -> float:
    """The least slack at which a lower bound reaches an upper one."""
    if inverts(state, spec) and state.evidence.kind == QUANTILE:
        return quantile.gap(state.evidence, lower, upper)
    return upper - lower


def set_key(state: State, spec: Spec, slot: Slot, i: int, end: int) -> None:
    """Write the leaf of arm i: an end of its interval."""
    if grows(spec):
        state.keys[slot.row, i] = slot.sign * state.means[i]
        state.slopes[slot.row, i] = slot.sign * SIGN[end] / sqrt(float(state.counts[i]))
    else:
        state.keys[slot.row, i] = slot.sign * bound(state, spec, i, end)


def replay(state: State, spec: Spec, slot: Slot, i: int) -> None:
    """Update the tree of radii-dependent keys above leaf i."""
    if grows(spec):
        kinetic.update(state, slot, i, state.widths[WIDTH])
    else:
        trees.update(state.nodes, state.keys, slot, i)


def place(state: State, spec: Spec, slot: Slot, i: int, end: int) -> None:
    """Put arm i into the tree, or move it there, by an end of its interval."""
    set_key(state, spec, slot, i, end)
    replay(state, spec, slot, i)


def remove(state: State, spec: Spec, slot: Slot, i: int) -> None:
    """Take arm i out of the tree."""
    state.keys[slot.row, i] = -np.inf
    if grows(spec):
        state.slopes[slot.row, i] = 0.0
    replay(state, spec, slot, i)


def build(state: State, spec: Spec, slot: Slot) -> None:
    """Play every match of a tree of radii-dependent keys."""
    if grows(spec):
        kinetic.build(state, slot, state.widths[WIDTH])
    else:
        trees.build(state.nodes, state.keys, slot)


def advance(state: State, spec: Spec, slot: Slot) -> None:
    """Bring a tree of radii-dependent keys up to the current time."""
    if grows(spec):
        kinetic.advance(state, slot, state.widths[WIDTH])


def index(state: State, spec: Spec, slot: Slot, i: int) -> float:
    """The value by which arm i stands in a tree of radii-dependent keys, as it is now."""
    if grows(spec):
        return slot.sign * kinetic.value(state.keys, state.slopes, slot, i, state.widths[WIDTH])
    return slot.sign * state.keys[slot.row, i]


@outlined
def intervals(state: State, spec: Spec, low: FloatArray, high: FloatArray) -> None:
    """Both ends of the interval of every arm that has been sampled, from its statistics alone.

    Where radii depend on time, as of `widths`. The warm starts of inverted bounds are left alone.
    """
    for i in range(spec.n_arms):
        t = state.counts[i]
        if t == 0:
            continue
        if inverts(state, spec):
            low[i] = _computed(state, spec, i, LOW, np.nan)
            high[i] = _computed(state, spec, i, HIGH, np.nan)
        elif grows(spec):
            u = state.widths[WIDTH] / sqrt(float(t))
            low[i], high[i] = state.means[i] - u, state.means[i] + u
        else:
            low[i] = state.means[i] - radius(state, spec, LOW, t)
            high[i] = state.means[i] + radius(state, spec, HIGH, t)
