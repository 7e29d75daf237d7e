"""The state of a study as a fold over its log: the same events give the same state and next asks.

Time never acts here: a lapsed lease counts once `expired` is in the log. Of two answers to one pull
the first in log order counts, which is how processes agree without talking to each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestk.decisions import DecisionClass
from bestk.kernels import step
from bestk.kernels.types import ASKS, LUCB_ROUNDS, ROUND, SEEN, State
from bestk.policies import Configured
from bestk.policies.combinatorial import Stepper
from bestk.storage import events as ev
from bestk.storage.events import Event


@dataclass(slots=True)
class Open:
    """A pull that was handed out and not answered yet."""

    arm: int
    index: int
    at: float
    failures: int = 0


class Fold:
    """Everything that follows from a study's log."""

    def __init__(self, decision: DecisionClass, configured: Configured) -> None:
        self.configured = configured
        self.spec = configured.spec
        self.stepper = Stepper(decision, configured)
        self.stepper.reset(0)
        self.state: State = self.stepper.state
        self.seen = 0  # events folded
        self.rounds = 0  # asks of the policy
        self.waiting: list[int] = []  # arms of the present round that are yet to be handed out
        self.open: dict[str, Open] = {}
        self.answers: dict[str, float] = {}  # of pulls, and of observations by their id
        self.handed = 0  # pulls so far
        self.failed = np.zeros(self.spec.n_arms, np.int64)
        self.sums = np.zeros(self.spec.n_arms)  # of rewards as they were told
        self.stopped: list[int] | None = None  # the certified answer

    def apply(self, events: Iterable[Event]) -> None:
        """Go on from where the fold stands."""
        for event in events:
            self.seen += 1
            kind = event.kind
            if kind == ev.TOLD:
                pull = self.open.pop(event.key, None)
                if pull is not None:  # otherwise a second answer, or one to a pull given up
                    self.answers[event.key] = event.reward
                    self._tell(pull.arm, event.reward)
            elif kind == ev.ASKED:
                self._ask(event)
            elif kind == ev.OBSERVED:
                if event.key not in self.answers:
                    self.answers[event.key] = event.reward
                    self._tell(event.arm, event.reward)
            elif kind in (ev.FORGOTTEN, ev.EXPIRED):
                self.open.pop(event.key, None)
            elif kind == ev.FAILED:
                if event.key in self.open:
                    pull = self.open[event.key]
                    pull.failures += 1
                    self.failed[pull.arm] += 1
            elif kind == ev.STOPPED and self.stopped is None:
                self.stopped = json.loads(event.data)

    def _tell(self, arm: int, reward: float) -> None:
        self.sums[arm] += reward
        step.tell(self.state, self.spec, arm, self.spec.sign * reward)

    def _ask(self, event: Event) -> None:
        if event.data:  # the first pull of a round
            self.rounds += 1
            self.state.clock[ASKS] = self.rounds
            whole = self.state.clock[SEEN] == self.spec.n_arms
            if self.spec.radius == LUCB_ROUNDS and whole:
                step.next_round(self.state)
            self.waiting = json.loads(event.data)[1:]
        elif self.waiting:
            self.waiting.pop(0)
        self.open[event.key] = Open(event.arm, self.handed, event.at)
        self.handed += 1

    # --- planning: never changes what the fold says -----------------------------------------------

    def plan(self) -> list[int]:
        """The arms of the next round; empty when the rule says stop, on told values alone."""
        state, spec = self.state, self.spec
        if state.clock[SEEN] < spec.n_arms:
            return [self._least()]
        arms = self._asked(state)
        if not arms or not self.open:
            return arms
        shadow = self._shadow()
        return self._asked(shadow) or [self._least()]

    def _asked(self, state: State) -> list[int]:
        """What the policy wants in a state; its clocks are put back."""
        clock = state.clock
        before = clock[ROUND]
        clock[ASKS] = self.rounds
        self.stepper.state = state
        try:
            return self.stepper.ask()
        finally:
            self.stepper.state = self.state
            clock[ASKS], clock[ROUND] = self.rounds, before

    def _shadow(self) -> State:
        """The state as if every open pull had come back with its arm's mean."""
        shadow = copy_state(self.state)
        for pull in self.open.values():
            step.tell(shadow, self.spec, pull.arm, self.state.means[pull.arm])
        return shadow

    def _least(self) -> int:
        """The arm with the fewest samples, told and open; the first of several."""
        counts = self.state.counts.copy()
        for pull in self.open.values():
            counts[pull.arm] += 1
        return int(np.argmin(counts))


def copy_state(state: State) -> State:
    """A state of its own; tables that depend on nothing told are shared."""
    shared = ("radii", "table", "evidence")
    fields: dict[str, Any] = {
        name: value if name in shared else value.copy() for name, value in state._asdict().items()
    }
    return State(**fields)
