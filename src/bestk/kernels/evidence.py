"""Evidence against "mean <= c" and "mean >= c", and the confidence bounds it gives.

log E+(c) is nonincreasing in c, log E-(c) nondecreasing; docs/evidence.md has the formulas and why
each is valid at all times at once. Statistics are in the user's own units: t samples, their sum s,
for `BERNSTEIN` the running variance v (`spread`), for `BETTING` the counts of the levels (row i).
A candidate c outside the range of bounded rewards counts as the nearer end.

Every log E is convex, in c (`NORMAL`, `BERNSTEIN`) or in the logarithm of the distance of c from
the end of the range (`BETA`, `BETTING`, `COINS`). So a Newton step on log E(c) = log(1/alpha) never
overshoots: it lands where there is at least that much evidence.
"""

from __future__ import annotations

from math import exp, floor, frexp, isinf, ldexp, log, log1p, sqrt

import numpy as np

from bestk.kernels import special
from bestk.kernels.types import (
    BERNSTEIN,
    BETA,
    BETTING,
    COINS,
    NORMAL,
    Evidence,
    FloatArray,
    IntArray,
    outlined,
)

HALF_NORMAL, RAYLEIGH = 0.0, 1.0  # shapes of NORMAL's mixture, in Evidence.log_rest
PLUS, MINUS = 1.0, -1.0  # against "mean <= c", against "mean >= c"

TOLERANCE = 1e-10  # of log E at a bound; grows only where rounding makes it unreachable
MAX_STEPS = 100  # of the inverse; 3 to 6 are usual
GRID_BITS = 24  # of the distance of a bound from the end of the range, where it is put on a grid
NEAR = 1.0 / 16.0  # of a step of that grid: far more than two searches for one bound differ


# --- log-sum-exp, one term at a time --------------------------------------------------------------


def add(
    top: float, total: float, slope: float, term: float, term_slope: float
) -> tuple[float, float, float]:
    """One more term of sum(exp): the largest exponent, the sum in its units, and its derivative."""
    if term > top:
        shrink = exp(top - term)
        return term, total * shrink + 1.0, slope * shrink + term_slope
    grow = 1.0 if term == top else exp(term - top)
    return top, total + grow, slope + grow * term_slope


# --- NORMAL ---------------------------------------------------------------------------------------


def normal(e: Evidence, sign: float, t: float, s: float, c: float) -> tuple[float, float]:
    """One-sided mixture over n0 and two shapes; slope per unit of c away from the mean."""
    if isinf(c):
        return (np.inf if sign * c < 0.0 else -np.inf), 0.0
    top, total, slope = -np.inf, 0.0, 0.0
    for g in range(e.points.shape[0]):
        n0 = e.points[g]
        scale = e.sigma * sqrt(2.0 * (t + n0))
        y = sign * (t * c - s) / scale  # -z / sqrt 2
        if e.log_rest[g] == RAYLEIGH:
            value, y_slope = special.rayleigh(y)
            value += log(n0 / (t + n0))
        else:
            value, y_slope = special.half_normal(y)
            value += 0.5 * log(n0 / (t + n0))
        term = e.log_weights[g] + value
        top, total, slope = add(top, total, slope, term, y_slope * t / scale)
    return top + log(total), slope / total


# --- BETA -----------------------------------------------------------------------------------------


def beta(e: Evidence, sign: float, t: float, s: float, c: float) -> tuple[float, float]:
    """Beta(1/2, 1/2) mixture, flat beyond the mean; slope per unit of log distance from the end."""
    low, width = e.levels[0], e.levels[1] - e.levels[0]
    s = min(max((s - t * low) / width, 0.0), t)
    c = min(max((c - low) / width, 0.0), 1.0)
    least = special.beta_least(t, s)
    f = t - s
    # t (c - m), from the smaller end so that no digits are lost near it
    d = t * c - s if c <= 0.5 else f - t * (1.0 - c)
    if sign * d >= 0.0:
        return least, 0.0
    if c <= 0.0 or c >= 1.0:
        return np.inf, 0.0
    value = special.divergence_part(s, d, s / t, c) + special.divergence_part(f, -d, f / t, 1.0 - c)
    return least + value, (d / (1.0 - c) if sign > 0.0 else -d / c)


# --- BETTING --------------------------------------------------------------------------------------


