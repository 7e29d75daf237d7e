"""How hard a combinatorial instance is: its gaps, H, Theorem 4.2's bound and the lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bestk.arguments import array, count, portion
from bestk.bounds.levels import UNIFORM, faithful_delta
from bestk.decisions import DecisionClass, PartitionMatroid, SpanningTree, TopK
from bestk.decisions.base import require_decision
from bestk.errors import InputError, OracleError
from bestk.hardness import cutting_planes
from bestk.hardness.best_k import first_time, kl_of_error
from bestk.hardness.separation import Rivals
from bestk.kernels.types import BoolArray, FloatArray
from bestk.rewards import Gaussian

MATROIDS = (TopK, PartitionMatroid, SpanningTree)


@dataclass(frozen=True)
class CombinatorialDifficulty:
    """The difficulty of one instance; `combinatorial_difficulty` makes it.

    If another set is as good as OPT (up to the rounding of the means) no policy can tell them
    apart: H, t_star, t_star_high, lower_bound and theorem are infinite, and shares are uniform.
    """

    optimum: BoolArray
    """OPT, the best feasible set."""
    value: float
    """mu(OPT)."""
    gaps: FloatArray
    """Delta_i (paper, Section 4.2): mu(OPT) minus the best feasible set without i (i in OPT) or
    with i (i outside); infinite where there is none, and then arm i need not be sampled."""
    H: float
    """Sum of Delta_i^-2."""
    width: int
    """The width of the class, or the upper bound of it that the class states."""
    t_star: float
    """A dual bound of T*: never above the true T* but for rounding."""
    t_star_high: float
    """Never below the true T* but for rounding, if the oracle is exact. The two agree to about
    1e-5, unless the search for violated sets ended early at `max_calls`."""
    shares: FloatArray
    """The share of samples of each arm that attains `t_star_high`."""
    lower_bound: float
    """kl(delta, 1-delta) t_star: no policy that errs at most delta on every Gaussian instance
    needs fewer samples on average here (0 for delta >= 1/2)."""
    theorem: float
    """sum tau_i, the bound of Theorem 4.2 on the samples of faithful lil-clucb."""


def combinatorial_difficulty(
    decision: DecisionClass,
    means: ArrayLike,
    *,
    delta: float = 0.05,
    sigma: float = 0.5,
    eps: float = 0.01,
    max_calls: int = 50_000,
) -> CombinatorialDifficulty:
    """The difficulty of finding the feasible set of largest total mean.

    `theorem` is the explicit right-hand side of Theorem 4.2, with its constant 3: once the radius
    of arm i is below Delta_i / (3 width) it is not sampled again (Chen et al. 2014, Lemma 10), so
    it is sampled at most tau_i times (its first sample included), the smallest t with
    U(t, delta'/N) < Delta_i / (3 width). delta' = (delta N^eps / c_eps)^(1/(1+eps)) is the faithful
    setting, whose error by the theorem is delta. The bound holds given that every arm stays within
    U on both sides, which Lemma 2.1, one-sided, gives with probability 1 - 2 delta.

    `max_calls` caps the calls of the oracle that T* may take: beyond it `t_star` and `t_star_high`
    are as true as ever, but may be far apart. See `cutting_planes` and
    `separation` in this package for the method.
    """
    require_decision(decision)
    mu = _checked(decision, means)
    sigma, delta, eps = Gaussian(sigma).sigma, portion(delta, "delta"), portion(eps, "eps")
    max_calls = count(max_calls, "max_calls", 0)
    rivals = Rivals(decision.best, mu)
    gaps, sets = _gaps(rivals)
    value = math.fsum(mu[rivals.optimum].tolist())
    smallest = float(gaps.min())
    unit = sigma / smallest if smallest > 0.0 else math.inf
    if math.isinf(unit * unit):
        even = np.full(mu.size, 1.0 / mu.size)
        return CombinatorialDifficulty(
            rivals.optimum, value, gaps, math.inf, decision.width,
            math.inf, math.inf, even, math.inf, math.inf,
        )  # fmt: skip
    found = cutting_planes.solve(rivals, gaps, sets, isinstance(decision, MATROIDS), max_calls)
    scale = 2.0 * unit * unit
    faithful = faithful_delta(UNIFORM, delta, mu.size, eps)
    tau = first_time(gaps / (3.0 * decision.width), faithful / mu.size, sigma, eps)
    return CombinatorialDifficulty(
        optimum=rivals.optimum,
        value=value,
        gaps=gaps,
        H=float((gaps**-2.0).sum()),
        width=decision.width,
        t_star=scale * found.low,
        t_star_high=scale * found.high,
        shares=found.counts / found.counts.sum(),
        lower_bound=kl_of_error(delta) * scale * found.low,
        theorem=float(tau.sum()),
    )


def _checked(decision: DecisionClass, means: ArrayLike) -> FloatArray:
    mu = array(means, "means")
    if mu.shape != (decision.n_arms,) or not np.isfinite(mu).all():
        raise InputError(
            f"means were refused: they must be a flat list of {decision.n_arms} finite numbers"
        )
    if decision.ceiling < math.inf:
        raise InputError(
            "the difficulty of a path in a graph with cycles was refused: it needs the best path "
            "through a given edge, which no oracle for cheapest paths can give"
        )
    return mu


def _gaps(rivals: Rivals) -> tuple[FloatArray, list[BoolArray]]:
    """Delta_i of every arm, and the sets that attain the finite ones."""
    n = rivals.means.size
    gaps, sets = np.full(n, np.inf), []
    for arm in range(n):
        forced = np.zeros(n, np.int8)
        forced[arm] = 1
        arms = rivals.find(rivals.means, forced)
        if arms is None:
            continue
        gaps[arm] = rivals.gap(arms)
        sets.append(arms)
        if gaps[arm] < 0.0:
            raise OracleError(
                f"the oracle was refused: its best set for the means is worse, by {-gaps[arm]}, "
                f"than one it finds when arm {arm} is forced. Weights: {rivals.means.tolist()}"
            )
    if not sets:
        raise InputError("the decision class was refused: it has one feasible set only")
    return gaps, sets
