"""What a policy in plain Python offers, and what it is told of the problem.

`bestk.policies.register` gives such a class a name; docs/how-to/your-own-policy.md builds one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from bestk.decisions import DecisionClass
from bestk.rewards import Rewards


class Question(Protocol):
    """What a policy may know of a `bestk.Problem` before it has seen a reward."""

    @property
    def decision(self) -> DecisionClass:
        """What may be answered."""
        ...

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        ...

    @property
    def k(self) -> int | None:
        """How many of them are wanted; None where the class is not the K best."""
        ...

    @property
    def rewards(self) -> Rewards:
        """What is assumed of rewards; they are told negated where the problem minimises."""
        ...

    @property
    def delta(self) -> float:
        """The wanted error probability."""
        ...

    @property
    def epsilon(self) -> float:
        """The slack."""
        ...

    @property
    def maximize(self) -> bool:
        """False: rewards are costs, and every policy is told their negatives."""
        ...

    @property
    def params(self) -> Mapping[str, Any]:
        """The policy's own parameters, given or by default."""
        ...


class PythonPolicy(Protocol):
    """A policy in plain Python: started once a run, then asked and told in turns.

    A class may also have `guarantee`, a text: what its author claims. It is printed as the author's
    claim. `bestk.testing.PythonPolicyContract` tests a class.
    """

    def start(self, problem: Question, rng: np.random.Generator) -> None:
        """A run begins: forget everything; `rng` is the only source of randomness to use."""
        ...

    def ask(self) -> Sequence[int]:
        """The arms of the next round, numbered from 0; one may occur repeatedly. Empty: stop."""
        ...

    def tell(self, arm: int, reward: float) -> None:
        """A reward of the round, in the order asked; the larger the better, always."""
        ...

    def answer(self) -> Sequence[int]:
        """The arms answered, in any order: at its stop, and any time once each arm was sampled.

        What it asks for afterwards must not depend on whether it was called.
        """
        ...


METHODS = ("start", "ask", "tell", "answer")
