"""What a study has found and how far it is proved, in sentences."""

from __future__ import annotations

import math
from collections.abc import Hashable

from bestk.decisions import TopK
from bestk.kernels.types import EVIDENCE
from bestk.rewards import Quantile
from bestk.study import Result
from bestk.study.items import ItemSet
from bestk.study.result import PROVED_ONLY, SECONDS, number
from bestk.study.specification import Specification

FIXED = "All settings below were fixed before the first observation."
LOSS = (
    "An attempt that failed, or a pull that was given up, brought no observation. The guarantee"
    " holds only if what is lost does not depend on the reward it would have brought: if, say, the"
    " slow runs are the ones that time out, what is left misleads."
)
WORST = (
    "An attempt that failed, or a pull that was given up, brought no observation. It counts as the"
    " worst that it can have been, so that the guarantee holds whatever was lost."
)

TIED = "The boundary looks tied: a slack (epsilon) or a budget would end the study."
FAILED = (
    "An evaluation that failed counts as the worst score there is: none is skipped, so that the"
    " guarantee holds whatever failed."
)


def name(label: Hashable) -> str:
    """An arm's label for people: the parts of a tuple side by side."""
    return ", ".join(map(name, label)) if isinstance(label, tuple) else str(label)


def many(count: int, what: str) -> str:
    """A number and what there is of it."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..., 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if 10 < number % 100 < 14 else ending}"


def sums(result: Result) -> list[tuple[str, str]]:
    """What pulls have used: processor times of a race in seconds, others as they are."""
    timed, totals = {"user", "system"}, result.totals
    if result.unit != SECONDS or not timed <= totals.keys():
        timed = set()
    return [
        (f"sum of {name}", number(value, "0", SECONDS) if name in timed else f"{value:,.6g}")
        for name, value in totals.items()
    ]


def headline(specification: Specification, n_arms: int) -> str:
    """What is looked for."""
    decision = specification.problem.decision
    best = "largest" if specification.problem.maximize else "smallest"
    if isinstance(decision, TopK):
        arms = f"{decision.k:,} arms" if decision.k > 1 else "arm"
        what = f"{specification.problem.rewards.title}{_over(specification)}"
        return f"the {arms} of {n_arms:,} with the {best} {what}"
    return f"the {decision.kind.replace('-', ' ')} with the {best} total mean, of {n_arms:,} arms"


def _over(specification: Specification) -> str:
    """Over what means are taken, in an evaluation."""
    items = specification.items
    if items is None:
        return ""
    what = many(items.count, "item")
    return f" over {what}" if items.target == "items" else f" over the population of {what}"


def scored(result: Result, n_items: int) -> str:
    """How much of the table of an evaluation is known."""
    share = result.samples / (len(result.arms) * n_items)
    items = many(n_items, "item")
    return f"{len(result.arms):,} arms on {items}, {100.0 * share:.1f}% of the table scored"


def statement(specification: Specification, result: Result, epsilon: float) -> str:
    """What is true of the answer with probability at least 1 - delta."""
    decision, n_arms = specification.problem.decision, len(result.arms)
    best, worse, side = "smallest", "larger", "above"
    if specification.problem.maximize:
        best, worse, side = "largest", "smaller", "below"
    if not isinstance(decision, TopK):
        kind = decision.kind.replace("-", " ")
        how = f"within {result.rounded_up(epsilon)} of" if epsilon else "equal to"
        return f"the total of the true means of this {kind} is {how} the {best} total there is"
    k = decision.k
    these = f"every one of these {k:,} arms" if k > 1 else "this arm"
    there = " that are in the study" if specification.max_arms is not None else ""
    edge = f"the {f'{ordinal(k)} ' if k > 1 else ''}{best} of all {n_arms:,}{there}"
    how = f"no {worse} than" if epsilon == 0.0 else f"at most {result.rounded_up(epsilon)} {side}"
    if epsilon and result.relative_slack and specification.problem.maximize:
        how = f"at most {result.rounded_up(epsilon)} of its own {side}"
    title = specification.problem.rewards.title
    return f"{these} has a true {title}{_over(specification)} {how} {edge}"


def certificate(specification: Specification, result: Result) -> list[str]:
    """The certificate in words, or that there is none, and what could be had instead."""
    problem = specification.problem
    # without the digits of a binary fraction
    surely = f"with probability at least {100.0 * (1.0 - problem.delta):.10g}%"
    if result.certified:
        return [f"Certified: {surely}, {statement(specification, result, problem.epsilon)}."]
    if result.stopped == "rule" and problem.judge is not None:
        said = [
            f"Not certified: {problem.policy}, a policy in Python, has stopped, and the evidence"
            " does not prove its answer at the slack that was wanted."
        ]
        if result.certifiable_epsilon is not None:
            weaker = statement(specification, result, result.certifiable_epsilon)
            said.append(f"What can be said: {surely}, {weaker}.")
        return said
    if result.stopped == "rule":
        return [
            f"Not certified: the rule of {policy(specification)} has stopped, but it is a"
            " heuristic, and nothing is proved of its answer."
        ]
    if not result.top:
        return ["Not certified: not every arm has been observed yet."]
    said = ["Not certified: the rule has not stopped yet."]
    if result.proved:
        said = [f"Not certified: {PROVED_ONLY}."]
    if result.certifiable_epsilon is not None:
        weaker = statement(specification, result, result.certifiable_epsilon)
        said.append(f"What can be said now: {surely}, {weaker}.")
    if result.forecast is not None:
        said.append(
            f"An estimate, not a promise: about {result.forecast:,} more pulls are"
            f" needed{result.usually}, if the means are what they seem."
        )
    if result.tied:
        said.append(TIED)
    return said


def so_far(specification: Specification, result: Result) -> list[str]:
    """What is known while a study goes on, and what it goes on for; once it has ended, the end."""
    if result.stopped is not None or result.certified:
        return certificate(specification, result)
    if not result.top:
        seen = sum(arm.pulls > 0 for arm in result.arms)
        return [
            "Nothing is known yet: every arm has to be observed first, and"
            f" {seen:,} of {len(result.arms):,} have been."
        ]
    if result.certifiable_epsilon is None:
        return ["Nothing is proved yet."]
    problem, known = specification.problem, result.certifiable_epsilon
    surely = f"with probability at least {100.0 * (1.0 - problem.delta):.10g}%"
    said = [f"Known so far, {surely}: {statement(specification, result, known)}."]
    if known > problem.epsilon:
        goal = result.slack(problem.epsilon)
        said.append(f"The study goes on until this difference is at most {goal}.")
    if result.tied:
        said.append(TIED)
    return said


def policy(specification: Specification) -> str:
    """The policy and its variant."""
    problem = specification.problem
    variant = specification.configure(problem.decision.n_arms)[1].variant
    return f"{problem.policy}{f' ({variant})' if variant else ''}"


def assumptions(specification: Specification) -> list[str]:
    """What the proof takes for granted."""
    problem = specification.problem
    spec = specification.configure(problem.decision.n_arms)[1].spec
    said = [problem.rewards.description]
    if specification.items is not None:
        return [*said, *_of_items(specification.items), FIXED]
    if isinstance(problem.rewards, Quantile):
        said += _of_quantile(problem.rewards, spec.log_both > -math.inf)
    elif spec.radius != EVIDENCE:
        said.append("All rewards of an arm have the same mean and are independent of each other.")
    elif spec.log_both > -math.inf:  # Theorems 1 and 3
        said.append(
            "A reward has its arm's mean whatever was seen before it, and rewards that were under"
            " way at the same time are independent of each other."
        )
    else:
        said.append(
            "The rewards of an arm come in an order of their own, none chosen or skipped after"
            " seeing something about it, and each has the arm's mean whatever the earlier ones"
            " were. Arms may depend on each other."
        )
    if specification.max_arms is not None:
        said.append(
            "An arm that joined later was scored only on what nobody had looked at before it was"
            " made."
        )
    if specification.order == "told":
        said.append(
            "What was lost does not depend on the reward it would have brought, nor does the time"
            " that a pull took where several were open at once."
        )
    elif specification.lost == "skip":
        said.append("What was lost does not depend on the reward it would have brought.")
    return [*said, FIXED]


def _of_quantile(rewards: Quantile, is_product: bool) -> list[str]:
    """What the comparison of quantiles takes for granted (docs/e-lucb.md, Theorem 9)."""
    above, below = f"{100.0 * (1.0 - rewards.q):.10g}%", f"{100.0 * rewards.q:.10g}%"
    fresh = (
        f"A reward lies above its arm's {rewards.title} with probability {above} at most, and below"
        f" it with {below} at most, whatever "
    )
    if is_product:
        together = "rewards that were under way at the same time are independent of each other."
        return [f"{fresh}was seen before it, and {together}"]
    own = "The rewards of an arm come in an order of their own, none chosen or skipped after seeing"
    return [f"{own} something about it. {fresh}the arm's earlier ones were."]


def _of_items(items: ItemSet) -> list[str]:
    """What an evaluation takes for granted (docs/evaluation.md, Theorem 1; e-lucb.md, 2)."""
    own = (
        "Every arm scored the items in a random order of its own, drawn from the seed before any"
        " score was seen; no score was chosen, skipped or made again after seeing it."
    )
    if items.target == "items":
        return [own, "Nothing else: scores are what they are, and arms may depend on each other."]
    drawn = "The items are independent draws from the population whose means are compared."
    return [own, drawn]
