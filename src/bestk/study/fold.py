"""The state of a study as a fold over its log: the same events give the same state and next asks.

Time never acts here: a lapsed lease counts once `expired` is in the log. Of two answers to one pull
the first in log order counts, which is how processes agree without talking to each other.

Arms are numbered in the order in which they came. The policy knows the present ones alone, a row
each: in a closed study row i is arm i; where arms come and go the rows are laid anew.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bestk.decisions.labels import freeze
from bestk.errors import StorageError
from bestk.kernels import step
from bestk.kernels.jit import direct
from bestk.kernels.types import ASKS, LUCB_ROUNDS, ROUND, SEEN, IntArray, State
from bestk.policies.combinatorial import Stepper
from bestk.storage import events as ev
from bestk.storage.events import ASKED, TOLD, Event
from bestk.study.specification import Specification

CHUNK = 100_000  # observations handed to the kernel at a time
SHARED = ("radii", "table", "evidence")  # parts of a State that depend on nothing told
OF_ARMS = ("counts", "sums", "means", "spread", "levels")  # an arm's statistics, by row
NEW_ROUND = -1  # in place of an arm
ALONE = "+"  # what ASKED says of a round of one arm


class Open(NamedTuple):
    """A pull that was handed out and not answered yet."""

    arm: int
    order: int  # among all pulls of the study
    at: float


_open = partial(tuple.__new__, Open)  # quicker than its own constructor


class Fold:
    """Everything that follows from a study's log."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.seen = 0  # events folded
        self.first = self.last = 0.0  # when they were written; for people alone
        self.told = 0  # observations that count
        self.rounds = 0  # asks of the policy
        self.handed = 0  # pulls so far
        self.waiting: list[int] = []  # arms of the present round that are yet to be handed out
        self.open: dict[str, Open] = {}
        self.failures: dict[str, int] = {}  # of open pulls
        self.answers: dict[str, float] = {}  # to pulls
        self.observed: dict[str, tuple[int, float]] = {}  # arm and reward, by the user's id
        self.stopped: list[int] | None = None  # the certified answer
        self.all_labels: list[Hashable] = list(specification.labels)
        self.numbers = {label: arm for arm, label in enumerate(self.all_labels)}
        self.newcomers: dict[int, Hashable] = {}  # labels that only this process can hold
        self.sums = [0.0] * len(self.all_labels)  # of rewards as they were told
        self.failed = [0] * len(self.all_labels)
        self.given_up = [0] * len(self.all_labels)  # pulls forgotten or expired
        self._told: list[int] = []  # rows of observations that the policy has yet to be told
        self._rewards: list[float] = []  # theirs, as they were told
        self._shelf: dict[int, dict[str, Any]] = {}  # statistics of withdrawn arms
        self.changes = 0  # how often arms came or went
        self._lay(list(range(len(self.all_labels))))

    def _lay(self, arms: list[int]) -> None:
        """A state with a row for each of these arms."""
        self.arms = arms
        self.rows = {arm: row for row, arm in enumerate(arms)}
        decision, self.configured = self.specification.configure(len(arms))
        self.spec = self.configured.spec
        self.stepper = Stepper(decision, self.configured)
        self.state: State = self.stepper.state
        self.pending: IntArray | None = None  # open pulls of every row, counted when needed
        self._shadow: State | None = None
        self._tell = direct(step.tell, self.state, self.spec, 0, 0.0)
        step.reset(self.state, self.changes)  # fresh coins: rows may stand for other arms now

    @property
    def labels(self) -> list[Hashable]:
        """Of the present arms, by row."""
        return [self.all_labels[arm] for arm in self.arms]

    @property
    def is_whole(self) -> bool:
        """Whether every arm has been observed."""
        return bool(self.state.clock[SEEN] == self.spec.n_arms)

    # --- folding ----------------------------------------------------------------------------------

    def apply(self, events: Iterable[Event]) -> None:
        """Go on from where the fold stands."""
        told, rewards = self._told, self._rewards
        open_, answers, sums, rows = self.open, self.answers, self.sums, self.rows
        counts_rounds, pending = self.spec.radius == LUCB_ROUNDS, self.pending
        for event in events:
            kind, key, arm, reward, data, at = event
            self.seen += 1
            self.last = at
            if kind == ASKED:
                if data:  # the first pull of a round
                    self.rounds += 1
                    self.waiting = list(map(int, data[1:].split(","))) if data != ALONE else []
                    if counts_rounds:
                        told.append(NEW_ROUND)
                        rewards.append(0.0)
                elif self.waiting:
                    self.waiting.pop(0)
                if arm in rows and key not in open_ and key not in answers:
                    # otherwise withdrawn by another process at that moment, or a name used twice
                    open_[key] = _open((arm, self.handed, at))
                    if pending is not None:
                        pending[rows[arm]] += 1
                    if self._shadow is not None:
                        self._count(self._shadow, rows[arm])
                self.handed += 1
            elif kind == TOLD:
                pull = open_.pop(key, None)
                if pull is not None:  # otherwise a second answer, or one to a pull given up
                    answers[key] = reward
                    row = rows[pull[0]]
                    if pending is not None:
                        pending[row] -= 1
                    sums[pull[0]] += reward
                    told.append(row)
                    rewards.append(reward)
            elif kind == ev.OBSERVED:
                if key not in self.observed and arm in rows:
                    self.observed[key] = arm, reward
                    sums[arm] += reward
                    told.append(rows[arm])
                    rewards.append(reward)
            else:
                self._observe()
                self._rare(event)
                rows, pending = self.rows, self.pending
            if len(told) >= CHUNK:
                self._observe()
        self._observe()

    def _observe(self) -> None:
        """Tell the policy what was gathered."""
        if not self._told:
            return
        self._shadow = None
        if len(self._told) == 1 and self._told[0] >= 0:
            self.told += 1
            self._tell(self.state, self.spec, self._told[0], self.spec.sign * self._rewards[0])
        else:
            arms = np.array(self._told, np.int64)
            self.told += int((arms >= 0).sum())
            step.tell_many(self.state, self.spec, arms, self.spec.sign * np.array(self._rewards))
        self._told.clear()
        self._rewards.clear()

    def _rare(self, event: Event) -> None:
        kind, key, arm, _, data, _ = event
        if kind in (ev.FORGOTTEN, ev.EXPIRED):
            self._drop(key)
        elif kind == ev.FAILED:
            if key in self.open:
                self.failures[key] = self.failures.get(key, 0) + 1
                self.failed[self.open[key].arm] += 1
        elif kind == ev.STOPPED:
            if self.stopped is None and arm == self.changes:  # of the arms that are there
                self.stopped = json.loads(data)
        elif kind == ev.ARM_ADDED:
            self._admit(arm, freeze(json.loads(data)) if data else self.newcomers.pop(arm))
        elif kind == ev.ARM_WITHDRAWN:
            self._withdraw(arm)
        elif kind == ev.CREATED:
            self.first = self.first or event.at
        else:
            raise StorageError(f"event {self.seen} was refused: kind {kind} is of a newer bestk")

    def _drop(self, key: str) -> None:
        pull = self.open.pop(key, None)
        if pull is not None:
            self._shadow = None
            self.given_up[pull.arm] += 1
            if self.pending is not None:
                self.pending[self.rows[pull.arm]] -= 1

    # --- arms that come and go --------------------------------------------------------------------

    def _admit(self, arm: int, label: Hashable) -> None:
        if arm in self.rows or arm > len(self.all_labels):
            return  # another process was quicker
        if arm < len(self.all_labels):
            if label != self.all_labels[arm]:
                return  # another took the number first
        else:
            if label in self.numbers:
                return
            self.numbers[label] = arm
            self.all_labels.append(label)
            self.sums.append(0.0)
            self.failed.append(0)
            self.given_up.append(0)
        self._change([*self.arms, arm])

    def _withdraw(self, arm: int) -> None:
        if arm in self.rows and len(self.arms) > self.spec.k + 1:
            for key in [key for key, pull in self.open.items() if pull.arm == arm]:
                self._drop(key)
            self._change([other for other in self.arms if other != arm])

    def _change(self, arms: list[int]) -> None:
        """Other arms from now on; every arm keeps its statistics, and a stop must be found anew."""
        for arm, row in self.rows.items():
            self._shelf[arm] = {
                name: getattr(self.state, name)[row].copy() for name in self._kept()
            }
        self.changes += 1
        self._lay(arms)
        for arm in arms:
            for name, value in self._shelf.pop(arm, {}).items():
                getattr(self.state, name)[self.rows[arm]] = value
        step.rebuild(self.state, self.spec)
        self.waiting = [arm for arm in self.waiting if arm in self.rows]
        self.stopped = None

    def _kept(self) -> list[str]:
        """The statistics that this policy has a row of for every arm."""
        n = self.spec.n_arms
        return [name for name in OF_ARMS if len(getattr(self.state, name)) == n]

    # --- planning: never changes what the fold says -----------------------------------------------

    def plan(self) -> list[int]:
        """The arms of the next round; empty when the rule says stop, on told values alone."""
        if not self.is_whole:
            return [self._least()]
        rows = self._asked(self.state)
        if rows and self.open:
            if self._shadow is None:
                self._shadow = self._shadowed()
            rows = self._asked(self._shadow)
            if not rows:
                return [self._least()]
        return [self.arms[row] for row in rows]

    def answer(self) -> list[int]:
        """The arms of the present answer."""
        return [self.arms[row] for row in self.stepper.answer()]

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

    def _shadowed(self) -> State:
        """The state as if every open pull had come back with its arm's mean."""
        fields = self.state._asdict()
        for name in fields.keys() - SHARED:
            fields[name] = fields[name].copy()
        shadow = State(**fields)
        for pull in self.open.values():
            self._count(shadow, self.rows[pull.arm])
        return shadow

    def _count(self, shadow: State, row: int) -> None:
        self._tell(shadow, self.spec, row, float(self.state.means[row]))

    def _least(self) -> int:
        """The arm with the fewest samples, told and open; the first of several."""
        if self.pending is None:
            self.pending = np.zeros(len(self.arms), np.int64)
            for pull in self.open.values():
                self.pending[self.rows[pull.arm]] += 1
        return self.arms[int(np.argmin(self.state.counts + self.pending))]
