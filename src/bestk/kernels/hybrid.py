"""The hybrid stop of e-lucb: the evidence of both sides together, before their bounds separate.

For a candidate c let Y(c) be the least E+(c) over High and X(c) the least E-(c + epsilon) over Low.
The answer is certified when for every c

    nu w1/K X(c) + nu w2/(N-K) Y(c) + nu w3/(K (N-K)) X(c) Y(c) >= 1

Without a slack the product counts for more than w3/(K (N-K)) says (`log_exact`; Theorem 7 there).
Few normal arms are certified pair by pair, which `pairs.py` does.

Proof (docs/e-lucb.md, Theorem 1, is longer). L- and L+ are the supermartingales that dominate
E- and E+. Let A be the mean of L_a^- over the true K best arms, B that of L_b^+ over the rest, and
Z = w1 A + w2 B + w3 A B. A sample changes one arm, hence A or B alone: Z is a nonnegative
supermartingale from 1, and by Ville's inequality it ever reaches 1/nu with probability at most nu.
If the answer holds an arm b with mu_b < mu_(K) - epsilon, it lacks an arm a of the K best. At
c = mu_b: Y(c) <= E_b^+(c) <= L_b^+ <= (N-K) B, and as c + epsilon < mu_a,
X(c) <= E_a^-(c + epsilon) <= L_a^- <= K A. So where the condition holds, Z >= 1/nu.

How it is checked. X rises and Y falls in c, so inside a cell [a, b] the left side is at
least its value at X(a), Y(b): a march over cells is rigorous. Only c between the lowest lower bound
of High and the highest upper bound of Low minus epsilon are in doubt, and only arms whose own
bounds reach into that interval.
For a single pair of arms the left side is convex in c, since every log E is.
"""

from __future__ import annotations

from math import exp, inf, log

from bestk.kernels import evidence, finite, pairs
from bestk.kernels.evidence import MINUS, PLUS
from bestk.kernels.types import (
    ASKS,
    FINITE,
    LOWER,
    NORMAL,
    UPPER,
    WITNESS_AT,
    WITNESS_IN,
    WITNESS_OUT,
    Spec,
    State,
    outlined,
)

SAFETY = 1e-6  # beyond 1, so that rounding in log E never claims more than the evidence
SELDOM = 512  # asks up to which every one is checked, later one in asks/SELDOM; arbitrary
NARROWEST = 1.0 / 4096.0  # of the interval in doubt: a narrower cell that fails is a failure
SECTIONS = 24  # of a golden section search
GOLDEN = 0.6180339887498949


