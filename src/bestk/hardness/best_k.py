"""How hard an instance is: gaps, H, the theorem's bound, T* and the limit no policy can beat."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bestk.arguments import array, integer, portion, real, shown
from bestk.bounds.levels import SPLIT, faithful_delta
from bestk.bounds.lil import lil_radius
from bestk.errors import InputError
from bestk.hardness import bernoulli, gaussian
from bestk.kernels.types import BERNOULLI, BoolArray, FloatArray
from bestk.rewards import Gaussian, Rewards

SIGMA = 0.5  # the paper's experiments: variance 1/4 (Section 5)


@dataclass(frozen=True)
class Difficulty:
    """The difficulty of one instance; `difficulty` makes it.

    If mu_K = mu_(K+1) no policy can tell the two arms apart: H, t_star, t_star_low, lower_bound and
    theorem are infinite, and shares are uniform. Ties elsewhere are harmless.
    """

    gaps: FloatArray
    """Delta_i (paper, Section 2): mu_i - mu_(K+1) in the top, mu_K - mu_i outside."""
    H: float
    """Sum of Delta_i^-2."""
    t_star: float
    """T* of the lower bound, from the sample counts behind `shares`; never below the true T*."""
    t_star_low: float
    """A dual bound, never above the true T* but for rounding; the two agree to about 1e-13."""
    shares: FloatArray
    """The share of samples of each arm that attains `t_star`."""
    lower_bound: float
    """kl(delta, 1-delta) T*: no policy that errs at most delta on every instance with such rewards
    (Gaussian or Bernoulli) needs fewer samples on average here (0 for delta >= 1/2)."""
    theorem: float
    """2 sum tau_i, the bound of Theorem 3.1 on the expected samples of faithful lil-rand-lucb."""


def difficulty(
    means: ArrayLike,
    k: int,
    *,
    delta: float = 0.05,
    sigma: float = SIGMA,
    eps: float = 0.01,
    rewards: Rewards | None = None,
) -> Difficulty:
    """The difficulty of finding the k largest of `means`, everything in the order of `means`.

    Rewards are Gaussian with standard deviation `sigma`, or as `rewards` says, which then stands in
    for sigma: `Bernoulli()` gives the T* and the lower bound of Bernoulli rewards, `Gaussian` and
    `SubGaussian` those of Gaussian ones with their sigma. T* is not solved for other rewards.

    `theorem` is the explicit right-hand side of Theorem 3.1: its proof charges arm i at most
    2 tau_i times on average (its first sample included), where tau_i is the smallest t with
    U(t, delta'/(2N)) < Delta_i/8 and delta' = delta/c_eps is the faithful setting. It holds given
    that every arm stays within U on both sides, which Lemma 2.1, one-sided, gives with
    probability 1 - 2 delta; the answer is right with probability 1 - delta. It needs rewards that
    are sigma-sub-Gaussian only, which Bernoulli ones are with sigma = 1/2 (Hoeffding's lemma).
    """
    rewards = _assumed(sigma, rewards)
    sigma, (mu, k) = rewards.sigma, _checked(means, k, rewards)
    delta, eps = portion(delta, "delta"), portion(eps, "eps")
    first_out, last_in = np.sort(mu)[[-k - 1, -k]]
    gaps = np.where(mu >= last_in, mu - first_out, last_in - mu)
    low, high, shares = _t_star(mu, k, rewards)
    if math.isinf(high):
        return Difficulty(gaps, math.inf, high, low, shares, math.inf, math.inf)
    faithful = faithful_delta(SPLIT, delta, mu.size, eps)
    tau = first_time(gaps / 8.0, faithful / (2 * mu.size), sigma, eps)
    with np.errstate(over="ignore"):
        h = float((gaps**-2.0).sum())
    return Difficulty(
        gaps=gaps,
        H=h,
        t_star=high,
        t_star_low=low,
        shares=shares,
        lower_bound=kl_of_error(delta) * high,
        theorem=2.0 * float(tau.sum()),
    )


def t_star(
    means: ArrayLike, k: int, sigma: float = SIGMA, *, rewards: Rewards | None = None
) -> tuple[float, FloatArray]:
    """T*, and the shares of samples that attain it; `sigma` and `rewards` as in `difficulty`.

    1/T* = max over shares w of min over i in top, j outside of

        (mu_i - mu_j)^2 / (2 sigma^2 (1/w_i + 1/w_j))       for Gaussian rewards of common sigma,
        min over c of w_i kl(mu_i, c) + w_j kl(mu_j, c)     for Bernoulli rewards.

    See `gaussian` and `bernoulli` in this package for the methods.
    """
    rewards = _assumed(sigma, rewards)
    _, high, shares = _t_star(*_checked(means, k, rewards), rewards)
    return high, shares


def kl_of_error(nu: float) -> float:
    """kl(nu, 1 - nu), exact for the smallest nu too; at most 1/2 counts, where a coin will do."""
    nu = min(nu, 0.5)
    return (1.0 - 2.0 * nu) * (math.log1p(-nu) - math.log(nu))


@np.errstate(over="ignore", invalid="ignore")  # counts beyond all floats are infinite
def first_time(thresholds: FloatArray, w: float, sigma: float, eps: float) -> FloatArray:
    """The smallest integers t >= 1 with U(t, w) < thresholds (> 0), by doubling and bisection."""

    def is_enough(t: FloatArray) -> BoolArray:
        enough: BoolArray = (lil_radius(t, w, sigma, eps) < thresholds) | np.isinf(t)
        return enough

    short, enough = np.zeros_like(thresholds), np.ones_like(thresholds)
    while not (done := is_enough(enough)).all():
        short, enough = np.where(done, short, enough), np.where(done, enough, 2.0 * enough)
    while True:
        middle = np.maximum(np.floor((short + enough) / 2.0), 1.0)
        if not ((short < middle) & (middle < enough)).any():  # beyond 2^53: adjacent floats
            return enough
        done = is_enough(middle)
        short, enough = np.where(done, short, middle), np.where(done, middle, enough)


def _assumed(sigma: float, rewards: Rewards | None) -> Rewards:
    """The one assumption that `sigma` and `rewards` stand for, if T* is solved for it."""
    if rewards is None:
        return Gaussian(sigma)
    if real(sigma, "sigma") != SIGMA:
        raise InputError(f"sigma={sigma} was refused: rewards={rewards} already says what it is")
    if not isinstance(rewards, Rewards) or rewards.law is None:
        raise InputError(
            f"rewards={shown(rewards)} were refused: T* is solved for gaussian and bernoulli"
            " rewards"
        )
    return rewards


def _checked(means: ArrayLike, k: int, rewards: Rewards) -> tuple[FloatArray, int]:
    mu, k = array(means, "means"), integer(k, "k")
    if mu.ndim != 1 or not np.isfinite(mu).all():
        raise InputError("means were refused: they must be a flat list of finite numbers")
    if not 1 <= k < mu.size:
        raise InputError(f"k={k} was refused: with {mu.size} means it must be 1 to {mu.size - 1}")
    if rewards.law == BERNOULLI and not ((mu >= 0.0) & (mu <= 1.0)).all():
        raise InputError("means were refused: those of Bernoulli rewards lie in [0, 1]")
    return mu, k


def _t_star(mu: FloatArray, k: int, rewards: Rewards) -> tuple[float, float, FloatArray]:
    """Lower and upper end of T*, and the shares that attain the upper end."""
    order = np.argsort(-mu, kind="stable")
    top, rest = mu[order[:k]], mu[order[k:]]
    is_coin = rewards.law == BERNOULLI
    found = bernoulli.solve(top, rest) if is_coin else gaussian.solve(top, rest, rewards.sigma)
    counts = np.empty(mu.size)
    counts[order] = np.concatenate((found.n_top, found.n_rest))
    return found.low, found.high, counts / counts.sum()
