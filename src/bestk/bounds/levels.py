"""How a wanted error nu becomes the levels of the LIL bound. Levels are split here and only here.

theory: `docs/theory.md`, "The LIL radius"; paper: Lemma 2.1, Theorems 3.1 and 4.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bestk.bounds.lil import c_eps
from bestk.errors import InputError

FAITHFUL_EPS = 0.01  # within 1% of the best eps for N from 10 to 10^4, by search
HEURISTIC_EPS = 0.0  # Section 5: "we set the parameters to eps = 0 and delta = nu"

SPLIT, UNIFORM = "split", "uniform"

# Which rules a problem is under: how evidence is mixed and weighed. A study stays with those that
# it was begun under. 1 is version 0.1.
EDITIONS = (1, 2)
EDITION = EDITIONS[-1]

HYBRID_SCALE, EXACT_SCALE = 7.0, 12.0  # fitted, see docs/e-lucb.md
QUANTILE_SCALE = 1.8  # of quantiles, in place of both; fitted, see docs/evidence.md
KEPT = 0.1  # of the product's weight, for slacks that are read or chosen later
PAIR_ARMS = 10  # as many at most are certified pair by pair

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


def _harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n."""
    return math.fsum(1.0 / i for i in range(1, n + 1))


def union(n_arms: int, k: int) -> float:
    """G of Theorem 7: what a product of both sides is divided by where there is no slack."""
    rest = n_arms - k
    return min((rest - 1) * _harmonic(k) + k, (k - 1) * _harmonic(rest) + rest)


class Weights(NamedTuple):
    """Of the hybrid stop; they add up to 1."""

    low: float  # w1, of the evidence of Low
    high: float  # w2, of that of High
    product: float  # w3, of both, over all pairs: at any slack
    exact: float = 0.0  # w3'', of both, over the smaller union: without slack
    pair: float = 0.0  # w4, of one mixture for both arms of a pair


class HybridLevels(NamedTuple):
    """What the terms of the hybrid stop count for, nu included."""

    lower: float  # the level of lower bounds
    upper: float  # the level of upper bounds
    both: float  # the product of both sides
    exact: float  # the same, without a slack
    pair: float  # the mixture of a pair
    ratio: float = 1.0  # of its two arms in half of that: like the best shares of the samples


NO_HYBRID = HybridLevels(0.0, 0.0, 0.0, 0.0, 0.0)


def hybrid_weights(n_arms: int, k: int, independent: bool, scale: float = HYBRID_SCALE) -> Weights:
    """w1, w2, w3 of the hybrid stop, fixed by N and K alone; docs/e-lucb.md says how it was fitted.

    The product counts for less the more arms there are and the less even the two sides are; the
    rest goes to the sides like sqrt(N-K) to sqrt(K), so that the larger side pays less per arm.
    """
    larger, smaller = max(k, n_arms - k), min(k, n_arms - k)
    product = 1.0 / (1.0 + math.sqrt(n_arms) / scale * (larger / smaller) ** 0.3)
    product = product if independent else 0.0
    low = math.sqrt(n_arms - k) / (math.sqrt(n_arms - k) + math.sqrt(k))
    return Weights((1.0 - product) * low, (1.0 - product) * (1.0 - low), product)


def exact_weights(
    n_arms: int, k: int, scale: float = EXACT_SCALE, otherwise: float = HYBRID_SCALE
) -> Weights:
    """The same where no slack is asked for: most of the product goes to the smaller union."""
    if min(k, n_arms - k) == 1:  # there it is no smaller
        return hybrid_weights(n_arms, k, True, otherwise)
    low, high, product, *_ = hybrid_weights(n_arms, k, True, scale)
    kept = KEPT * product
    return Weights(low, high, kept, product - kept)


def pair_weights(n_arms: int, k: int) -> Weights | None:
    """The same with one mixture for both arms of a pair, where arms are so few that it pays."""
    if n_arms > PAIR_ARMS:
        return None
    low = math.sqrt(n_arms - k) / (math.sqrt(n_arms - k) + math.sqrt(k))
    product, pair = (0.1, 0.8) if n_arms == 2 else (0.2, 0.5)
    rest = 1.0 - product - pair
    return Weights(rest * low, rest * (1.0 - low), product, 0.0, pair)


def hybrid_levels(nu: float, n_arms: int, k: int, weights: Weights) -> HybridLevels:
    """Theorems 1, 3 and 7 of docs/e-lucb.md."""
    pairs = k * (n_arms - k)
    both = weights.product / pairs
    return HybridLevels(
        nu * weights.high / (n_arms - k),
        nu * weights.low / k,
        nu * both,
        nu * (both + weights.exact / union(n_arms, k)),
        nu * weights.pair / pairs,
        math.sqrt((n_arms - k) / k) if weights.pair > 0.0 else 1.0,
    )


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
