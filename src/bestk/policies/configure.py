"""From a name and its settings to the numbers a kernel reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bestk.errors import InputError, UnknownName
from bestk.kernels import types as t
from bestk.policies import levels as lv
from bestk.policies.catalogue import CATALOGUE, RULES, Parameter, Policy
from bestk.rewards import Rewards


@dataclass(frozen=True)
class Configured:
    """A policy ready to run: what it is called, what is proved, what the kernel reads."""

    policy: Policy
    variant: str | None
    params: dict[str, Any]
    guarantee: float | None  # the error probability that is proved; None for a heuristic
    spec: t.Spec


def find(name: str) -> Policy:
    """The catalogue entry of that name."""
    if name not in CATALOGUE:
        raise UnknownName("policy", name, CATALOGUE)
    return CATALOGUE[name]


def _variant(policy: Policy, variant: str | None) -> str | None:
    if not policy.variants:
        if variant is not None:
            raise InputError(
                f"variant '{variant}' was refused: {policy.name} uses no LIL bound and has no"
                " variants"
            )
        return None
    if variant is None:
        return policy.variants[0]
    if variant not in policy.variants:
        raise UnknownName("variant", variant, policy.variants)
    return variant


def _value(policy: Policy, parameter: Parameter, given: Any) -> Any:
    if parameter.choices:
        if given not in parameter.choices:
            raise UnknownName(f"{parameter.name} of {policy.name}", str(given), parameter.choices)
        return given
    try:
        return float(given)
    except (TypeError, ValueError):
        raise InputError(
            f"parameter {parameter.name}={given!r} was refused: {policy.name} expects a number"
        ) from None


def _params(policy: Policy, variant: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in policy.parameters}
    for name in given:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"parameter '{name}' was refused: {policy.name} has no such: {has}")
    if variant == "heuristic" and "eps" in given:
        raise InputError("parameter 'eps' was refused: the heuristic variant is eps = 0")
    params = {
        name: _value(policy, parameter, given.get(name, parameter.default))
        for name, parameter in known.items()
    }
    if variant == "heuristic":
        params["eps"] = lv.HEURISTIC_EPS
    return params


def _lil_ucb(variant: str | None, nu: float, n_arms: int, eps: float) -> tuple[float, float, float]:
    """(delta, 1 + beta, lambda) of lil'UCB."""
    if variant == "heuristic":  # Jamieson et al. (2014), Section 4; their own delta is nu/5
        return nu, 1.5, 1.0 + 10.0 / n_arms
    beta = 1.0
    return lv.lil_ucb_delta(nu, eps), 1.0 + beta, ((2.0 + beta) / beta) ** 2


def configure(
    name: str,
    variant: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    n_arms: int,
    k: int,
    delta: float,
    epsilon: float,
    rewards: Rewards,
    seed: int,
) -> Configured:
    """Check every setting and resolve it to kernel numbers; refuse what no theorem covers."""
    policy = find(name)
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta={delta} was refused: the wanted error must lie in (0, 1)")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise InputError(f"epsilon={epsilon} was refused: the slack must be 0 or a positive number")
    if epsilon > 0.0 and not policy.slack:
        raise InputError(
            f"epsilon={epsilon} was refused: {name} stops on sample counts and cannot use a slack"
        )
    if policy.single and k != 1:
        raise InputError(f"K={k} was refused: {name} finds the single best arm, K must be 1")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"seed {seed} was refused: it must be an integer from 0 to 2^63 - 1")
    variant = _variant(policy, variant)
    values = _params(policy, variant, params or {})
    eps = values.get("eps", 0.0)
    scale, lam, high, low = 1.0, 0.0, 1.0, 1.0
    if policy.family == t.LIL_UCB:
        high, scale, lam = _lil_ucb(variant, delta, n_arms, eps)
    elif policy.radius == t.LIL:
        shape = values.get("levels", policy.levels)
        own = delta if variant == "heuristic" else lv.faithful_delta(shape, delta, n_arms, eps)
        high, low = lv.split_levels(shape, own, n_arms, k)
        if variant == "faithful":
            lv.check_lemma(max(high, low), eps)
    return Configured(
        policy=policy,
        variant=variant,
        params=values,
        guarantee=delta if policy.proved and variant != "heuristic" else None,
        spec=t.Spec(
            n_arms=n_arms,
            k=k,
            family=policy.family,
            radius=policy.radius,
            rule=RULES[values["rule"]] if "rule" in values else policy.rule,
            seed=seed,
            sigma=float(rewards.sigma),
            eps=float(eps),
            level_high=float(high),
            level_low=float(low),
            scale=float(scale),
            nu=float(delta),
            lam=float(lam),
            epsilon=float(epsilon),
        ),
    )
