"""The sets rule of e-clucb: evidence of whole sets instead of bounds for single arms.

The answer M is certified when for every other feasible M' and all means mu with
mu(M') - mu(M) > epsilon the evidence of the arms in which they differ (D) is enough,

    sum over M\\M' of log E+(mu_i) + sum over M'\\M of log E-(mu_i) >= code(M | M'),

where exp(-code) adds up to at most nu over all M, for every M' (docs/e-clucb.md, Theorem 7).

How it is checked. Codes are sums over D. So for a fixed tilt lam > 0, by weak duality, it is enough
that no M' beats M by more than epsilon under revised means

    outside M (sup_x (lam x - log E-(x)) + code) / lam,
    inside M  (inf_x (lam x + log E+(x)) - code) / lam:

one call of the oracle. The best lead is convex in 1/lam; tilts lie on a geometric grid, and its
minimum on the grid lies between two neighbours: below it the difference found has less evidence
than code, above it more. Which it is depends on the statistics alone; where the last search ended
saves time and never changes a decision.

If no tilt passes, the least sampled arm of the difference found just above the minimum is sampled
(T sqrt(c) where an arm costs c: docs/e-lucb.md, "Costs").
(Just below it codes weigh more than the radii: a sample of those arms may help nothing.)

| a step          | here                                                |
|-----------------|-----------------------------------------------------|
| M               | `cpe.means`, then the oracle                        |
| codes, first tilt | `start`                                           |
| Mt              | the oracle                                          |
| stop, sample, or the next tilt | `advance`: 0, 1, or AGAIN            |
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

from bestk.kernels import cpe, evidence, set_codes
from bestk.kernels.evidence import MINUS, PLUS
from bestk.kernels.types import (
    BETTING,
    CHOSEN,
    CODE,
    EMPIRICAL,
    LEAD,
    NO_ORACLE,
    NORMAL,
    REVISED,
    TILT,
    TILT_ABOVE,
    TILT_BELOW,
    TILTS,
    Evidence,
    IntArray,
    Spec,
    State,
    outlined,
)

N0 = 6.0  # of the two-sided normal mixture N(0, sigma^2/n0)
PER_OCTAVE = 4  # tilts from one to twice itself
LOWEST, HIGHEST = -16, 80  # of the grid: from 1/(16 sigma) to 2^20/sigma, for up to 10^11 samples
ROUNDING = 1e-14  # of a mean
AGAIN = 2  # the oracle is wanted once more
SHARP = 1e-4  # of the point that is tilted to; what it errs by is on the safe side
MAX_STEPS = 40


# --- one arm at one tilt --------------------------------------------------------------------------


def _off(lam: float, r: float, slope: float) -> float:
    """Below 0 where the tangent point has to move away from the end, above 0 towards it."""
    if slope >= 0.0:
        return 60.0
    return log(lam * r) - log(-slope)


def _variance(e: Evidence, t: float, s: float, counts: IntArray, i: int) -> float:
    """Of the rewards of an arm, with one more at half the range: where to start a search."""
    last = e.levels.shape[0] - 1
    mean, width = s / t, e.levels[last] - e.levels[0]
    squares = 0.25 * width * width
    if e.kind == BETTING:
        for x in range(last + 1):
            squares += counts[i, x] * (e.levels[x] - mean) * (e.levels[x] - mean)
    else:
        squares += t * (mean - e.levels[0]) * (e.levels[last] - mean)
    return squares / (t + 1.0)


@outlined
def tilt(
    e: Evidence, sign: float, t: float, s: float, v: float, counts: IntArray, i: int, lam: float
) -> tuple[float, float]:
    """inf_x (lam x + log E+(x)) / lam, for MINUS sup_x (lam x - log E-(x)) / lam; and log E there.

    Evidence of rewards with a range is convex in q, the log of the distance r from the end of the
    range: a tangent at any q bounds it from below, and the extreme over x of a tangent is a
    formula. So the result is on the safe side wherever the search for the best tangent ends.
    """
    if e.kind == NORMAL:  # two-sided, in closed form
        part = 0.5 * log1p(t / N0)
        spread = 0.5 * lam * lam * e.sigma * e.sigma * (t + N0) / (t * t)
        return s / t - sign * (spread + part) / lam, spread - part
    last = e.levels.shape[0] - 1
    end = e.levels[0] if sign > 0.0 else e.levels[last]
    width = e.levels[last] - e.levels[0]
    top = sign * (s / t - end)
    if top <= 0.0:  # every reward is the end of the range: the same evidence everywhere
        value, _ = evidence.log_evidence(e, sign, t, s, v, counts, i, end)
        return end + sign * value / lam, value
    # lam r = -slope at the best tangent; the left side rises in r, the right side falls. Near the
    # mean evidence grows like t (distance from it)^2 / (2 variance)
    away = lam * _variance(e, t, s, counts, i) / t
    r = top * top / (top + away)
    near, far = -np.inf, log(width)  # logs of distances with off <= 0 and off > 0
    near_off, far_off = 0.0, 0.0  # 0: not looked at
    value, slope = 0.0, 0.0
    for _ in range(MAX_STEPS):
        value, slope = evidence.log_evidence(e, sign, t, s, v, counts, i, end + sign * r)
        off = _off(lam, r, slope)
        if abs(off) <= SHARP or (off <= 0.0 and r >= width):
            break
        q = log(r)
        if off > 0.0:
            far, far_off = q, off
            near_off *= 0.5  # Illinois: neither end may stay for ever
        else:
            near, near_off = q, off
            far_off *= 0.5
        if near == -np.inf:
            r = exp(q - min(off, 3.0) * 0.6 - SHARP)
        elif far_off == 0.0:
            r = min(exp(q - max(off, -3.0) * 0.6 + SHARP), width)
        elif far_off > 10.0:
            r = exp(0.5 * (far + near))
        else:
            r = exp(far - far_off * (far - near) / (far_off - near_off))
    best = -slope / lam
    if best > width:
        rest = -lam * width - value - slope * (log(width) - log(r))
    elif best > 0.0:
        rest = slope - value - slope * (log(best) - log(r))
    else:
        rest = -value
    return end - sign * rest / lam, value


def _tilt_arm(state: State, spec: Spec, i: int, row: int, lam: float) -> None:
    """The revised mean of arm i without its code, unless it is known."""
    stamp = 2 * state.counts[i] + (1 if state.high[i] else 0)
    if state.stamps[row, i] == stamp:
        return
    state.stamps[row, i] = stamp
    sign, t = PLUS if state.high[i] else MINUS, float(state.counts[i])
    origin = state.origins[i]
    s = state.sums[i] if state.evidence.kind == NORMAL else state.sums[i] + t * origin
    value, known = tilt(state.evidence, sign, t, s, state.spread[i], state.levels, i, lam)
    if state.evidence.kind == NORMAL:
        value += origin
    if sign < 0.0 and value > spec.ceiling:
        # no mean is above the ceiling, and no evidence below its least: where there is none at all
        if state.evidence.kind == NORMAL:
            least = -0.5 * log1p(t / N0)
        else:
            low = state.evidence.levels[0]
            least, _ = evidence.log_evidence(
                state.evidence, sign, t, s, state.spread[i], state.levels, i, low
            )
        if spec.ceiling - least / lam < value:
            value, known = spec.ceiling - least / lam, least
    state.tilted[row, i] = value - sign * ROUNDING * abs(value)
    state.tilted[TILTS + row, i] = known


def tilt_of(spec: Spec, place: int) -> float:
    """lam at a place of the grid."""
    return 2.0 ** (float(place) / PER_OCTAVE) / spec.sigma


@outlined
def _revise(state: State, spec: Spec) -> None:
    """The revised means at the present tilt: the weights of the oracle."""
    place = state.clock[TILT]
    row, lam = place & (TILTS - 1), tilt_of(spec, place)
    if state.stamps[row, spec.n_arms] != place:
        stamps = state.stamps[row]
        stamps[:] = -1
        state.stamps[row, spec.n_arms] = place
    for i in range(spec.n_arms):
        _tilt_arm(state, spec, i, row, lam)
        revised = state.tilted[row, i]
        code = state.codes[CODE, i] / lam
        state.weights[REVISED, i] = revised - code if state.high[i] else revised + code


# --- the search over tilts ------------------------------------------------------------------------


def start(state: State, spec: Spec) -> bool:
    """Once M is known: its codes, and the weights at the tilt where the last search ended.

    True if M weighs less than the set in `other`, which no exact oracle returns; see `cpe.revise`.
    """
    lead, size, known = 0.0, 0.0, False
    same = state.codes[CODE, 0] < np.inf
    for i in range(spec.n_arms):
        empirical = state.weights[EMPIRICAL, i]
        size += abs(empirical)
        known |= state.other[i]
        same &= state.high[i] == state.coded[i]
        if state.high[i] != state.other[i]:
            lead += empirical if state.high[i] else -empirical
    if not same or spec.structure == NO_ORACLE:
        for i in range(spec.n_arms):
            state.coded[i] = state.high[i]
        set_codes.encode(state, spec)
    state.clock[TILT_BELOW], state.clock[TILT_ABOVE] = LOWEST - 1, HIGHEST + 1
    state.clock[CHOSEN] = -1
    state.widths[LEAD] = np.inf
    _revise(state, spec)
    return known and lead < -cpe.ROUNDING * size


def weigh(state: State, spec: Spec, slack: float) -> int:
    """Once Mt is known: 0 to stop, 1 to sample the arm CHOSEN, AGAIN with weights at another tilt.

    Where no weight may exceed `ceiling` the oracle saw less than the revised means of some arms
    outside M. What was cut off is added for all of them, which is more than any set can have.
    """
    place = state.clock[TILT]
    row = place & (TILTS - 1)
    lead, size, over, excess, most, thinnest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    arm, wide = -1, -1
    for i in range(spec.n_arms):
        revised = min(state.weights[REVISED, i], spec.ceiling)
        size += abs(revised)
        cut = 0.0 if state.high[i] else state.weights[REVISED, i] - revised
        over += cut
        if cut > most:
            most, wide = cut, i
        if state.high[i] != state.other[i]:
            lead += revised if state.other[i] else -revised
            thin = state.counts[i] * state.root_costs[i]
            if arm < 0 or thin < thinnest:
                arm, thinnest = i, thin
        if state.high[i] != state.other[i] or cut > 0.0:
            excess += state.tilted[TILTS + row, i] - state.codes[CODE, i]
    if lead < -cpe.ROUNDING * size:
        return -1
    state.widths[LEAD] = min(state.widths[LEAD], lead + over)
    if lead + over <= slack:
        return 0
    if wide >= 0 and (arm < 0 or over > lead):
        arm = wide
    if arm < 0:  # Mt is M: no slack above 0 is needed
        return 1
    if excess > 0.0:
        state.clock[TILT_ABOVE], state.clock[CHOSEN] = place, arm
        place -= 1
    else:
        state.clock[TILT_BELOW] = place
        if state.clock[TILT_ABOVE] > HIGHEST:
            state.clock[CHOSEN] = arm  # until one above the minimum is found
        place += 1
    if max(state.clock[TILT_BELOW], LOWEST - 1) < place < state.clock[TILT_ABOVE]:
        state.clock[TILT] = place
        _revise(state, spec)
        return AGAIN
    return 1


def advance(state: State, spec: Spec, out: IntArray) -> int:
    """Once Mt is known: 0 to stop, 1 with the arm to sample, or AGAIN with weights at another tilt.

    -1 if Mt is worse than M under the revised means, which no exact oracle returns.
    """
    found = weigh(state, spec, spec.epsilon)
    if found == 1:
        out[0] = state.clock[CHOSEN]
    return found


# --- with a compiled oracle -----------------------------------------------------------------------


@outlined
def ask(state: State, spec: Spec, out: IntArray) -> int:
    """One step."""
    cpe.means(state, spec)
    cpe.solve(state, spec, EMPIRICAL, False)
    start(state, spec)
    found = AGAIN
    while found == AGAIN:
        cpe.solve(state, spec, REVISED, True)
        found = advance(state, spec, out)
    return found


@outlined
def compare(state: State, spec: Spec) -> None:
    """The least slack at which some tilt passes, in `widths[LEAD]`."""
    if spec.structure != NO_ORACLE:
        cpe.means(state, spec)
        cpe.solve(state, spec, EMPIRICAL, False)
        start(state, spec)
        found = AGAIN
        while found == AGAIN:
            cpe.solve(state, spec, REVISED, True)
            found = weigh(state, spec, -np.inf)


@outlined
def build(state: State, spec: Spec) -> None:
    """Forget what was known of the arms; M once from scratch."""
    forget(state)
    for i in range(spec.n_arms):
        state.orders[EMPIRICAL, i] = state.orders[REVISED, i] = i
    if spec.structure != NO_ORACLE:
        cpe.means(state, spec)
        cpe.solve(state, spec, EMPIRICAL, True)


def forget(state: State) -> None:
    """Nothing is known at any tilt, and the codes are of no set."""
    state.stamps[:] = -1
    state.coded[:] = False
    codes = state.codes[CODE]
    codes[:] = np.inf
