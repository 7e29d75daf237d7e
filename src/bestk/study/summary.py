"""From a fold to a `Result`."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from bestk.decisions import TopK
from bestk.kernels.types import FloatArray, IntArray
from bestk.problem import Problem
from bestk.rewards import Quantile
from bestk.study.estimates import is_known, largest_known
from bestk.study.extras import COST, within
from bestk.study.fold import Fold
from bestk.study.forecast import boundary, forecast, usual
from bestk.study.foreign import ForeignFold
from bestk.study.intervals import in_units, intervals
from bestk.study.pulls import NOBODY
from bestk.study.result import ArmResult, Result, Status, Stopped, Waiting
from bestk.study.tally import Tally

TIED, MANY = 0.1, 1000  # a gap below a tenth of the radii after a thousand samples; arbitrary


def summarise(name: str, fold: Fold, seconds: float, ended: Stopped | None) -> Result:
    """What the log says, in the user's own units."""
    labels, problem, spec = fold.labels, fold.specification.problem, fold.spec
    configured, stopped, held = fold.configured, fold.stopped, fold.order.held.values()
    low, high = intervals(fold.machine)
    whole = fold.machine.is_whole
    pulls, means, most = _everything(fold)
    if stopped is not None:
        answer, waiting = [fold.rows[arm] for arm in stopped], []
    else:
        answer, waiting = fold.present_answer(), fold.blocking
    proving = configured.judge or configured
    proved, epsilon = _proved(fold, answer)
    certified = proved and stopped is not None
    statuses = _statuses(answer, certified, low, high, fold.stepper.decision)
    shown = np.vstack([means, in_units(low, high, spec.sign)])
    shown = np.where(shown > most, math.nan, shown)  # of which no value is known
    left = None
    if stopped is None and whole and not configured.policy.is_python:  # whose stop nobody foresees
        left = forecast(fold.state, spec, problem, low, high)
    known = [[None if math.isnan(x) else x for x in row] for row in shown.T.tolist()]
    return Result(
        study=name,
        top=tuple(labels[i] for i in sorted(answer, key=lambda i: -spec.sign * means[i])),
        certified=certified,
        error_bound=proving.guarantee if certified else None,
        theorem=proving.theorem if certified else None,
        samples=fold.told,
        seconds=seconds,
        stopped=ended if stopped is None else "rule",
        tied=whole and _is_tied(fold, problem, low, high),
        certifiable_epsilon=problem.epsilon if certified else epsilon,  # as when the rule stopped
        forecast=left,
        forecast_interval=None if left is None else usual(left, spec, int(fold.state.counts.sum())),
        arms=tuple(
            ArmResult(label, mean if n else None, a, b, int(n), fold.failed[arm], status)
            for label, (mean, a, b), n, arm, status in zip(
                labels, known, pulls, fold.arms, statuses, strict=True
            )
        ),
        held=sum(reward is not None for _, reward in held),
        waiting=tuple(
            Waiting(key, fold.all_labels[pull.arm], pull.order)
            for key, pull in ((key, fold.open[key]) for key in waiting)
        ),
        assumptions=_assumptions(fold),
        warnings=_warnings(fold),
        maximize=problem.maximize,
        totals=totals(fold),
        compares=problem.rewards.title,
        claim=configured.policy.claim,
        proved=proved and not certified,
        unit=fold.extras.unit,
        relative_slack=isinstance(problem.rewards, Quantile) and problem.rewards.relative,
    )


def _proved(fold: Fold, answer: list[int]) -> tuple[bool, float | None]:
    """Whether the answer is proved at the slack that was wanted, and at which least one it is."""
    if isinstance(fold, ForeignFold):
        return fold.verdict or fold.judge(answer)
    if fold.configured.guarantee is None:
        return False, None
    if fold.stopped is not None:
        return True, None
    epsilon = fold.stepper.certifiable_epsilon
    return False, epsilon if epsilon is None or is_known(fold, epsilon) else None


def _everything(fold: Fold) -> tuple[IntArray, FloatArray, FloatArray]:
    """Observations of every row, their mean and the largest that is a value, in the user's units.

    Before the stop with those that do not count yet; after it these never will.
    """
    if fold.machine.is_ordered:
        held = fold.order.held.values() if fold.stopped is None else ()
        state = fold.planner.everything(held).state
        return state.counts, fold.spec.sign * state.means, largest_known(fold, state)
    late = Tally(fold.specification.problem.rewards, len(fold.all_labels))
    for arm, reward in fold.order.held.values():
        if reward is not None and fold.stopped is None:
            late.add_one(arm, reward)
    counts = fold.tally.counts + late.counts
    means = fold.tally.means
    if late.counts.any():
        both = (fold.tally.sums + late.sums) / np.maximum(counts, 1)
        means = np.where(late.counts > 0, both, means)
    return counts[fold.arms], means[fold.arms], np.full(len(fold.arms), math.inf)


