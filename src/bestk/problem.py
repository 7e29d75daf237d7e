"""The validated specification: rewards, decision class, policy and error, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bestk.decisions import TopK
from bestk.errors import InputError
from bestk.policies import DEFAULT, Configured, configure
from bestk.rewards import Gaussian, Rewards, make_rewards


@dataclass(frozen=True)
class Problem:
    """Find the best set of `decision` with error at most `delta`, up to slack `epsilon`.

    Every combination that cannot run is refused when it is built. `variant` None means the
    policy's first variant (faithful), or none where the policy has no variants.
    """

    decision: TopK
    rewards: Rewards = field(default_factory=Gaussian)
    delta: float = 0.01
    epsilon: float = 0.0
    policy: str = DEFAULT
    variant: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.configure(seed=0)

    def configure(self, seed: int) -> Configured:
        """The policy ready to run, its coins drawn from `seed`."""
        return configure(
            self.policy,
            self.variant,
            self.params,
            n_arms=self.decision.n_arms,
            k=self.decision.k,
            delta=self.delta,
            epsilon=self.epsilon,
            rewards=self.rewards,
            seed=seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; `from_dict` reads it back."""
        return {
            "decision": {"class": "top-k", "n_arms": self.decision.n_arms, "k": self.decision.k},
            "rewards": {"family": self.rewards.name, "sigma": self.rewards.sigma},
            "delta": self.delta,
            "epsilon": self.epsilon,
            "policy": self.policy,
            "variant": self.variant,
            "params": dict(self.params),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Read what `to_dict` wrote."""
        try:
            decision, rewards = data["decision"], data["rewards"]
            return cls(
                TopK(decision["n_arms"], decision["k"]),
                make_rewards(rewards["family"], rewards["sigma"]),
                data["delta"],
                data["epsilon"],
                data["policy"],
                data["variant"],
                data["params"],
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"not a problem specification: {error!r} is missing or odd") from error
