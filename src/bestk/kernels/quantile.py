"""Evidence on a quantile: bets on how many observations lie above, or below, a candidate c.

Under "the q-quantile is at most c" an observation exceeds c with probability at most 1 - q. With
k of t observations above c, a bet of the fraction theta has the wealth

    (1 - theta + theta/(1-q))^k (1 - theta)^(t-k)          against "quantile <= c"  (end LOW)

and the mirrored one, with k observations below c and q for 1 - q, against "quantile >= c" (end
HIGH); evidence is a mixture over theta (docs/evidence.md, "Quantiles"). It depends on t and k
alone, so that a bound is an order statistic whose rank depends on t alone. Two mixtures over the
same theta are in use: one for bounds and where one side is enough by itself, and one where the
hybrid stop multiplies both sides (`quantile_stop.py`).

Every arm's observations lie in ascending order in its part of `State.ordered`. An arm whose part is
full moves to a new one of twice the size behind all others. Kernels cannot make room where there is
none: `has_room` is asked before an observation is told (`compiled/live.py`, `loop.py`).
A lost observation (a hole, the last column of `State.levels`) lies neither above c nor below.
"""

from __future__ import annotations

from math import floor, isnan, log, sqrt

import numpy as np

from bestk.kernels.evidence import add
from bestk.kernels.types import LOW, ROOM, START, TAKEN, Evidence, FloatArray, Spec, State, outlined

FIRST_ROOM = 16  # observations that an arm has room for at first; arbitrary
TABLE = 1 << 14  # numbers of hits kept once computed, for t up to this, like radii (`bounds.py`)


# --- observations in order ------------------------------------------------------------------------


def has_room(state: State, arm: int) -> bool:
    """Whether one more observation of an arm can be told."""
    room = state.places[ROOM, arm]
    if state.counts[arm] < room:
        return True
    return state.clock[TAKEN] + max(FIRST_ROOM, 2 * room) <= state.ordered.shape[0]


def count_below(values: FloatArray, start: int, n: int, c: float) -> int:
    """How many of n ascending values, from `start` on, are below c."""
    low, high = start, start + n
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < c:
            low = middle + 1
        else:
            high = middle
    return low - start


def count_to(values: FloatArray, start: int, n: int, c: float) -> int:
    """How many of n ascending values, from `start` on, are at most c."""
    low, high = start, start + n
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= c:
            low = middle + 1
        else:
            high = middle
    return low - start


@outlined
def insert(state: State, arm: int, reward: float) -> None:
    """One more observation of an arm, in its place among the others; `has_room` must be true."""
    values, n = state.ordered, state.counts[arm]
    start, room = state.places[START, arm], state.places[ROOM, arm]
    if n == room:  # move
        room = max(FIRST_ROOM, 2 * room)
        new = state.clock[TAKEN]
        values[new : new + n] = values[start : start + n]
        start = new
        state.places[START, arm], state.places[ROOM, arm] = start, room
        state.clock[TAKEN] += room
    at = start + count_to(values, start, n, reward)
    end = start + n
    values[at + 1 : end + 1] = values[at:end]
    values[at] = reward
    state.counts[arm] += 1
    state.means[arm] = sample_quantile(values, start, n + 1, state.evidence.q)


def sample_quantile(values: FloatArray | list[float], start: int, n: int, q: float) -> float:
    """The q-quantile of n > 0 ascending values, linear between neighbours like numpy.quantile's.

    Hyndman and Fan (1996), definition 7: the value at 1 + (n-1) q, counted from 1.
    """
    at = (n - 1) * q
    below = min(floor(at), n - 1)
    x = values[start + below]
    y = values[start + min(below + 1, n - 1)]
    part = at - below
    if x == y or part <= 0.0:
        return x
    return min(max(x * (1.0 - part) + y * part, x), y)


# --- evidence -------------------------------------------------------------------------------------


