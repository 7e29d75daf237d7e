"""The validated specification: rewards, decision class, policy and error, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bestk.decisions import DecisionClass, decision_from_dict
from bestk.errors import InputError
from bestk.policies import Configured, configure, default_policy
from bestk.rewards import Gaussian, Rewards, rewards_from_dict

if TYPE_CHECKING:
    from bestk.policies.combinatorial import Stepper


@dataclass(frozen=True)
class Problem:
    """Find the best set of `decision` with error at most `delta`, up to slack `epsilon`.

    Every combination that cannot run is refused when it is built. `policy` None means the default
    of the decision class; `variant` None the policy's first variant (faithful), or none where it
    has no variants. With `maximize` False rewards are costs: the smallest are wanted.
    """

    decision: DecisionClass
    rewards: Rewards = field(default_factory=Gaussian)
    delta: float = 0.01
    epsilon: float = 0.0  # per arm for the K best, on the total for other classes
    policy: str | None = None
    variant: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    maximize: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.rewards, Rewards):
            raise InputError(
                f"rewards {self.rewards!r} were refused: give an assumption, such as Bernoulli()"
            )
        if self.policy is None:
            object.__setattr__(self, "policy", default_policy(self.decision))
        self.configure(seed=0)

    def configure(self, seed: int, max_arms: int | None = None) -> Configured:
        """The policy ready to run, its coins drawn from `seed`; `max_arms`: see `configure`."""
        return configure(
            self.policy or default_policy(self.decision),
            self.variant,
            self.params,
            decision=self.decision,
            delta=self.delta,
            epsilon=self.epsilon,
            rewards=self.rewards,
            seed=seed,
            maximize=self.maximize,
            max_arms=max_arms,
        )

    def stepper(self, seed: int = 0) -> Stepper:
        """The policy as ask, tell and answer, an observation at a time."""
        from bestk.policies.combinatorial import Stepper

        return Stepper(self.decision, self.configure(seed), self.rewards)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; `from_dict` reads it back."""
        return {
            "decision": self.decision.to_dict(),
            "rewards": self.rewards.to_dict(),
            "delta": float(self.delta),
            "epsilon": float(self.epsilon),
            "policy": self.policy,
            "variant": self.variant,
            "params": plain(self.params),
            "maximize": self.maximize,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Read what `to_dict` wrote."""
        try:
            return cls(
                decision_from_dict(data["decision"]),
                rewards_from_dict(data["rewards"]),
                data["delta"],
                data["epsilon"],
                data["policy"],
                data["variant"],
                data["params"],
                data["maximize"],
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"not a problem specification: {error!r} is missing or odd") from error


def plain(value: Any) -> Any:
    """A setting as JSON gives it back: tuples and numpy's arrays and numbers are Python's own."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