def totals(fold: Fold) -> dict[str, float]:
    """Sums of the numbers beside rewards; where none of them is a cost, what arms are said to."""
    costs = fold.specification.problem.costs
    found: dict[str, float] = dict(fold.extras.totals)
    if costs is not None and COST not in found:
        with np.errstate(over="ignore"):
            found[COST] = within(float(_everything(fold)[0] @ np.array(costs)))
    return found


def _assumptions(fold: Fold) -> tuple[str, ...]:
    """What has to hold beside the reward assumption, given what happened in this study."""
    found = []
    if fold.specification.order == "told":
        found.append(
            "answers count as they arrive, as in version 0.1, so how long a pull takes does not"
            " depend on its reward"
        )
    again = sum(fold.retried.values())
    if (failed := sum(fold.failed) - again) and fold.orders is not None:
        found.append(f"{failed:,} evaluations failed, and count as the worst score")
    if low := sum(fold.extras.failed.values()):
        found.append(
            f"{_pulls(low)} tried in vain and counted as the worst reward, so what is compared are"
            " means in which a failure is that"
        )
    if again:
        attempts = "1 attempt" if again == 1 else f"{again:,} attempts"
        found.append(
            f"{attempts} failed and the pulls were made again, so whether an attempt fails does not"
            " depend on its reward"
        )
    if (lost := fold.holes_that_matter) and fold.specification.lost == "skip":
        found.append(
            f"{_pulls(lost)} lost (failed, given up, expired or withdrawn) and skipped, so whether"
            " a pull is lost does not depend on its reward"
        )
    if cut := len(fold.extras.interrupted):
        runs = "1 run was interrupted and counts"
        if cut > 1:
            runs = f"{cut:,} runs were interrupted and count"
        found.append(f"{runs} as cut, so interrupts do not single one arm out")
    if again := _made_again(fold):
        found.append(
            f"{_pulls(again)} made again after a process died or a run was cut short, which did not"
            " depend on their rewards"
        )
    return tuple(found)


def _made_again(fold: Fold) -> int:
    """Pulls that were handed to somebody else to make: neither counted as cut, nor still free."""
    taken = fold.holders.keys() - fold.extras.interrupted
    return sum(key not in fold.open or fold.holders[key] != NOBODY for key in taken)


def _pulls(many: int) -> str:
    return "1 pull was" if many == 1 else f"{many:,} pulls were"


def _warnings(fold: Fold) -> tuple[str, ...]:
    """A policy in Python that failed, and data that contradict the reward assumption."""
    found: list[str] = []
    if fold.failure is not None:
        found.append(f"{fold.failure}. The answer shown is that of bestk's own evidence")
    arms = fold.tally.contradicting()
    if not arms.size:
        return tuple(found)
    labels = ", ".join(repr(fold.all_labels[arm]) for arm in arms[:3])
    more = f" and {arms.size - 3:,} more" if arms.size > 3 else ""
    rewards = fold.specification.problem.rewards
    found.append(
        f"the rewards of {labels}{more} spread more than {rewards} allows, beyond doubt: the"
        " guarantee does not hold for them; give a larger sigma, or another assumption, to a new"
        " study"
    )
    return tuple(found)


def _is_tied(fold: Fold, problem: Problem, low: FloatArray, high: FloatArray) -> bool:
    """Whether the boundary looks tied: much sampled, and still a gap far below the intervals."""
    if problem.epsilon > 0 or problem.items or not isinstance(problem.decision, TopK):
        return False
    pair = list(boundary(fold.state, problem.decision.k))
    gap = float(np.ptp(fold.state.means[pair]))
    width = float((high - low)[pair].min()) / 2.0
    return bool(fold.state.counts[pair].min() >= MANY and gap < TIED * width)


def _statuses(
    chosen: list[int], certified: bool, low: FloatArray, high: FloatArray, decision: object
) -> list[Status]:
    """What is proved of every arm; if nothing is, what the intervals alone say.

    An arm is among the K best (in) if at least N-K arms have upper bounds at or below its lower
    bound, and not among them (out) if at least K arms have lower bounds at or above its upper one.
    """
    n_arms = len(low)
    if certified:
        return ["in" if i in set(chosen) else "out" for i in range(n_arms)]
    if not isinstance(decision, TopK):
        return ["undecided"] * n_arms
    beaten = np.searchsorted(np.sort(high), low, side="right")  # arms with upper bound <= low
    beating = n_arms - np.searchsorted(np.sort(low), high, side="left")  # lower bound >= high
    known = [beaten >= n_arms - decision.k, beating >= decision.k]
    return cast("list[Status]", np.select(known, ["in", "out"], "undecided").tolist())
