"""The hybrid stop pair by pair, with one mixture for both arms of a pair: few arms, normal rewards.

Besides X, Y and their product, which pays for two mixtures, a pair of a leader b and a rival a has

    J(c) = mixture over l > 0 of exp(l (S_b - T_b c) - r l (S_a - T_a (c + epsilon))
                                     - l^2 sigma^2 (T_b + r^2 T_a) / 2)

for one or two fixed ratios r, times sqrt(c_a/c_b) where samples cost c_a and c_b: the normal
evidence of one arm with T_b + r^2 T_a samples. It is a supermartingale at the true means, falls in
mu_b and rises in mu_a (docs/e-lucb.md, Theorem 8). The answer is certified
when for every pair and every c

    nu w1/K E_a + nu w2/(N-K) E_b + nu w3/(K (N-K)) E_a E_b + nu w4/(K (N-K)) J_ab >= 1

The log of the left side is convex in c, a log of sums of exponentials of convex functions. So two
tangents bound it from below between their points, and where they meet is the next point to look at.
"""

from __future__ import annotations

from math import log, sqrt

from bestk.kernels import evidence, special
from bestk.kernels.evidence import MINUS, PLUS
from bestk.kernels.types import LOWER, UPPER, Spec, State, outlined

SAFETY = 1e-6  # beyond 1, so that rounding in log E never claims more than the evidence
TANGENTS = 60  # looks at a pair, at most; 3 to 10 are usual
EDGE = 1.0 / 64.0  # of the interval between two tangents' points: no look is nearer to its ends
FEW, MANY = 8.0, 200.0  # n0 of the two Rayleigh densities that are mixed, and log weights
LOG_FEW, LOG_MANY = log(0.8), log(0.2)
LOG_2 = log(2.0)


def _density(n0: float, sigma: float, t: float, excess: float) -> tuple[float, float]:
    """log of the mixture under one density, and its slope per unit of excess."""
    scale = sigma * sqrt(2.0 * (t + n0))
    value, slope = special.rayleigh(-excess / scale)
    return value + log(n0 / (t + n0)), -slope / scale


def log_joint(sigma: float, t: float, excess: float) -> tuple[float, float]:
    """log J and its slope per unit of excess, the sum of both arms' leads."""
    few, few_slope = _density(FEW, sigma, t, excess)
    many, many_slope = _density(MANY, sigma, t, excess)
    top, total, slope = few + LOG_FEW, 1.0, few_slope
    top, total, slope = evidence.add(top, total, slope, many + LOG_MANY, many_slope)
    return top + log(total), slope / total


def _tilted(
    state: State, i: int, j: int, own: float, other: float, r: float
) -> tuple[float, float]:
    """log J for one ratio and its slope in c; both candidates are counted from the arm's origin."""
    t_i, t_j = float(state.counts[i]), float(state.counts[j])
    r *= state.root_costs[j] / state.root_costs[i]  # like the best shares of the samples
    lead = state.sums[i] - t_i * own - r * (state.sums[j] - t_j * other)
    value, slope = log_joint(state.evidence.sigma, t_i + r * r * t_j, lead)
    return value, slope * (r * t_j - t_i)


@outlined
def at(state: State, spec: Spec, i: int, j: int, c: float) -> tuple[float, float]:
    """The log of the left side for leader i and rival j at c, and its slope; positive: enough."""
    e, epsilon = state.evidence, spec.epsilon
    t_i, t_j = float(state.counts[i]), float(state.counts[j])
    own, other = c - state.origins[i], c + epsilon - state.origins[j]
    y, fall = evidence.normal(e, PLUS, t_i, state.sums[i], own)
    x, rise = evidence.normal(e, MINUS, t_j, state.sums[j], other)
    rise = -rise
    joint, turn = _tilted(state, i, j, own, other, spec.ratio)
    top, total, slope = x + spec.log_upper, 1.0, rise
    top, total, slope = evidence.add(top, total, slope, y + spec.log_lower, fall)
    top, total, slope = evidence.add(top, total, slope, x + y + spec.log_both, rise + fall)
    if spec.ratio == 1.0:
        top, total, slope = evidence.add(top, total, slope, joint + spec.log_pair, turn)
    else:  # half of the weight for equal samples, as two close arms have them
        half = spec.log_pair - LOG_2
        top, total, slope = evidence.add(top, total, slope, joint + half, turn)
        joint, turn = _tilted(state, i, j, own, other, 1.0)
        top, total, slope = evidence.add(top, total, slope, joint + half, turn)
    return top + log(total) - SAFETY, slope / total


@outlined
def failure(state: State, spec: Spec, i: int, j: int) -> tuple[bool, float]:
    """Whether a pair lacks evidence, and a c at which it does or may."""
    a, b = -state.keys[LOWER.row, i], state.keys[UPPER.row, j] - spec.epsilon
    if b <= a:  # its bounds separate
        return False, a
    value_a, slope_a = at(state, spec, i, j, a)
    if value_a < 0.0 or slope_a >= 0.0:
        return value_a < 0.0, a
    value_b, slope_b = at(state, spec, i, j, b)
    if value_b < 0.0 or slope_b <= 0.0:
        return value_b < 0.0, b
    for _ in range(TANGENTS):
        c = a + (value_b - value_a - slope_b * (b - a)) / (slope_a - slope_b)
        if value_a + slope_a * (c - a) >= 0.0:
            return False, c
        margin = EDGE * (b - a)
        c = min(max(c, a + margin), b - margin)
        value, slope = at(state, spec, i, j, c)
        if value < 0.0:
            return True, c
        if slope < 0.0:
            a, value_a, slope_a = c, value, slope
        else:
            b, value_b, slope_b = c, value, slope
    return True, a
