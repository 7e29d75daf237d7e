"""A policy in Python held to its contract: what it asks for and answers is checked.

Simulations and studies step policies by this alone, so that both see the same policy.
"""

from __future__ import annotations

import operator
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from bestk.arguments import shown
from bestk.decisions import DecisionClass, TopK
from bestk.errors import BestkError, PolicyError
from bestk.policies.catalogue import BUDGET
from bestk.policies.configure import Configured
from bestk.policies.protocol import Question

HERE = Path(__file__).parent


class Driven:
    """One run of a policy in Python; `question` holds its parameters, resolved."""

    def __init__(
        self, configured: Configured, question: Question, rng: np.random.Generator
    ) -> None:
        policy = configured.policy
        self.name, self.decision = policy.name, question.decision
        self.sign = configured.spec.sign
        self.left = configured.params.get(BUDGET.name) if policy.budget else None
        with _Blamed(f"policy {self.name} could not be started"):
            self._policy = policy.make()
            self._policy.start(question, rng)
        self._tell, self._blamed = self._policy.tell, _Blamed(f"policy {self.name} failed")

    def ask(self) -> list[int]:
        """The arms of the next round; empty to stop."""
        with self._blamed:
            arms = _read(self._policy.ask(), self.decision.n_arms, f"policy {self.name} asked for")
        if self.left is not None:
            self.left -= len(arms)
            if self.left < 0:
                raise PolicyError(
                    f"policy {self.name} asked for {-self.left} pulls more than its budget"
                )
        return arms

    def tell(self, arm: int, reward: float) -> None:
        """A reward, as it was measured: costs are negated here."""
        with self._blamed:
            self._tell(arm, self.sign * reward)

    def answer(self) -> list[int]:
        """Its answer, a feasible set, lowest index first."""
        said = f"policy {self.name} answered"
        with self._blamed:
            arms = sorted(_read(self._policy.answer(), self.decision.n_arms, said))
        if not is_feasible(self.decision, arms):
            what = f"K={self.decision.k} arms" if isinstance(self.decision, TopK) else "a set"
            raise PolicyError(
                f"{said} {shown(arms)}: not {what} of the class {self.decision.kind}, each once"
            )
        return arms


class _Blamed:
    """What the code of a policy raises becomes an error that names the policy and the line."""

    def __init__(self, said: str) -> None:
        self.said = said

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _: object, error: BaseException | None, trace: TracebackType | None) -> None:
        """Errors of bestk, such as a refused budget, speak for themselves."""
        if not isinstance(error, Exception) or isinstance(error, BestkError):
            return
        paths = ((Path(at.filename), at.lineno) for at in traceback.extract_tb(trace))
        its_own = [(path, line) for path, line in paths if path.parent != HERE][:1]
        where = "".join(f" ({path.name}, line {line})" for path, line in its_own)
        raise PolicyError(f"{self.said}: {type(error).__name__}: {error}{where}") from error


def _read(given: Any, n_arms: int, said: str) -> list[int]:
    try:
        len(given)  # an iterator, which may have no end, is refused
        arms = [operator.index(arm) for arm in given]
    except TypeError:
        raise PolicyError(f"{said} {shown(given)}: a sequence of arm numbers is needed") from None
    if arms and not (min(arms) >= 0 and max(arms) < n_arms):
        odd = next(arm for arm in arms if not 0 <= arm < n_arms)
        raise PolicyError(f"{said} arm {odd}: arms are numbered 0 to {n_arms - 1}")
    return arms


def is_feasible(decision: DecisionClass, arms: Sequence[int]) -> bool:
    """Whether these arms are a set that may be answered.

    With weight 1 on them and -1 elsewhere any other set weighs less. Where weights must not be
    positive, arms outside weigh more than all others together: then a set is feasible, and needs
    all of its arms, if the best one is the set itself.
    """
    chosen = np.zeros(decision.n_arms, np.bool_)
    chosen[list(arms)] = True
    if len(set(arms)) < len(arms):
        return False
    if isinstance(decision, TopK):
        return len(arms) == decision.k
    inside, outside = (-1.0, -1.0 - decision.n_arms) if decision.minimise_only else (1.0, -1.0)
    return np.array_equal(decision.best(np.where(chosen, inside, outside)), chosen)


def policy_generator(seed: int, run: int) -> np.random.Generator:
    """What a policy in Python draws from in a run: independent of rewards and of scheduling."""
    return np.random.Generator(np.random.Philox(key=[seed, 0], counter=[0, 0, 0, run]))
