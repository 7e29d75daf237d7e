"""How a wanted error nu becomes the levels of the LIL bound. Levels are split here and only here.

theory: `docs/theory.md`, "The LIL radius"; paper: Lemma 2.1, Theorems 3.1 and 4.1.
"""

from __future__ import annotations

import math

from bestk.bounds.lil import c_eps
from bestk.errors import InputError

FAITHFUL_EPS = 0.01  # within 1% of the best eps for N from 10 to 10^4, by search
HEURISTIC_EPS = 0.0  # Section 5: "we set the parameters to eps = 0 and delta = nu"

SPLIT, UNIFORM = "split", "uniform"

LEAST_LEVEL = 1e-300  # below it log(.)/w overflows


def check_eps(eps: float) -> None:
    """Lemma 2.1 is stated for eps in (0, 1)."""
    if not 0.0 < eps < 1.0:
        raise InputError(f"eps={eps} was refused: Lemma 2.1 of the paper needs 0 < eps < 1")


def faithful_delta(levels: str, nu: float, n_arms: int, eps: float) -> float:
    """The algorithm's delta for which its theorem gives error at most nu."""
    check_eps(eps)
    if levels == SPLIT:  # Theorem 3.1: error at most c_eps * delta
        return nu / c_eps(eps)
    # Theorem 4.1: error at most c_eps * delta^(1+eps) / N^eps
    return float((nu * n_arms**eps / c_eps(eps)) ** (1.0 / (1.0 + eps)))


def split_levels(levels: str, delta: float, n_arms: int, k: int) -> tuple[float, float]:
    """(w for arms of High, w for arms of Low)."""
    if levels == SPLIT:  # Algorithm 1, lines 5 and 6
        return delta / (2 * (n_arms - k)), delta / (2 * k)
    return delta / n_arms, delta / n_arms  # Algorithm 2, line 4


def hybrid_weights(n_arms: int, k: int, independent: bool) -> list[float]:
    """w1, w2, w3 of the hybrid stop, fixed by N and K alone; docs/e-lucb.md says how it was fitted.

    The product counts for less the more arms there are and the less even the two sides are; the
    rest goes to the sides like sqrt(N-K) to sqrt(K), so that the larger side pays less per arm.
    """
    larger, smaller = max(k, n_arms - k), min(k, n_arms - k)
    product = 1.0 / (1.0 + math.sqrt(n_arms) / 7.0 * (larger / smaller) ** 0.3)
    product = product if independent else 0.0
    low = math.sqrt(n_arms - k) / (math.sqrt(n_arms - k) + math.sqrt(k))
    return [(1.0 - product) * low, (1.0 - product) * (1.0 - low), product]


def hybrid_levels(
    nu: float, n_arms: int, k: int, weights: list[float]
) -> tuple[float, float, float]:
    """(level of lower bounds, level of upper bounds, what the product of both counts for)."""
    w1, w2, w3 = weights
    return nu * w2 / (n_arms - k), nu * w1 / k, nu * w3 / (k * (n_arms - k))


def open_level(nu: float, max_arms: int) -> float:
    """Of every bound where arms come and go: two sides of each arm there can ever be."""
    return nu / (2 * max_arms)


def check_level(level: float) -> None:
    """Refuse what logarithms of doubles cannot hold."""
    if level < LEAST_LEVEL:
        raise InputError(f"delta was refused: its level {level:.3g} is too small to compute with")


def check_lemma(level: float, eps: float) -> None:
    """Lemma 2.1 needs w < log(1+eps)/e for the largest level in use."""
    limit = math.log1p(eps) / math.e
    check_level(level)
    if level >= limit:
        raise InputError(
            f"the faithful variant was refused: its largest level {level:.3g} is not below"
            f" log(1+eps)/e = {limit:.3g}, which Lemma 2.1 of the paper needs at eps={eps};"
            " ask for a smaller delta, or use the heuristic variant"
        )


def lil_ucb_delta(nu: float, eps: float) -> float:
    """delta of lil'UCB (Jamieson et al. 2014): solves 4 sqrt(c_eps d) + 4 c_eps d = nu."""
    check_eps(eps)
    delta = (math.sqrt(1.0 + nu) - 1.0) ** 2 / (4.0 * c_eps(eps))
    limit = math.log1p(eps) / (math.e * c_eps(eps))
    if delta >= limit:
        raise InputError(
            f"faithful lil-ucb was refused: its delta {delta:.3g} is not below"
            f" log(1+eps)/(e c_eps) = {limit:.3g} at eps={eps}; ask for a smaller delta"
        )
    return delta
