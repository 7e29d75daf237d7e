"""From a fold to a `Result`."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from bestk.decisions import TopK
from bestk.kernels.types import BETA, BETTING, COINS, EVIDENCE, NORMAL, FloatArray, IntArray, State
from bestk.problem import Problem
from bestk.study.fold import Fold
from bestk.study.intervals import intervals, verdicts
from bestk.study.result import ArmResult, Result, Status, Stopped, Waiting
from bestk.study.specification import Specification
from bestk.study.tally import Tally

PLACES = 32  # tried for the boundary of a forecast; arbitrary
TIED, MANY = 0.1, 1000  # a gap below a tenth of the radii after a thousand samples; arbitrary


def summarise(
    name: str, specification: Specification, fold: Fold, seconds: float, ended: Stopped | None
) -> Result:
    """What the log says, in the user's own units."""
    labels, problem, spec = fold.labels, specification.problem, fold.spec
    configured, decision = fold.configured, fold.stepper.decision
    low, high = intervals(fold.machine)
    whole = fold.machine.is_whole
    pulls, means = _everything(fold)
    certified = fold.stopped is not None and configured.guarantee is not None
    stopped = fold.stopped
    answer = (
        fold.planner.answer(fold.order.held.values())
        if stopped is None
        else [fold.rows[arm] for arm in stopped]
    )
    statuses = _statuses(set(answer), certified, low, high, decision)
    shown = (low, high) if spec.sign > 0 else (-high, -low)
    arms = tuple(
        ArmResult(
            labels[i],
            float(means[i]) if pulls[i] else None,
            _finite(shown[0][i]),
            _finite(shown[1][i]),
            int(pulls[i]),
            fold.failed[fold.arms[i]],
            statuses[i],
        )
        for i in range(spec.n_arms)
    )
    epsilon = None
    if certified:
        epsilon = problem.epsilon  # what was certified when the rule stopped
    elif configured.guarantee is not None:
        epsilon = fold.stepper.certifiable_epsilon
    return Result(
        study=name,
        top=tuple(labels[i] for i in sorted(answer, key=lambda i: -spec.sign * means[i])),
        certified=certified,
        error_bound=configured.guarantee if certified else None,
        theorem=configured.theorem if certified else None,
        samples=fold.told,
        seconds=seconds,
        stopped="rule" if fold.stopped is not None else ended,
        tied=whole and _is_tied(fold, problem, low, high),
        certifiable_epsilon=epsilon,
        forecast=None
        if fold.stopped is not None or not whole
        else _forecast(fold, problem, low, high),
        arms=arms,
        held=sum(reward is not None for _, reward in fold.order.held.values()),
        waiting=tuple(
            Waiting(key, fold.all_labels[fold.open[key].arm], fold.open[key].order)
            for key in ([] if stopped is not None else fold.blocking)
        ),
        assumptions=_assumptions(fold),
        warnings=_warnings(fold),
        maximize=problem.maximize,
    )


def _everything(fold: Fold) -> tuple[IntArray, FloatArray]:
    """Observations of every row and their mean, in the user's units.

    Before the stop with those that do not count yet; after it these never will.
    """
    late = Tally(fold.specification.problem.rewards, len(fold.all_labels))
    for arm, reward in fold.order.held.values():
        if reward is not None and fold.stopped is None:
            late.add_one(arm, reward)
    counts = fold.tally.counts + late.counts
    means = fold.tally.means
    if late.counts.any():
        both = (fold.tally.sums + late.sums) / np.maximum(counts, 1)
        means = np.where(late.counts > 0, both, means)
    return counts[fold.arms], means[fold.arms]


