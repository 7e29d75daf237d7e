"""How hard an instance is: gaps, H, the theorem's bound, T* and the limit no policy can beat."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bestk import lowerbound
from bestk.errors import InputError
from bestk.kernels.types import BoolArray, FloatArray
from bestk.lil import c_eps, lil_radius


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
    """kl(delta, 1-delta) T*: no policy that errs at most delta on every Gaussian instance needs
    fewer samples on average here (0 for delta >= 1/2)."""
    theorem: float
    """2 sum tau_i, the bound of Theorem 3.1 on the expected samples of faithful lil-rand-lucb."""


def difficulty(
    means: ArrayLike, k: int, *, delta: float = 0.05, sigma: float = 0.5, eps: float = 0.01
) -> Difficulty:
    """The difficulty of finding the k largest of `means`, everything in the order of `means`.

    `theorem` is the explicit right-hand side of Theorem 3.1: its proof charges arm i at most
    2 tau_i times on average (its first sample included), where tau_i is the smallest t with
    U(t, delta'/(2N)) < Delta_i/8 and delta' = delta/c_eps is the faithful setting. It holds given
    that every arm stays within U on both sides, which Lemma 2.1, one-sided, gives with
    probability 1 - 2 delta; the answer is right with probability 1 - delta.
    """
    mu = _checked(means, k, sigma)
    for name, value in (("delta", delta), ("eps", eps)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{name}={value} was refused: it must lie in (0, 1)")
    first_out, last_in = np.sort(mu)[[-k - 1, -k]]
    gaps = np.where(mu >= last_in, mu - first_out, last_in - mu)
    low, high, shares = _t_star(mu, k, sigma)
    if math.isinf(high):
        return Difficulty(gaps, math.inf, high, low, shares, math.inf, math.inf)
    tau = first_time(gaps / 8.0, delta / c_eps(eps) / (2 * mu.size), sigma, eps)
    return Difficulty(
        gaps=gaps,
        H=float((gaps**-2.0).sum()),
        t_star=high,
        t_star_low=low,
        shares=shares,
        lower_bound=kl_of_error(delta) * high,
        theorem=2.0 * float(tau.sum()),
    )


def t_star(means: ArrayLike, k: int, sigma: float) -> tuple[float, FloatArray]:
    """T* for Gaussian rewards of common sigma, and the shares of samples that attain it.

    1/T* = max over shares w of min over i in top, j outside of
    (mu_i - mu_j)^2 / (2 sigma^2 (1/w_i + 1/w_j)). See `bestk.lowerbound` for the method.
    """
    _, high, shares = _t_star(_checked(means, k, sigma), k, sigma)
    return high, shares


def kl_of_error(nu: float) -> float:
    """kl(nu, 1 - nu), exact for the smallest nu too; at most 1/2 counts, where a coin will do."""
    nu = min(nu, 0.5)
    return (1.0 - 2.0 * nu) * (math.log1p(-nu) - math.log(nu))


def first_time(thresholds: FloatArray, w: float, sigma: float, eps: float) -> FloatArray:
    """The smallest integers t >= 1 with U(t, w) < thresholds (> 0), by doubling and bisection."""

    def is_enough(t: FloatArray) -> BoolArray:
        enough: BoolArray = lil_radius(t, w, sigma, eps) < thresholds
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


def _checked(means: ArrayLike, k: int, sigma: float) -> FloatArray:
    try:
        mu, k = np.asarray(means, dtype=np.float64), operator.index(k)
    except (TypeError, ValueError):
        raise InputError("means must be numbers and k an integer") from None
    if mu.ndim != 1 or not np.isfinite(mu).all():
        raise InputError("means were refused: they must be a flat list of finite numbers")
    if not 1 <= k < mu.size:
        raise InputError(f"k={k} was refused: with {mu.size} means it must be 1 to {mu.size - 1}")
    if not 0.0 < sigma < math.inf:
        raise InputError(f"sigma={sigma} was refused: it must be positive and finite")
    return mu


def _t_star(mu: FloatArray, k: int, sigma: float) -> tuple[float, float, FloatArray]:
    """Lower and upper end of T*, and the shares that attain the upper end."""
    order = np.argsort(-mu, kind="stable")
    top, rest = mu[order[:k]], mu[order[k:]]
    with np.errstate(over="ignore"):  # an infinite gap needs no samples
        gap = float(top[-1] - rest[0])
    unit = sigma / gap if gap > 0.0 else math.inf
    if math.isinf(unit * unit):
        return math.inf, math.inf, np.full(mu.size, 1.0 / mu.size)
    found = lowerbound.solve((top - top[-1]) / gap, (rest[0] - rest) / gap)
    counts = np.empty(mu.size)
    counts[order] = np.concatenate((found.n_top, found.n_rest))
    scale = 2.0 * unit * unit
    return scale * found.low, scale * found.high, counts / counts.sum()
