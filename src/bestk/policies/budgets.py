"""A budget where a policy spends a fixed one: it is a parameter of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bestk.arguments import count
from bestk.errors import InputError
from bestk.policies.catalogue import BUDGET
from bestk.policies.registry import find_or_absent


def spend(
    policy: str | None, params: Mapping[str, Any] | None, budget: int | None
) -> tuple[Mapping[str, Any] | None, int | None]:
    """Parameters with the budget in them, and none left for others to keep to.

    Of a policy without a fixed budget both are as they were: it is cut off there.
    """
    if budget is None or not isinstance(policy, str) or not find_or_absent(policy).budget:
        return params, budget
    pulls, given = count(budget, "budget", 1), {} if params is None else params
    if not isinstance(given, Mapping) or given.get(BUDGET.name, pulls) != pulls:
        raise InputError(f"budget={pulls} was refused: params name another one")
    return {**given, BUDGET.name: pulls}, None
