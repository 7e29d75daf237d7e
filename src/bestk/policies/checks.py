"""Refusals: combinations of policy, class, rewards and settings that no theorem covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bestk.arguments import integer, real
from bestk.decisions import DecisionClass, TopK
from bestk.errors import InputError
from bestk.kernels import types as t
from bestk.policies.catalogue import CATALOGUE, DEFAULT, STOP, THRESHOLD, Policy
from bestk.rewards import Quantile, Rewards

ERROR = "the wanted error must lie in (0, 1)"
SLACK = "the slack must be 0 or a positive number"


def check(
    policy: Policy, decision: DecisionClass, delta: float, epsilon: float, maximize: bool = True
) -> None:
    """Refuse an error, a slack or a class that the policy cannot have."""
    if not 0.0 < real(delta, "delta", ERROR) < 1.0:
        raise InputError(f"delta={delta} was refused: {ERROR}")
    if not real(epsilon, "epsilon", SLACK) >= 0.0:
        raise InputError(f"epsilon={epsilon} was refused: {SLACK}")
    if epsilon > 0.0 and not policy.slack:
        raise InputError(
            f"epsilon={epsilon} was refused: the stopping rule of {policy.name} cannot use a slack"
        )
    if not isinstance(decision, TopK) and not policy.combinatorial:
        able = ", ".join(name for name, other in CATALOGUE.items() if other.combinatorial)
        raise InputError(
            f"policy {policy.name} was refused: it finds the K largest means; for the class"
            f" {decision.kind} use one of {able}"
        )
    if policy.single and isinstance(decision, TopK) and decision.k != 1:
        raise InputError(
            f"K={decision.k} was refused: {policy.name} finds the single best arm, K must be 1"
        )
    if maximize and decision.minimise_only:
        raise InputError(
            "maximising was refused: a path through a graph with cycles can only be minimised, with"
            " costs that are not negative"
        )


def check_open(
    name: str, decision: DecisionClass, evidence: bool, values: Mapping[str, Any], max_arms: int
) -> None:
    """Refuse what Theorem 5 of docs/e-lucb.md does not cover."""
    if integer(max_arms, "max_arms") < decision.n_arms:
        raise InputError(
            f"max_arms={max_arms} was refused: it must be a whole number, at least the"
            f" {decision.n_arms} arms there are"
        )
    if not isinstance(decision, TopK):
        raise InputError(
            f"max_arms was refused: the class {decision.kind} names its arms; only where the K best"
            " are wanted may arms come and go"
        )
    if not evidence or THRESHOLD in values:
        raise InputError(
            f"max_arms was refused: the bounds of {name} depend on how many arms there are; use"
            " e-lucb, or bound=evidence where the policy has it"
        )
    if values.get("weights") is not None:
        raise InputError("weights were refused: where arms come and go there is no hybrid stop")


def check_quantile(
    rewards: Rewards, policy: Policy, decision: DecisionClass, evidence: bool, glr: bool
) -> None:
    """Refuse what compares means, or sums of them, where quantiles are to be compared."""
    if not isinstance(rewards, Quantile):
        return
    if not isinstance(decision, TopK):
        raise InputError(
            f"quantile rewards were refused: the class {decision.kind} compares totals, and a total"
            " of quantiles is not the quantile of a total; only the K best may be compared by"
            " quantiles"
        )
    if not evidence or glr or policy.family != t.PAIR:
        able = ", ".join(
            name
            for name, other in CATALOGUE.items()
            if other.family == t.PAIR and any(p.name == "bound" for p in other.parameters)
        )
        raise InputError(
            f"quantile rewards were refused: {policy.name} compares means by their scatter, sigma;"
            f" use e-lucb, or bound=evidence with one of {able}"
        )


def refuse_quantile(rewards: Rewards, name: str) -> None:
    """Refuse quantiles for a policy in Python of ours: all of them compare means."""
    if isinstance(rewards, Quantile):
        raise InputError(
            f"quantile rewards were refused: {name} compares means; use e-lucb, with a budget too"
        )


def check_items(
    policy: Policy, decision: DecisionClass, items: int, values: Mapping[str, Any], is_open: bool
) -> None:
    """Refuse what Theorem 1 of docs/evaluation.md does not cover."""
    if integer(items, "items") < 1:
        raise InputError(f"items={items} were refused: there must be one at least")
    if policy.name != DEFAULT or not isinstance(decision, TopK):
        raise InputError(
            f"items were refused: the K best on a finite set of items are found by e-lucb, not by"
            f" {policy.name} on the class {decision.kind}"
        )
    if is_open:
        raise InputError("max_arms was refused: the arms of an evaluation are fixed")
    if not values["independent"]:
        raise InputError(
            "independent=false was refused: every arm scores the items in an order of its own, so"
            " that shared items do no harm"
        )


def refuse_stop(values: Mapping[str, Any], decision: DecisionClass) -> None:
    """Refuse `stop` where the class has a rule of its own."""
    if values.get(STOP) is not None:
        raise InputError(
            f"stop={values[STOP]} was refused: for the class {decision.kind} e-clucb compares arms"
            " that replace each other, which is better there"
        )