def is_due(state: State, spec: Spec) -> bool:
    """Whether this ask checks the hybrid stop: waiting wastes one ask in a thousand on average."""
    return spec.hybrid and state.clock[ASKS] % (1 + state.clock[ASKS] // SELDOM) == 0


def _log_e(state: State, sign: float, i: int, c: float) -> float:
    """log E+(c) (sign = PLUS) or log E-(c) (MINUS) of arm i."""
    t, s, v = float(state.counts[i]), state.sums[i], state.spread[i]
    if state.evidence.kind == NORMAL:  # which does not care where zero is: digits stay
        c -= state.origins[i]
    return evidence.log_evidence(state.evidence, sign, t, s, v, state.levels, i, c)[0]


def combined(spec: Spec, x: float, y: float) -> float:
    """The log of the left side, for log X = x and log Y = y; positive: enough."""
    return added(spec, x, y, x + y)


def added(spec: Spec, x: float, y: float, both: float) -> float:
    """The same, the log of X Y being `both`."""
    a, b = x + spec.log_upper, y + spec.log_lower
    top = max(a, b)
    if top > 1.0:  # enough by itself; also where evidence is infinite
        return top
    both += spec.log_exact if spec.epsilon == 0.0 else spec.log_both
    top = max(top, both)
    return top + log(exp(a - top) + exp(b - top) + exp(both - top)) - SAFETY


def _point(state: State, spec: Spec, i: int, j: int, c: float) -> float:
    if spec.pairs:
        return pairs.at(state, spec, i, j, c)[0]
    return combined(spec, _log_e(state, MINUS, j, c + spec.epsilon), _log_e(state, PLUS, i, c))


def refute(state: State, i: int, j: int, c: float) -> bool:
    """Remember who failed where, to be asked first the next time."""
    state.clock[WITNESS_IN], state.clock[WITNESS_OUT] = i, j
    state.widths[WITNESS_AT] = c
    return False


def is_refuted(state: State, spec: Spec, low: float, high: float) -> bool:
    """Whether the pair that failed last fails still, at a c that is in doubt: in [low, high]."""
    i, j, c = state.clock[WITNESS_IN], state.clock[WITNESS_OUT], state.widths[WITNESS_AT]
    if i < 0 or not state.high[i] or state.high[j] or not low <= c <= high:
        return False
    return _point(state, spec, i, j, c) < 0.0


def dip(state: State, spec: Spec, i: int, j: int, low: float, high: float) -> tuple[float, float]:
    """Where in [low, high] the pair has least evidence, and how much, or the first failure met."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = _point(state, spec, i, j, a), _point(state, spec, i, j, b)
    for _ in range(SECTIONS):
        if at_a < 0.0:
            return a, at_a
        if at_b < 0.0:
            return b, at_b
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = _point(state, spec, i, j, a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = _point(state, spec, i, j, b)
    return (a, at_a) if at_a < at_b else (b, at_b)


def _least_plus(state: State, spec: Spec, only: int, c: float, high: float) -> tuple[float, int]:
    """log Y(c), and whose it is, over the arms of High whose bound lies below `high`."""
    if only >= 0:
        return _log_e(state, PLUS, only, c), only
    least, arm = inf, -1
    for i in range(spec.n_arms):
        if state.high[i] and -state.keys[LOWER.row, i] < high:
            y = _log_e(state, PLUS, i, c)
            if y < least:
                least, arm = y, i
    return least, arm


def _least_minus(state: State, spec: Spec, only: int, c: float, low: float) -> tuple[float, int]:
    """log X(c), and whose it is, over the arms of Low whose bound lies above `low`."""
    if only >= 0:
        return _log_e(state, MINUS, only, c + spec.epsilon), only
    least, arm = inf, -1
    for j in range(spec.n_arms):
        if not state.high[j] and state.keys[UPPER.row, j] - spec.epsilon > low:
            x = _log_e(state, MINUS, j, c + spec.epsilon)
            if x < least:
                least, arm = x, j
    return least, arm


@outlined
def _march(state: State, spec: Spec, h: int, l: int, low: float, high: float) -> bool:  # noqa: E741
    """Whether every c in [low, high] has enough evidence, cell by cell from the left.

    For all arms whose bounds reach into the interval, or (h, l >= 0) for one pair.
    """
    a, width = low, (high - low) / 8.0
    x, j = _least_minus(state, spec, l, a, low)
    while a < high:
        b = min(a + width, high)
        if b <= a:  # narrower than doubles can tell
            return False
        y, i = _least_plus(state, spec, h, b, high)
        if combined(spec, x, y) >= 0.0:
            a = b
            width *= 1.5
            x, j = _least_minus(state, spec, l, a, low)
            continue
        y, i = _least_plus(state, spec, h, a, high)
        if combined(spec, x, y) < 0.0:
            return refute(state, i, j, a)
        width *= 0.5
        if width < NARROWEST * (high - low):
            return False
    return True


@outlined
def _every_pair(state: State, spec: Spec, h: int, l: int) -> bool:  # noqa: E741
    """Whether each pair has evidence of its own; (h, l), which has the worst bounds, first."""
    fails, c = pairs.failure(state, spec, h, l)
    if fails:
        return refute(state, h, l, c)
    for i in range(spec.n_arms):
        if state.high[i]:
            for j in range(spec.n_arms):
                if not state.high[j]:
                    fails, c = pairs.failure(state, spec, i, j)
                    if fails:
                        return refute(state, i, j, c)
    return True


@outlined
def holds(state: State, spec: Spec, h: int, l: int, lower: float, upper: float) -> bool:  # noqa: E741
    """Whether all pairs of High and Low are certified; h and l have the given, worst bounds."""
    if state.evidence.kind == FINITE:
        return finite.holds(state, spec, h, l)
    low, high = lower, upper - spec.epsilon
    if is_refuted(state, spec, low, high):
        return False
    if spec.pairs:
        return _every_pair(state, spec, h, l)
    c, value = dip(state, spec, h, l, low, high)
    if value < 0.0:
        return refute(state, h, l, c)
    x, j = _least_minus(state, spec, -1, c, low)
    y, i = _least_plus(state, spec, -1, c, high)
    if combined(spec, x, y) < 0.0:
        return refute(state, i, j, c)
    return _march(state, spec, -1, -1, low, high)


@outlined
def pair_holds(
    state: State,
    spec: Spec,
    h: int,
    l: int,  # noqa: E741
    lower: float,
    upper: float,
) -> bool:
    """Whether one pair is certified, by its bounds or by both arms' evidence together."""
    low, high = lower, upper - spec.epsilon
    if high <= low:
        return True
    c, value = dip(state, spec, h, l, low, high)
    if value < 0.0:
        return refute(state, h, l, c)
    return _march(state, spec, h, l, low, high)
