"""Thresholds of the likelihood-ratio stop (Kaufmann and Koolen 2021).

"Mixture Martingales Revisited with Applications to Sequential Tests and Confidence Intervals",
JMLR 22(246). For independent arms with means mu, sampled by any rule, any two of them and x > 0,
with probability at least 1 - exp(-x), at all times at once,

    sum over both of N_a d(m_a, mu_a) <= sum over both of 2 log(4 + log N_a) + 2 C_normal(x/2)

for normal rewards (Theorem 9 there), and with 3 log(1 + log N_a) and C_exp for every exponential
family with one parameter, such as Bernoulli rewards (Theorem 7).

*The stop is correct.* Answer the K largest means once every pair (i in, j out) has

    Z_ij = min over a <= b of N_i d(m_i, a) + N_j d(m_j, b)  >  beta(t, delta),

beta the right-hand side above for x = log(K (N - K) / delta) and N_i = N_j = t/2, its largest value
over counts that add up to at most t, as the logarithms are concave. If the answer is wrong, it
holds an i that is not among the K best and misses a j that is, with mu_i <= mu_j: then
N_i d(m_i, mu_i) + N_j d(m_j, mu_j) >= Z_ij > beta. There are K (N - K) such pairs (j, i), known to
nature before any sample, each with probability at most delta / (K (N - K)).
"""

from __future__ import annotations

import math

STYLISED = "stylised"
PROVED = "proved"


def normal(delta: float, pairs: int) -> float:
    """The part of beta that does not depend on t, for normal rewards: 2 C_normal(x/2)."""
    return 2.0 * c_normal(0.5 * math.log(pairs / delta))


def exponential(delta: float, pairs: int) -> float:
    """The same for exponential families: 2 C_exp(x/2)."""
    return 2.0 * c_exp(0.5 * math.log(pairs / delta))


def normal_growth(t: int) -> float:
    """4 log(4 + log(t/2))."""
    return 4.0 * math.log(4.0 + math.log(t / 2.0))


def exponential_growth(t: int) -> float:
    """6 log(1 + log(t/2))."""
    return 6.0 * math.log(1.0 + math.log(t / 2.0))


def stylised(delta: float, t: int) -> float:
    """log((1 + log t) / delta): what Garivier and Kaufmann (2016), Section 6, run; not proved."""
    return math.log((1.0 + math.log(t)) / delta)


def c_normal(x: float) -> float:
    """min over lambda in (1/2, 1) of (g(lambda) + x) / lambda; every lambda gives a valid bound.

    g(lambda) = 2 lambda - 2 lambda log(4 lambda) + log zeta(2 lambda) - log(1 - lambda) / 2.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def bound(lam: float) -> float:
        g = 2.0 * lam * (1.0 - math.log(4.0 * lam)) + math.log(zeta(2.0 * lam))
        return (g - 0.5 * math.log1p(-lam) + x) / lam

    return float(minimize_scalar(bound, bounds=(0.5, 1.0), method="bounded").fun)


def c_exp(x: float) -> float:
    """2 h~((h^-1(1 + x) + log(2 zeta(2))) / 2), with h~ for z = 3/2."""
    return 2.0 * _h_tilde(0.5 * (_h_inverse(1.0 + x) + math.log(math.pi**2 / 3.0)), 1.5)


def _h_inverse(y: float) -> float:
    """The u >= 1 with u - log u = y, by Newton from above: h is convex, h(y + 2 log(y) + 1) > y."""
    u = y + 2.0 * math.log(y) + 1.0
    for _ in range(100):
        new = u - (u - math.log(u) - y) / (1.0 - 1.0 / u) if u > 1.0 else 1.0
        if not new < u:
            break
        u = max(new, 1.0)
    return u


def _h_tilde(y: float, z: float) -> float:
    """exp(1/u) u with u = h^-1(y) if y >= h(1/log z), otherwise z (y - log log z)."""
    bend = 1.0 / math.log(z)
    if y < bend - math.log(bend):
        return z * (y - math.log(math.log(z)))
    u = _h_inverse(y)
    return math.exp(1.0 / u) * u