def log_evidence(e: Evidence, log_weights: FloatArray, end: int, t: float, k: float) -> float:
    """log of a mixture of bets, k of t observations being hits."""
    top, total = -np.inf, 0.0
    for g in range(e.points.shape[0]):
        term = log_weights[g] + k * e.log_lifts[end, g] + (t - k) * e.log_rest[g]
        top, total, _ = add(top, total, 0.0, term, 0.0)
    return top + log(total)


@outlined
def hits_needed(e: Evidence, end: int, t: int, target: float) -> int:
    """The least number of hits among t observations whose evidence reaches target > 0.

    t + 1 if there is none. Evidence rises in k, by far more than rounding from one k to the next.
    """
    p = 1.0 - e.q if end == LOW else e.q
    low, high = floor(t * p), t + 1  # never enough: a fair bet has not grown; always, by convention
    k = min(int(t * p + sqrt(2.0 * t * p * (1.0 - p) * target)) + 1, t)
    step = 1
    while low + 1 < high:
        if not low < k < high:
            k = (low + high) >> 1
        if log_evidence(e, e.log_weights, end, float(t), float(k)) >= target:
            high = k
            k -= step
        else:
            low = k
            k += step
        step *= 2
    return high


def held(state: State, i: int) -> int:
    """The observations of an arm that evidence is about, lost ones included."""
    return state.counts[i] + state.levels[i, state.levels.shape[1] - 1]


def hits_above(state: State, i: int, c: float) -> float:
    """The hits of arm i against "quantile <= c", which lie above c."""
    n = state.counts[i]
    return float(n - count_to(state.ordered, state.places[START, i], n, c))


def hits_to(state: State, i: int, c: float, strictly: bool) -> float:
    """The hits of arm i against "quantile > c", which are at most c.

    Strictly, against "quantile >= c": they are below c.
    """
    start, n = state.places[START, i], state.counts[i]
    if strictly:
        return float(count_below(state.ordered, start, n, c))
    return float(count_to(state.ordered, start, n, c))


def log_alone(state: State, i: int, end: int, k: float) -> float:
    """log of the evidence of k hits of arm i, where one side has to be enough by itself."""
    e = state.evidence
    return log_evidence(e, e.log_weights, end, float(held(state, i)), k)


def log_paired(state: State, i: int, end: int, k: float) -> float:
    """The same where it is multiplied by that of the other side."""
    e = state.evidence
    return log_evidence(e, e.log_paired, end, float(held(state, i)), k)


# --- bounds ---------------------------------------------------------------------------------------


def _hits(state: State, spec: Spec, end: int, t: int) -> int:
    """The same as `hits_needed` at the level of a bound, kept once computed."""
    target = -spec.log_lower if end == LOW else -spec.log_upper
    if t > TABLE:
        return hits_needed(state.evidence, end, t, target)
    if isnan(state.radii[end, t - 1]):
        state.radii[end, t - 1] = float(hits_needed(state.evidence, end, t, target))
    return int(state.radii[end, t - 1])


@outlined
def bound(state: State, spec: Spec, i: int, end: int) -> float:
    """An end of the interval of arm i, at its level: an order statistic, or infinite.

    "quantile <= c" is refuted for every c below the lower bound, "quantile >= c" for every c above
    the upper one.
    """
    n, start = state.counts[i], state.places[START, i]
    k = _hits(state, spec, end, held(state, i))
    if k > n:
        return -np.inf if end == LOW else np.inf
    return state.ordered[start + (n - k if end == LOW else k - 1)]


# --- slack ----------------------------------------------------------------------------------------


def reach(e: Evidence, spec: Spec, c: float) -> float:
    """What an arm at c may be short of, within the slack: c + epsilon, or better by that factor.

    A factor is for rewards above 0, which a policy that minimises is told with their signs turned.
    """
    if not e.relative:
        return c + spec.epsilon
    return c * (1.0 + spec.epsilon) if c > 0.0 else c / (1.0 + spec.epsilon)


def gap(e: Evidence, lower: float, upper: float) -> float:
    """The least slack at which a lower bound reaches an upper one."""
    if not e.relative:
        return upper - lower
    if lower > 0.0:
        return upper / lower - 1.0
    return lower / upper - 1.0 if upper < 0.0 else np.inf
