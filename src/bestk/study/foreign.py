"""Studies whose policy is plain Python: it samples and answers, and our evidence judges.

The fold keeps the evidence of the judge (`Problem.judge`: e-lucb's or e-clucb's), which holds
whatever is sampled and whatever is answered (docs/e-lucb.md, Theorems 1, 2 and 6). What the policy
asks for makes the plan, its stop ends the study, and how far its answer is proved is fixed there.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np

from bestk.errors import PolicyError
from bestk.kernels.types import PAIR
from bestk.policies.driving import is_feasible
from bestk.storage.events import Event
from bestk.study.fold import Fold
from bestk.study.intervals import intervals
from bestk.study.rounds import Rounds
from bestk.study.specification import Specification
from bestk.study.stepped import Stepped


class Verdict(NamedTuple):
    """How far an answer is proved: at the study's slack, and at which least one."""

    proved: bool
    epsilon: float | None  # None: at none that is known


class ForeignFold(Fold):
    """Everything that follows from the log of such a study.

    The policy itself is started when it is needed: a study whose policy is not registered here can
    be read.
    """

    def __init__(self, specification: Specification) -> None:
        self.turns = Rounds()
        self.verdict: Verdict | None = None  # on the answer that ended the study
        self._stepped: Stepped | None = None
        super().__init__(specification)

    def _lay(self, arms: list[int]) -> None:
        super()._lay(arms)
        self.is_plain = False  # every pull has its place in a round

    @property
    def blocking(self) -> list[str]:
        """The open pulls that held observations, or the policy, wait for."""
        others = set(super().blocking)
        return [key for key in self.open if key in others or self.turns.is_out(key)]

    # --- folding ----------------------------------------------------------------------------------

    def _ask(self, event: Event) -> None:
        _, key, arm, _, data, _ = event
        is_known = self.knows(key)
        super()._ask(event)
        if data:
            self.turns.begin([arm, *self.waiting])
        if key in self.open and not is_known:
            self.turns.hand_out(key, arm)
        self.waiting = self.turns.next

    def _answer(self, event: Event) -> None:
        _, key, _, reward, _, _ = event
        is_open = key in self.open
        super()._answer(event)
        if is_open:
            self.turns.tell(key, reward)

    def _drop(self, key: str) -> None:
        super()._drop(key)
        self.turns.lose(key)
        self.waiting = self.turns.next

    def _stop(self, changes: int, data: str) -> None:
        """The policy's stop counts, wherever it is; the evidence says what its answer is worth."""
        answer = json.loads(data)
        if self.stopped is None and changes == self.changes and self._may_be_answered(answer):
            self.stopped, self.stopped_at = answer, self.seen
            self._holes_at_stop = sum(self.holes)
            self.verdict = self.judge(answer)

    def _may_be_answered(self, answer: Any) -> bool:
        is_set = isinstance(answer, list) and all(
            type(arm) is int and arm in self.rows for arm in answer
        )
        return is_set and is_feasible(self.stepper.decision, answer)

    # --- deciding and planning --------------------------------------------------------------------

    def decide(self) -> list[int] | None:
        """The policy's answer, once it has stopped."""
        if not self.turns.is_settled or self._call("ask"):
            return None
        return self._call("answer")

    def plan(self) -> list[int] | None:
        """The next round of the policy; None: it stops; empty: the present round is not settled."""
        if not self.turns.is_settled:
            return []
        return self._call("ask") or None

    def present_answer(self) -> list[int]:
        """The policy's, after its last whole round; the judge's where the policy has none.

        It has none if it is not registered here, if it fails, and maybe before every arm has been
        sampled.
        """
        self.failure = None
        if self.turns.done and self.machine.is_whole:
            try:
                return self._call("answer")
            except PolicyError as error:  # the study can be read, whatever came of its policy
                self.failure = str(error)
        return super().present_answer()

    def _call(self, what: str) -> list[int]:
        """Ask the policy for a round or its answer; after an error it is started anew."""
        if self._stepped is None:
            problem, seed = self.specification.problem, self.specification.seed
            self._stepped = Stepped(self.configured, problem, seed)
        stepped, self._stepped = self._stepped, None
        found: list[int] = getattr(stepped, what)(self.turns.done)
        self._stepped = stepped
        return found

    # --- judging ----------------------------------------------------------------------------------

    def judge(self, answer: list[int]) -> Verdict:
        """How far what counts proves an answer, any that is feasible.

        For the K best, bounds at the levels of the judge prove any set M up to the largest upper
        bound outside less the least lower bound inside: all of them hold at once with probability
        1 - delta. The hybrid stop, and other decision classes, are tested for the judge's own
        present answer alone.
        """
        if not answer or not self.machine.is_whole:
            return Verdict(False, None)
        enough = math.inf
        certified = False
        if self.spec.family == PAIR:
            chosen = np.isin(np.arange(self.spec.n_arms), answer)
            low, high = intervals(self.machine)
            gap = float(high[~chosen].max() - low[chosen].min())
            enough, certified = max(0.0, gap), gap <= self.spec.epsilon
        if sorted(answer) == self.stepper.answer():
            certified = certified or self.planner.decide() == sorted(answer)
            least = self.stepper.certifiable_epsilon
            enough = min(enough, math.inf if least is None else least)
        return Verdict(certified, enough if math.isfinite(enough) else None)


def new_fold(specification: Specification) -> Fold:
    """The state of a study before its first event."""
    is_foreign = specification.problem.judge is not None
    return ForeignFold(specification) if is_foreign else Fold(specification)