def betting(
    e: Evidence, sign: float, t: float, counts: IntArray, i: int, c: float
) -> tuple[float, float]:
    """Mixture of fixed bets over fractions; slope per unit of log distance from the end.

    The wealth of fraction theta is the product of 1 + theta lift over the samples, where
    lift = (x-low)/(c-low) - 1 = (x-c)/(c-low), mirrored for E-. A hole, an observation that is lost
    and counts as the worst that it can have been, is the lowest level to E+, the highest to E-.
    """
    # numbers are made Python's: interpreted, numpy's take three times as long
    n_levels = e.levels.shape[0]
    last = 0 if sign > 0.0 else n_levels - 1
    row = counts[i]
    at_end = float(row[last]) + float(row[n_levels])  # and the holes
    c = float(min(max(c, e.levels[0]), e.levels[n_levels - 1]))
    gap = sign * (c - float(e.levels[last]))
    if gap <= 0.0 and row[last] < t:
        return np.inf, 0.0
    start, stop = n_levels, 0  # all that was seen but the last level
    for x in range(n_levels):
        if x != last and row[x] > 0:
            start, stop = min(start, x), x + 1
    top, total, slope = -np.inf, 0.0, 0.0
    for g in range(e.points.shape[0]):
        theta = float(e.points[g])
        unlifted = at_end * float(e.log_rest[g])
        term, term_slope = float(e.log_weights[g]), 0.0
        if last == 0:
            term += unlifted
        for x in range(start, stop):
            n = float(row[x])
            if n == 0.0:
                continue
            rise = sign * (float(e.levels[x]) - c)
            lift = rise / gap
            if lift < 1e300:
                term += n * log1p(theta * lift)
                term_slope -= n * (theta * (lift + 1.0) / (1.0 + theta * lift))
            else:
                term += n * (log(theta) + log(rise) - log(gap))
                term_slope -= n
        if last > 0:
            term += unlifted
        top, total, slope = add(top, total, slope, term, term_slope)
    return top + log(total), slope / total


# --- COINS ----------------------------------------------------------------------------------------


def coins(e: Evidence, sign: float, t: float, s: float, c: float) -> tuple[float, float]:
    """`betting` on two levels, for which the sum of the rewards says how often each occurred."""
    low, high = e.levels[0], e.levels[1]
    c = min(max(c, low), high)
    hits = min(max((s - t * low) / (high - low), 0.0), t)
    gap, rise = c - low, high - c
    if sign < 0.0:
        hits, gap, rise = t - hits, rise, gap
    lift = 0.0
    if hits > 0.0:
        if gap <= 0.0:
            return np.inf, 0.0
        lift = rise / gap
    top, total, slope = -np.inf, 0.0, 0.0
    for g in range(e.points.shape[0]):
        term = e.log_weights[g] + (t - hits) * e.log_rest[g]
        if lift < 1e300:
            grown = e.points[g] * lift
            term += hits * log1p(grown)
            term_slope = -hits * ((e.points[g] + grown) / (1.0 + grown))
        else:
            term += hits * (log(e.points[g]) + log(rise) - log(gap))
            term_slope = -hits
        top, total, slope = add(top, total, slope, term, term_slope)
    return top + log(total), slope / total


# --- BERNSTEIN ------------------------------------------------------------------------------------


def bernstein(
    e: Evidence, sign: float, t: float, s: float, v: float, c: float
) -> tuple[float, float]:
    """Empirical-Bernstein mixture over b; slope per unit of distance from the end of the range."""
    low, high = e.levels[0], e.levels[e.levels.shape[0] - 1]
    width = high - low
    lead = sign * (s - t * min(max(c, low), high)) / width
    variance = v / (width * width)
    top, total, slope = -np.inf, 0.0, 0.0
    for g in range(e.points.shape[0]):
        b = e.points[g]
        term = e.log_weights[g] + b * lead + (e.log_rest[g] + b) * variance
        top, total, slope = add(top, total, slope, term, -b * t / width)
    return top + log(total), slope / total


def spread(e: Evidence, t: float, s: float, v: float, x: float) -> float:
    """v after one more reward x: its squared distance from the mean of the t earlier ones.

    Before the first reward that mean is the middle of the range. The order of rewards matters.
    """
    if t > 0.0:
        p = s / t
    else:
        p = 0.5 * (e.levels[0] + e.levels[e.levels.shape[0] - 1])
    return v + (x - p) * (x - p)


# --- any family -----------------------------------------------------------------------------------


@outlined
def log_evidence(
    e: Evidence, sign: float, t: float, s: float, v: float, counts: IntArray, i: int, c: float
) -> tuple[float, float]:
    """log E of one side at c, and its slope in the coordinate in which it is convex (<= 0)."""
    if t <= 0.0:
        return 0.0, 0.0
    if e.kind == NORMAL:
        return normal(e, sign, t, s, c)
    if e.kind == BETA:
        return beta(e, sign, t, s, c)
    if e.kind == BETTING:
        return betting(e, sign, t, counts, i, c)
    if e.kind == COINS:
        return coins(e, sign, t, s, c)
    return bernstein(e, sign, t, s, v, c)


def first_guess(e: Evidence, t: float, v: float, top: float, target: float) -> float:
    """Where to start the inverse: a distance at which there is probably enough evidence."""
    if e.kind == NORMAL:
        # enough for sure: the first n0 without a factor that is at least 1 (2 Phi(z); of the other
        # shape more than 1 + z)
        n0 = e.points[0]
        power = 1.0 if e.log_rest[0] == RAYLEIGH else 0.5
        wanted = target - e.log_weights[0] + power * log((t + n0) / n0)
        return -e.sigma * sqrt(2.0 * (t + n0) * wanted) / t
    width = e.levels[e.levels.shape[0] - 1] - e.levels[0]
    if e.kind == BERNSTEIN:
        wanted = target + 2.0
        return max(top - (sqrt(2.0 * v * wanted) + width * wanted) / t, 0.0)
    # relative entropy near the mean plus its linear growth far from it
    wanted = target + 0.5 * log(t) + 1.0
    hits = t * top / width
    return top * exp(-min(sqrt(2.0 * wanted / hits) + wanted / hits, 600.0))


