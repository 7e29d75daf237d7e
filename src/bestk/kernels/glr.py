"""The generalised likelihood ratio stop of Garivier and Kaufmann (2016), Section 3.2: unproved.

Of an arm a of High and an arm b of Low, with the mean of both arms' samples taken together,

    Z_ab(t) = T_a d(m_a, m_ab) + T_b d(m_b, m_ab),      m_ab = (T_a m_a + T_b m_b) / (T_a + T_b),

is the log of the likelihood of the samples over the largest that they have where mu_a <= mu_b. The
policy stops when Z_ab(t) > beta(t) for all pairs, with

    beta(t) = log(1/nu)    or    beta(t) = log((1 + log t)/nu), as in their experiments.

For neither the error is at most nu on all instances (docs/limits.md). d is the divergence of two
normal distributions, (x - y)^2 / (2 sigma^2), or of two coins; rewards with a range count as coins
of the same means.

The pair (h, l) of `lucb.py`, which has the worst bounds, is looked at first, and then the pair that
failed last. All K (N-K) pairs are looked at only if both pass, up to the first that fails.
"""

from __future__ import annotations

from math import log

from bestk.kernels.types import NORMAL, TOTAL, WITNESS_IN, WITNESS_OUT, Spec, State, outlined


def threshold(state: State, spec: Spec) -> float:
    """beta(t)."""
    return spec.iterated * log(1.0 + log(float(state.clock[TOTAL]))) - spec.log_both


def divergence(x: float, y: float) -> float:
    """d(x, y) of coins; where rounding makes y an end of [0, 1] that x is not, too little."""
    d = 0.0
    if x > 0.0 and y > 0.0:
        d += x * log(x / y)
    if x < 1.0 and y < 1.0:
        d += (1.0 - x) * log((1.0 - x) / (1.0 - y))
    return d


@outlined
def ratio(state: State, a: int, b: int) -> float:
    """Z_ab(t), where m_a >= m_b."""
    e, t_a, t_b = state.evidence, float(state.counts[a]), float(state.counts[b])
    if e.kind == NORMAL:
        lead = (state.means[a] - state.means[b]) / e.sigma
        return lead * lead * t_a * t_b / (2.0 * (t_a + t_b))
    low, high = e.levels[0], e.levels[e.levels.shape[0] - 1]
    m_a = min(max((state.means[a] - low) / (high - low), 0.0), 1.0)
    m_b = min(max((state.means[b] - low) / (high - low), 0.0), 1.0)
    m_ab = (t_a * m_a + t_b * m_b) / (t_a + t_b)
    return t_a * divergence(m_a, m_ab) + t_b * divergence(m_b, m_ab)


@outlined
def holds(state: State, spec: Spec, h: int, l: int) -> bool:  # noqa: E741
    """Whether Z_ab(t) > beta(t) for all a in High and b in Low."""
    beta = threshold(state, spec)
    if ratio(state, h, l) <= beta:
        return False
    a, b = state.clock[WITNESS_IN], state.clock[WITNESS_OUT]
    if a >= 0 and state.high[a] and not state.high[b] and ratio(state, a, b) <= beta:
        return False
    for a in range(spec.n_arms):
        if state.high[a]:
            for b in range(spec.n_arms):
                if not state.high[b] and ratio(state, a, b) <= beta:
                    state.clock[WITNESS_IN], state.clock[WITNESS_OUT] = a, b
                    return False
    return True
