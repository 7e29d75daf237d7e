"""Confidence radii, and the indices m + u, m - u as keys of the trees.

A LIL radius depends on T_i alone: tabulated, and the trees are plain. The radii of LUCB, CLUCB and
UGapE grow with time by a factor common to all arms, u_i = c(t) / sqrt(T_i): the trees are kinetic.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from bestk.kernels import kinetic, trees
from bestk.kernels.jit import kernel
from bestk.kernels.types import LIL, LUCB_ROUNDS, ROUND, TOTAL, Spec, State

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
def radius(state: State, spec: Spec, side: int, t: int) -> float:
    """The LIL radius of an arm sampled t times; side 0 is High, 1 is Low."""
    if t <= state.radii.shape[1]:
        return state.radii[side, t - 1]
    w = spec.level_high if side == 0 else spec.level_low
    return spec.scale * lil(float(t), w, spec.sigma, spec.eps)


@kernel
def tabulate(state: State, spec: Spec) -> None:
    """Fill the table of LIL radii with the very numbers that `radius` computes beyond it."""
    for i in range(state.radii.shape[1]):
        t = float(i + 1)
        state.radii[0, i] = spec.scale * lil(t, spec.level_high, spec.sigma, spec.eps)
        state.radii[1, i] = spec.scale * lil(t, spec.level_low, spec.sigma, spec.eps)


@kernel
def set_key(
    state: State, spec: Spec, slot: int, i: int, base: float, sign: float, side: int
) -> None:
    """Write the leaf of arm i: base + sign * u_i."""
    if spec.radius == LIL:
        state.keys[slot, i] = base + sign * radius(state, spec, side, state.counts[i])
    else:
        state.keys[slot, i] = base
        state.slopes[slot, i] = sign / sqrt(float(state.counts[i]))


@kernel
def replay(state: State, spec: Spec, slot: int, i: int, last: bool) -> None:
    """Update the tree of radii-dependent keys above leaf i."""
    if spec.radius == LIL:
        trees.update(state.nodes, state.keys, slot, i, last)
    else:
        kinetic.update(state, slot, i, state.widths[0], last)


@kernel
def place(
    state: State, spec: Spec, slot: int, i: int, base: float, sign: float, side: int, last: bool
) -> None:
    """Put arm i into the tree, or move it there, with index base + sign * u_i."""
    set_key(state, spec, slot, i, base, sign, side)
    replay(state, spec, slot, i, last)


@kernel
def remove(state: State, spec: Spec, slot: int, i: int, last: bool) -> None:
    """Take arm i out of the tree."""
    state.keys[slot, i] = -np.inf
    if spec.radius != LIL:
        state.slopes[slot, i] = 0.0
    replay(state, spec, slot, i, last)


@kernel
def build(state: State, spec: Spec, slot: int, last: bool) -> None:
    """Play every match of a tree of radii-dependent keys."""
    if spec.radius == LIL:
        trees.build(state.nodes, state.keys, slot, last)
    else:
        kinetic.build(state, slot, state.widths[0], last)


@kernel
def advance(state: State, spec: Spec, slot: int, last: bool) -> None:
    """Bring a tree of radii-dependent keys up to the current time."""
    if spec.radius != LIL:
        kinetic.advance(state, slot, state.widths[0], last)


@kernel
def index(state: State, spec: Spec, slot: int, i: int) -> float:
    """The current index of arm i in a tree of radii-dependent keys."""
    if spec.radius == LIL:
        return state.keys[slot, i]
    return kinetic.value(state.keys, state.slopes, slot, i, state.widths[0])
