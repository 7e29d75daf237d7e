"""The hybrid stop (`hybrid.py`) where quantiles are compared, whose evidence is a step function.

For a candidate c let Y(c) be the least E+(c) over High, bets on observations above c, and X(c) the
least E- over Low of bets on observations up to c + epsilon (or c times a factor: `reach`). Both
change where an observation lies alone: Y falls there and X rises. Between two observations of High
Y is constant and X is least at the left one. So it is enough to look at the observations of High,
and at the lower bound from which on there is doubt: what is found is exact. The product is of
evidence by another mixture than the sides by themselves (docs/evidence.md, "Quantiles").

A rival a that is better than a leader b by more than the slack has a quantile *above* the reach of
c, b's own, so that observations at the reach itself are hits of the rival (docs/e-lucb.md, Theorem
9): ties cost nothing there. With the smaller union of Theorem 7, c is the quantile of a rival: only
observations strictly below it are hits.
"""

from __future__ import annotations

from math import inf

from bestk.kernels import hybrid, quantile
from bestk.kernels.types import (
    HIGH,
    LOW,
    START,
    WITNESS_AT,
    WITNESS_IN,
    WITNESS_OUT,
    Spec,
    State,
    outlined,
)


def _is_exact(spec: Spec) -> bool:
    """Whether the smaller union of Theorem 7 is in use."""
    return spec.epsilon == 0.0 and spec.log_exact > spec.log_both


def _is_past(spec: Spec, far: float, upper: float) -> bool:
    """Whether a rival with that upper bound has enough evidence by itself at this reach."""
    return far > upper or (far == upper and not _is_exact(spec))


def _point(state: State, spec: Spec, i: int, j: int, c: float) -> float:
    """The log of the left side for leader i and rival j at c; positive: enough."""
    to = quantile.hits_to(state, j, quantile.reach(state.evidence, spec, c), _is_exact(spec))
    above = quantile.hits_above(state, i, c)
    x, y = quantile.log_alone(state, j, HIGH, to), quantile.log_alone(state, i, LOW, above)
    both = quantile.log_paired(state, j, HIGH, to) + quantile.log_paired(state, i, LOW, above)
    return hybrid.added(spec, x, y, both)


def _is_refuted(state: State, spec: Spec, lower: float, upper: float) -> bool:
    """Whether the pair that failed last fails still, at a c that is in doubt."""
    i, j, c = state.clock[WITNESS_IN], state.clock[WITNESS_OUT], state.widths[WITNESS_AT]
    if i < 0 or not state.high[i] or state.high[j]:
        return False
    if c < lower or _is_past(spec, quantile.reach(state.evidence, spec, c), upper):
        return False
    return _point(state, spec, i, j, c) < 0.0


def _next(state: State, i: int, c: float) -> float:
    """The least observation of arm i above c, infinite if there is none."""
    n, start = state.counts[i], state.places[START, i]
    k = quantile.count_to(state.ordered, start, n, c)
    return state.ordered[start + k] if k < n else inf


@outlined
def _pair_fails(state: State, spec: Spec, h: int, l: int, lower: float, upper: float) -> bool:  # noqa: E741
    """Whether the pair with the worst bounds lacks evidence at a c in doubt."""
    c = lower
    while c < inf and not _is_past(spec, quantile.reach(state.evidence, spec, c), upper):
        if _point(state, spec, h, l, c) < 0.0:
            hybrid.refute(state, h, l, c)
            return True
        c = _next(state, h, c)
    return False


@outlined
def _all_hold(state: State, spec: Spec, lower: float, upper: float) -> bool:
    """Whether there is enough evidence at every c in doubt, for all arms at once.

    Arms with enough evidence by themselves count too: little of it may be by the other mixture.
    """
    e, c = state.evidence, lower
    while c < inf:
        far = quantile.reach(e, spec, c)
        if _is_past(spec, far, upper):
            return True
        y, y_paired, i, following = inf, inf, -1, inf
        for a in range(spec.n_arms):
            if not state.high[a]:
                continue
            following = min(following, _next(state, a, c))
            above = quantile.hits_above(state, a, c)
            y = min(y, quantile.log_alone(state, a, LOW, above))
            paired = quantile.log_paired(state, a, LOW, above)
            if paired < y_paired:
                y_paired, i = paired, a
        x, x_paired, j = inf, inf, -1
        for b in range(spec.n_arms):
            if not state.high[b]:
                to = quantile.hits_to(state, b, far, _is_exact(spec))
                x = min(x, quantile.log_alone(state, b, HIGH, to))
                paired = quantile.log_paired(state, b, HIGH, to)
                if paired < x_paired:
                    x_paired, j = paired, b
        if i >= 0 and j >= 0 and hybrid.added(spec, x, y, x_paired + y_paired) < 0.0:
            return hybrid.refute(state, i, j, c)
        c = following
    return True


@outlined
def holds(state: State, spec: Spec, h: int, l: int, lower: float, upper: float) -> bool:  # noqa: E741
    """Whether all pairs of High and Low are certified; h and l have the given, worst bounds."""
    if _is_refuted(state, spec, lower, upper):
        return False
    if _pair_fails(state, spec, h, l, lower, upper):
        return False
    return _all_hold(state, spec, lower, upper)