def _assumptions(fold: Fold) -> tuple[str, ...]:
    """What has to hold beside the reward assumption, given what happened in this study."""
    found = []
    if fold.specification.order == "told":
        found.append(
            "answers count as they arrive, as in version 0.1, so how long a pull takes does not"
            " depend on its reward"
        )
    lost = fold.holes_that_matter
    if lost and fold.specification.lost == "skip":
        pulls = "pull was" if lost == 1 else "pulls were"
        found.append(
            f"{lost:,} {pulls} lost (failed, given up, expired or withdrawn) and skipped, so"
            " whether a pull is lost does not depend on its reward"
        )
    if len(fold.holders):
        pulls = "pull was" if len(fold.holders) == 1 else "pulls were"
        found.append(
            f"{len(fold.holders):,} {pulls} made again after a process died or a run was cut"
            " short, which did not depend on their rewards"
        )
    return tuple(found)


def _warnings(fold: Fold) -> tuple[str, ...]:
    """Data that contradict the reward assumption."""
    arms = fold.tally.contradicting()
    if not arms.size:
        return ()
    labels = ", ".join(repr(fold.all_labels[arm]) for arm in arms[:3])
    more = f" and {arms.size - 3:,} more" if arms.size > 3 else ""
    rewards = fold.specification.problem.rewards
    return (
        f"the rewards of {labels}{more} spread more than {rewards} allows, beyond doubt: the"
        " guarantee does not hold for them; give a larger sigma, or another assumption, to a new"
        " study",
    )


def _finite(end: float) -> float | None:
    return float(end) if math.isfinite(end) else None


def _boundary(fold: Fold, k: int) -> tuple[int, int]:
    """The arms with the K-th and the next largest mean, as the policy sees them."""
    order = np.argsort(-fold.state.means, kind="stable")
    return int(order[k - 1]), int(order[k])


def _is_tied(fold: Fold, problem: Problem, low: FloatArray, high: FloatArray) -> bool:
    """Whether the boundary looks tied: much sampled, and still a gap far below the intervals."""
    if problem.epsilon > 0 or not isinstance(problem.decision, TopK):
        return False
    pair = list(_boundary(fold, problem.decision.k))
    gap = float(np.ptp(fold.state.means[pair]))
    width = float((high - low)[pair].min()) / 2.0
    return bool(fold.state.counts[pair].min() >= MANY and gap < TIED * width)


def _forecast(fold: Fold, problem: Problem, low: FloatArray, high: FloatArray) -> int | None:
    """An estimate of the pulls that remain, if means and spreads stay as they are.

    The rule stops once all lower bounds of High and upper bounds of Low have reached some c, up to
    the slack: the cheapest c is taken.
    """
    if not isinstance(problem.decision, TopK):
        return None
    state, spec = fold.state, fold.spec
    last_in, first_out = state.means[list(_boundary(fold, problem.decision.k))]
    places = np.linspace(first_out, last_in + problem.epsilon, PLACES + 2)[1:-1, None]
    distance = np.where(state.high, state.means + problem.epsilon - places, places - state.means)
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
        else:  # radii shrink like 1/sqrt(T)
            radius = np.where(state.high, state.means - low, high - state.means)
            wanted = state.counts * (radius / distance) ** 2
        remaining = float(np.maximum(wanted - state.counts, 0.0).sum(axis=1).min())
    return math.ceil(remaining) if math.isfinite(remaining) else None


def _variances(state: State) -> FloatArray:
    """Of every arm, as far as it is known: with one more observation at half the range."""
    e, t, means = state.evidence, state.counts, state.means
    if e.kind == NORMAL:
        return np.full(len(t), e.sigma**2)
    least, most = e.levels[0], e.levels[-1]
    if e.kind in (BETA, COINS):
        squares = t * (means - least) * (most - means)
    elif e.kind == BETTING:
        squares = (state.levels[:, :-1] * (e.levels - means[:, None]) ** 2).sum(axis=1)
    else:
        squares = state.spread
    return np.asarray((squares + (most - least) ** 2 / 4.0) / (t + 1.0))


def _statuses(
    chosen: set[int], certified: bool, low: FloatArray, high: FloatArray, decision: object
) -> list[Status]:
    if certified:
        return ["in" if i in chosen else "out" for i in range(len(low))]
    if not isinstance(decision, TopK):
        return ["undecided"] * len(low)
    return cast("list[Status]", verdicts(low, high, decision.k))
