"""The validated specification: rewards, decision class, policy and error, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bestk.arguments import array, flag, real, scalar, shown, string
from bestk.bounds.levels import EDITION, EDITIONS
from bestk.decisions import DecisionClass, decision_from_dict
from bestk.decisions.base import require_decision
from bestk.errors import InputError
from bestk.policies import Configured, configure, default_policy
from bestk.policies.catalogue import BOUNDS, SETS, STOP
from bestk.policies.configure import as_recorded
from bestk.policies.refusals import ERROR, SLACK
from bestk.rewards import Gaussian, Rewards, require_rewards, rewards_from_dict

if TYPE_CHECKING:
    from bestk.policies.stepper import Stepper


@dataclass(frozen=True)
class Problem:
    """Find the best set of `decision` with error at most `delta`, up to slack `epsilon`.

    Every combination that cannot run is refused when it is built. `policy` None means the default
    of the decision class; `variant` None the policy's first variant (faithful), or none where it
    has no variants. With `maximize` False rewards are costs: the smallest are wanted. `costs` are
    what sampling an arm costs: cheap arms are sampled more (docs/e-lucb.md, "Costs").
    """

    decision: DecisionClass
    rewards: Rewards = field(default_factory=Gaussian)
    delta: float = 0.01
    epsilon: float = 0.0  #: per arm for the K best, on the total for other classes
    policy: str | None = None
    variant: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    maximize: bool = True
    items: int | None = None  #: how many items arms are scored on, each once; None: samples
    costs: tuple[float, ...] | None = None  #: of a sample of each arm; None: all alike
    edition: int = EDITION  #: of the rules: a study stays under those it was begun with

    def __post_init__(self) -> None:
        require_rewards(self.rewards)
        require_decision(self.decision)
        tidy: dict[str, Any] = {  # NumPy's numbers and the like become Python's
            "delta": real(self.delta, "delta", ERROR),
            "epsilon": real(self.epsilon, "epsilon", SLACK),
            "maximize": flag(self.maximize, "maximize"),
        }
        for name in ("policy", "variant"):
            if getattr(self, name) is not None:
                string(getattr(self, name), name)
        if not isinstance(self.params, Mapping):
            raise InputError(f"params={shown(self.params)} were refused: give a dictionary")
        if type(self.edition) is not int or self.edition not in EDITIONS:
            raise InputError(
                f"edition={shown(self.edition)} was refused: this bestk knows the editions"
                f" {', '.join(map(str, EDITIONS))} of its rules"
            )
        if self.costs is not None:
            tidy["costs"] = tuple(array(self.costs, "costs").ravel().tolist())
        if self.policy is None:
            tidy["policy"] = default_policy(self.decision)
        for name, value in tidy.items():
            object.__setattr__(self, name, value)
        # what a study records: studies of version 0.1 say nothing of it, and stop by bounds
        if self.configure(seed=0).params.get(STOP) == SETS:
            object.__setattr__(self, "params", {**self.params, STOP: SETS})

    def configure(self, seed: int, max_arms: int | None = None) -> Configured:
        """The policy ready to run, its coins drawn from `seed`; `max_arms`: see `configure`."""
        return configure(
            self.policy or default_policy(self.decision), self.variant, self.params,
            decision=self.decision, delta=self.delta, epsilon=self.epsilon, rewards=self.rewards,
            seed=seed, maximize=self.maximize, max_arms=max_arms, items=self.items,
            costs=self.costs, edition=self.edition,
        )  # fmt: skip

    def stepper(self, seed: int = 0) -> Stepper:
        """The policy as ask, tell and answer, an observation at a time."""
        from bestk.policies.stepper import Stepper

        return Stepper(self.decision, self.configure(seed), self.rewards)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; `from_dict` reads it back. Version 0.1 knew no editions."""
        edition = {"edition": self.edition} if self.edition > 1 else {}
        return {
            "decision": self.decision.to_dict(),
            "rewards": self.rewards.to_dict(),
            "delta": float(self.delta),
            "epsilon": float(self.epsilon),
            "policy": self.policy,
            "variant": self.variant,
            "params": {
                name: each
                for name, each in plain(self.params).items()
                if (name, each) != (STOP, BOUNDS)
            },
            "maximize": self.maximize,
            **({} if self.items is None else {"items": self.items}),
            **({} if self.costs is None else {"costs": list(self.costs)}),
            **edition,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Read what `to_dict` wrote."""
        try:
            decision, rewards = decision_from_dict(data["decision"]), data["rewards"]
            rest = ("delta", "epsilon", "policy", "variant", "maximize")
            given = {name: data[name] for name in rest}
            given["params"] = as_recorded(data["policy"], decision, data["params"])
            given |= {"items": data.get("items"), "costs": data.get("costs")}
            given |= {"edition": data.get("edition", 1)}
            return cls(decision, rewards_from_dict(rewards), **given)
        except (KeyError, TypeError) as error:
            raise InputError(f"not a problem specification: {error!r} is missing or odd") from error


def plain(value: Any) -> Any:
    """A setting as JSON gives it back: tuples and numpy's arrays and numbers are Python's own."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.generic):
        return scalar(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return float(value) if isinstance(value, Decimal | Fraction) else value
