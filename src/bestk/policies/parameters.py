"""Reading a policy's own settings: its variant and its parameters, checked one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from bestk.arguments import array, count, real, shown
from bestk.bounds import levels as lv
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import EVIDENCE, FloatArray
from bestk.policies.catalogue import EVIDENCE_BOUND, FLAG, Parameter, Policy


def read_variant(policy: Policy, variant: str | None, evidence: bool) -> str | None:
    """The variant that runs; None where no LIL bound is used."""
    if evidence or not policy.variants:
        if variant is not None:
            how = "with bound=evidence " if policy.variants else ""
            raise InputError(
                f"variant '{variant}' was refused: {policy.name} {how}uses no LIL bound and has no"
                " variants"
            )
        return None
    if variant is None:
        return policy.variants[0]
    if variant not in policy.variants:
        raise UnknownName("variant", variant, policy.variants)
    return variant


def read_params(
    policy: Policy, variant: str | None, given: Mapping[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """The variant and every parameter of the policy, the user's or its default."""
    known = {parameter.name: parameter for parameter in policy.parameters}
    for name in given:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(
                f"parameter '{name}' was refused: {policy.name} has no such parameter: {has}"
            )
    params = {
        name: _value(policy, parameter, given[name]) if name in given else parameter.default
        for name, parameter in known.items()
    }
    evidence = params.get("bound") == EVIDENCE_BOUND
    variant = read_variant(policy, variant, evidence)
    if evidence:
        if "eps" in given:
            raise InputError("parameter 'eps' was refused: with bound=evidence there is no LIL")
        del params["eps"]
    elif variant == "heuristic":
        if "eps" in given:
            raise InputError("parameter 'eps' was refused: the heuristic variant is eps = 0")
        params["eps"] = lv.HEURISTIC_EPS
    return variant, params


def _value(policy: Policy, parameter: Parameter, given: Any) -> Any:
    if parameter.choices:
        text = str(given).lower() if parameter.choices == FLAG else given
        if text not in parameter.choices:
            raise UnknownName(f"{parameter.name} of {policy.name}", str(given), parameter.choices)
        return text == "true" if parameter.choices == FLAG else given
    if parameter.whole:
        return _whole(parameter, given)
    parts = given.split(",") if isinstance(given, str) else given
    try:
        if parameter.count == 1:
            return _number(given)
        numbers = [_number(part) for part in parts]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != parameter.count or parameter.count == 1:
        what = "a number" if parameter.count == 1 else f"{parameter.count} numbers"
        raise InputError(
            f"parameter {parameter.name}={shown(given)} was refused: {policy.name} expects {what}"
        )
    return numbers


def _whole(parameter: Parameter, given: Any) -> int:
    with suppress(ValueError):  # refused by name below
        given = int(given) if isinstance(given, str) else given
    return count(given, parameter.name, 1)


def _number(given: Any) -> float:
    """A number, or a text of one as the command line has it."""
    return float(given) if isinstance(given, str) else real(given, "parameter")


def read_weights(given: list[float] | None, rule: lv.Weights, independent: bool) -> lv.Weights:
    """w1, w2, w3 of the hybrid stop: the user's, or those of a rule in N and K."""
    if given is None:
        return rule
    w1, w2, w3 = given
    if not (w1 > 0.0 and w2 > 0.0 and w3 >= 0.0 and abs(math.fsum(given) - 1.0) <= 1e-9):
        raise InputError(
            f"weights {w1:g},{w2:g},{w3:g} were refused: they must add up to 1, the first two"
            " positive, the third not negative"
        )
    if w3 > 0.0 and not independent:
        raise InputError(
            "weights were refused: with independent=false the third must be 0, because the product"
            " of both sides' evidence needs arms that do not depend on each other"
        )
    total = math.fsum(given)
    return lv.Weights(w1 / total, w2 / total, w3 / total)


def read_costs(
    policy: Policy,
    params: Mapping[str, Any],
    given: Sequence[float],
    n_arms: int,
    max_arms: int | None,
) -> FloatArray:
    """What a sample of each arm costs; refused where the proof fixes what is sampled."""
    if policy.radius != EVIDENCE:
        raise InputError(
            f"costs were refused: the theorem of {policy.name} holds only if its own rule chooses"
            " the samples; e-lucb and e-clucb may sample by costs"
        )
    if params.get("rule", "radius") != "radius":
        raise InputError(f"costs were refused: rule={params['rule']} does not look at them")
    if max_arms is not None:
        raise InputError("costs were refused: they are fixed, and with max_arms arms may come")
    costs = array(given, "costs")
    if costs.shape != (n_arms,) or not ((costs > 0.0) & (costs < math.inf)).all():
        raise InputError(
            f"costs={shown(given)} were refused: give a positive number for each of the {n_arms}"
            " arms"
        )
    return costs
