"""How many pulls remain: an estimate from the present means, and where it usually lies.

Heuristics, both: nothing that is certified depends on them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bestk.decisions import TopK
from bestk.kernels import finite
from bestk.kernels.types import (
    BETA,
    BETTING,
    COINS,
    EVIDENCE,
    FINITE,
    NORMAL,
    QUANTILE,
    START,
    FloatArray,
    Spec,
    State,
)  # fmt: skip
from bestk.problem import Problem
from bestk.study.fold import Fold
from bestk.study.intervals import intervals

HALVINGS = 12  # of the range in which a slack is looked for
PLACES = 32  # tried for the boundary of a forecast; arbitrary
VALUES = 5  # around a quantile, for it to move evenly; arbitrary
# the interval of a forecast, fitted by `benchmarks/forecasts.py fit`: from so much of it, by the
# root of the number of arms and at most, and of at most so many times the samples there are; to so
# much of it, more after few samples of an arm, and of the samples there are
FEWER, FEWEST, FARTHEST = 0.06, 0.2, 24
MORE, FEW, LATER = 2.5, 20, 0.5


def boundary(state: State, k: int) -> tuple[int, int]:
    """The arms with the K-th and the next largest mean, as the policy sees them."""
    order = np.argsort(-state.means, kind="stable")
    return int(order[k - 1]), int(order[k])


def is_foreseeable(state: State, problem: Problem) -> bool:
    """Whether evidence grows evenly with the pulls, of one of the K best arms against another.

    That on quantiles of values that repeat, such as ratings, jumps from value to value.
    """
    if not isinstance(problem.decision, TopK):
        return False
    if state.evidence.kind != QUANTILE:
        return True
    around = [_around_quantile(state, i) for i in boundary(state, problem.decision.k)]
    return all(np.unique(own).size >= min(own.size, VALUES) for own in around)


def slack_for(fold: Fold, more: int) -> float | None:
    """An estimate of the least slack that so many more pulls would do for."""
    problem = fold.specification.problem
    most = fold.stepper.certifiable_epsilon
    if most is None or not most > 0.0 or not fold.machine.is_whole:
        return None
    if not is_foreseeable(fold.state, problem):
        return None
    low, high = intervals(fold.machine)
    least = 0.0
    for _ in range(HALVINGS):
        middle = (least + most) / 2.0
        needed = forecast(fold.state, fold.spec, replace(problem, epsilon=middle), low, high)
        least, most = (middle, most) if needed is None or needed > more else (least, middle)
    return most


def forecast(
    state: State, spec: Spec, problem: Problem, low: FloatArray, high: FloatArray
) -> int | None:
    """An estimate of the pulls that remain, if means and spreads stay as they are.

    The rule stops once all lower bounds of High and upper bounds of Low have reached some c, up to
    the slack: the cheapest c is taken.
    """
    if not (isinstance(problem.decision, TopK) and is_foreseeable(state, problem)):
        return None
    last_in, first_out = state.means[list(boundary(state, problem.decision.k))]
    slack = problem.epsilon * (abs(last_in) if state.evidence.relative else 1.0)
    places = np.linspace(first_out, last_in + slack, PLACES + 2)[1:-1, None]
    distance = np.where(state.high, state.means + slack - places, places - state.means)
    with np.errstate(divide="ignore", invalid="ignore"):
        if spec.radius == EVIDENCE:
            # log E grows like T d^2 / (2 variance), less about log(T)/2 for the mixture
            target = -np.where(state.high, spec.log_lower, spec.log_upper)
            both = spec.log_both if spec.epsilon > 0.0 else spec.log_exact
            both = max(both, spec.log_pair)
            if math.isfinite(both):  # both sides together may do with less
                target *= min(1.0, both / (spec.log_lower + spec.log_upper))
            target += 1.0 + 0.5 * np.log1p(state.counts)
            wanted = 2.0 * _variances(state) * target / distance**2
            if state.evidence.kind == QUANTILE:  # few samples say little, however clear
                wanted = np.maximum(wanted, target / _quickest(state))
        else:  # radii shrink like 1/sqrt(T)
            radius = np.where(state.high, state.means - low, high - state.means)
            wanted = state.counts * (radius / distance) ** 2
        if spec.n_items:
            wanted = np.minimum(np.nan_to_num(wanted, nan=np.inf), spec.n_items)
        remaining = float(np.maximum(wanted - state.counts, 0.0).sum(axis=1).min())
    # the rule has not stopped, whatever the estimate says: it takes one more at least
    return max(1, math.ceil(remaining)) if math.isfinite(remaining) else None


def _variances(state: State) -> FloatArray:
    """Of every arm, as far as it is known: with one more observation at half the range."""
    e, t, means = state.evidence, state.counts, state.means
    if e.kind == NORMAL:
        return np.full(len(t), e.sigma**2)
    if e.kind == QUANTILE:
        return np.array([_of_quantile(state, i) for i in range(len(t))])
    least, most = e.levels[0], e.levels[-1]
    if e.kind == FINITE:
        fits = state.items.fits
        around = fits[finite.TOTAL_YY] - fits[finite.TOTAL_Y] ** 2 / np.maximum(t, 1)
        squares = around * (most - least) ** 2
    elif e.kind in (BETA, COINS):
        squares = t * (means - least) * (most - means)
    elif e.kind == BETTING:
        squares = (state.levels[:, :-1] * (e.levels - means[:, None]) ** 2).sum(axis=1)
    else:
        squares = state.spread
    return np.asarray((squares + (most - least) ** 2 / 4.0) / (t + 1.0))


def _quickest(state: State) -> FloatArray:
    """By how much log E grows at most with a sample, where all lie on one side of c.

    A sample above c is worth at most 1/(1-q) against a quantile of at most c, one below it 1/q
    against a quantile of at least c (docs/quantiles.md).
    """
    q = state.evidence.q
    return np.where(state.high, -math.log1p(-q), -math.log(q))


def _of_quantile(state: State, i: int) -> float:
    """q (1-q) / f^2, the variance of a sample quantile times the samples; f is the density there.

    That is estimated from the observations around it.
    """
    own, q = _around_quantile(state, i), state.evidence.q
    if own.size < 2:
        return math.inf
    width = float(own[-1] - own[0]) * int(state.counts[i]) / (own.size - 1)
    return q * (1.0 - q) * width**2


def _around_quantile(state: State, i: int) -> FloatArray:
    """An arm's observations within a standard deviation of the quantile's rank, in their order."""
    n, q, start = int(state.counts[i]), state.evidence.q, int(state.places[START, i])
    reach = max(1.0, math.sqrt(n * q * (1.0 - q)))
    first, last = max(0, int((n - 1) * q - reach)), min(n - 1, math.ceil((n - 1) * q + reach))
    return state.ordered[start + first : start + last + 1]


def usual(left: int, spec: Spec, samples: int) -> tuple[int, int]:
    """Where the pulls that remain lie in four studies of five, by a forecast after so many samples.

    Empirical: a tenth of the studies that it was fitted to lie below, and a tenth above. How often
    it holds in others is in docs/studies.md, "Forecasts".
    """
    low = min(FEWER * math.sqrt(spec.n_arms), FEWEST) * min(left, FARTHEST * samples)
    high = MORE * left * (1.0 + FEW * spec.n_arms / samples) + LATER * samples
    if spec.n_items:
        high = min(high, spec.n_arms * spec.n_items - samples)
    return min(math.floor(low), left), max(math.ceil(high), left)