@outlined
def bound(
    e: Evidence,
    sign: float,
    t: float,
    s: float,
    v: float,
    counts: IntArray,
    i: int,
    target: float,
    warm: float,
) -> float:
    """The extreme c whose evidence reaches target = log(1/alpha) > 0: the bound of that side.

    `warm` is a bound to start from, or nan. Only a c at which log E was computed and found to reach
    the target is ever returned, so that rounding errs on the safe side; if there is none, the end
    of the range, or minus infinity (plus for `MINUS`).
    """
    # q: distance of c from the end of the range (NORMAL: from the mean, negative); log E falls in q
    logarithmic = e.kind in (BETA, BETTING, COINS)
    if e.kind == NORMAL:
        best = -sign * np.inf
    else:
        best = e.levels[0] if sign > 0.0 else e.levels[e.levels.shape[0] - 1]
    if t <= 0.0:
        return best
    if e.kind == NORMAL:
        base, bottom, top = s / t, -np.inf, 0.0
    else:
        base, bottom, top = best, 0.0, sign * (s / t - best)
        if top <= 0.0:
            return best
    q = sign * (warm - base)
    if not bottom < q < top:
        q = first_guess(e, t, v, top, target)
    margin = TOLERANCE
    newton = False  # whether q comes from a Newton step, which misses by rounding only
    looked = False  # BERNSTEIN: whether the end of the range is known to be refuted
    for _ in range(MAX_STEPS):
        c = base + sign * q
        value, slope = log_evidence(e, sign, t, s, v, counts, i, c)
        enough = value >= target
        if enough:
            best, bottom = c, q
            if value <= target + 2.0 * margin:
                break
        else:
            if e.kind == BERNSTEIN and q <= 0.0:
                break  # not even the end of the range is refuted
            top = q
            if newton:
                margin *= 4.0
        looked = looked or enough
        newton = False
        if slope < 0.0 and not isinf(value):
            step = (target + margin - value) / slope
            new = q * exp(min(max(step, -600.0), 600.0)) if logarithmic else q + step
            if enough and new <= q:
                break  # the rest of the way is below rounding
            newton = bottom < new < top
            if newton:
                q = new
                continue
        if e.kind == BERNSTEIN and not looked:
            q = 0.0
            continue
        if logarithmic:
            q = sqrt(bottom) * sqrt(top) if bottom > 0.0 else top * 1e-3
        elif isinf(bottom):
            q = 2.0 * top - e.sigma - 1e-16 * abs(base)
        else:
            q = 0.5 * (bottom + top)
        if not bottom < q < top:
            break
    if logarithmic:
        return on_grid(e, sign, t, s, counts, i, target, best)
    return best


def on_grid(
    e: Evidence, sign: float, t: float, s: float, counts: IntArray, i: int, target: float, c: float
) -> float:
    """A bound, moved outwards to the last point of a grid that has enough evidence.

    A search ends a little short of the target, where depends on where it began. The grid point
    depends on the statistics alone, so that a study read back from its log is the same to the bit.
    Coins and bets are put on a grid; the radius of `NORMAL` depends on t alone.
    """
    base = e.levels[0] if sign > 0.0 else e.levels[e.levels.shape[0] - 1]
    q = sign * (c - base)
    if q <= 0.0:
        return c
    step = ldexp(1.0, frexp(q)[1] - GRID_BITS)
    nearest = floor(q / step + 0.5) * step
    if abs(q - nearest) <= NEAR * step:  # too close to call without looking
        q = nearest
        if log_evidence(e, sign, t, s, 0.0, counts, i, base + sign * nearest)[0] < target:
            q = nearest * (1.0 - 0.5**40)
            step = ldexp(1.0, frexp(q)[1] - GRID_BITS)
    return base + sign * floor(q / step) * step


@outlined
def sequence(
    e: Evidence,
    data: FloatArray,
    index: IntArray,
    counts: IntArray,
    target: float,
    carry: FloatArray,
    mean: FloatArray,
    low: FloatArray,
    high: FloatArray,
    first: int,
    last: int,
) -> None:
    """Mean and both bounds after each of the rewards first, ..., last - 1.

    `index` names the level of each (`BETTING`); `counts` and `carry`, the sum and the running
    variance, are left as the next call wants them.
    """
    s, v = carry[0], carry[1]
    for k in range(first, last):
        x = data[k]
        if e.kind == BERNSTEIN:
            v = spread(e, float(k), s, v, x)
        if e.kind == BETTING:
            counts[0, index[k]] += 1
        s += x
        t = float(k + 1)
        mean[k] = s / t
        low[k] = bound(e, PLUS, t, s, v, counts, 0, target, low[k - 1] if k > 0 else np.nan)
        high[k] = bound(e, MINUS, t, s, v, counts, 0, target, high[k - 1] if k > 0 else np.nan)
    carry[0], carry[1] = s, v
