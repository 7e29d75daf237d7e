"""The state of a study as a fold over its log: the same events give the same state and next asks.

Time never acts here: a lapsed lease counts once `expired` is in the log. Of two answers to one pull
the first in log order is taken, which is how processes agree without talking to each other.

Observations *count* in the order in which they were asked for (docs/studies.md, "The order of
answers"): the state that stops, bounds and certifies is told of the longest prefix of pulls that
has come back. What comes back before its turn is held until all earlier pulls have. A pull that was
given up leaves a hole, which is skipped or counted as the worst that it can have been. Studies of
version 0.1 count answers as they arrive.

Arms are numbered in the order in which they came. The policy knows the present ones alone, a row
each: in a closed study row i is arm i; where arms come and go the rows are laid anew.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from bestk.compiled.programs import seconds_waited
from bestk.decisions.labels import freeze
from bestk.errors import StorageError
from bestk.kernels import step
from bestk.kernels.types import LUCB_ROUNDS
from bestk.policies.stepper import Stepper
from bestk.storage import events as ev
from bestk.storage.events import ALONE, ASKED, OBSERVED, TOLD, Event
from bestk.study import answered
from bestk.study.extras import Extras
from bestk.study.items import Orders
from bestk.study.order import Open, Order, opened
from bestk.study.planning import Planner, add_hole
from bestk.study.pulls import Holders
from bestk.study.rows import kept_rows, put_back
from bestk.study.specification import Specification
from bestk.study.tally import Tally

CHUNK = 100_000  # observations handed to the kernel at a time
NEW_ROUND = -1  # in place of a row


class Fold:
    """Everything that follows from a study's log."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.seen = 0  # events folded
        self.first = self.last = 0.0  # when they were written; for people alone
        self.waited, self._waited_before = 0.0, seconds_waited()  # for machine code, of that time
        self.told = 0  # observations, counted or held
        self.rounds = 0  # asks of the policy
        self.handed = 0  # pulls so far
        self.waiting: list[int] = []  # arms of the present round that are yet to be handed out
        self.open: dict[str, Open] = {}  # in the order asked
        # Theorem 5 has no product of two arms' evidence, so that where arms come and go each has
        # an order of its own, and one that leaves holds nobody up
        self.order = Order(specification.order == "asked", specification.max_arms is not None)
        self.answers: dict[str, float] = {}  # to pulls
        self.gone: set[str] = set()  # pulls that were given up
        self.holders = Holders()  # of pulls that were handed out again
        self.observed: dict[str, tuple[int, float]] = {}  # arm and reward, by the user's id
        self.stopped: list[int] | None = None  # the certified answer
        self.stopped_at = 0  # the number of the event that says so, from 1
        self._holes_at_stop = 0
        self.all_labels: list[Hashable] = list(specification.labels)
        self.numbers = {label: arm for arm, label in enumerate(self.all_labels)}
        self.newcomers: dict[int, Hashable] = {}  # labels that only this process can hold
        self.tally = Tally(specification.problem.rewards, len(self.all_labels))
        self.failed = [0] * len(self.all_labels)  # attempts
        self.retried: Counter[int] = Counter()  # of these, such that their pull was made again
        self.tried: dict[str, str] = {}  # of these pulls, what was said last
        self.extras = Extras()  # what answers carry beside their rewards
        self.lost: Counter[tuple[int, int]] = Counter()  # pulls given up, by kind of event and arm
        self.holes = [0] * len(self.all_labels)  # pulls without a value among those that count
        self._told: list[int] = []  # rows of what counts and the policy has yet to be told
        self._rewards: list[float] = []  # theirs, as they were told
        self.shelf: dict[int, dict[str, Any]] = {}  # statistics of withdrawn arms
        # of an evaluation: every arm's order, pulls asked so far, and items of those that are open
        items = specification.items
        self.orders = None if items is None else Orders(items.count, specification.seed)
        self.asked: Counter[int] = Counter()
        self.positions: dict[str, int] = {}
        self.scored: list[tuple[int, float]] = []  # arm and score, in the order in which they count
        self.changes = 0  # how often arms came or went
        self.failure: str | None = None  # why the present answer is not that of a policy in Python
        self._lay(list(range(len(self.all_labels))))

    def _lay(self, arms: list[int]) -> None:
        """A state with a row for each of these arms."""
        self.arms = arms
        self.rows = {arm: row for row, arm in enumerate(arms)}
        decision, self.configured = self.specification.configure(len(arms))
        self.spec = self.configured.spec
        self.stepper = Stepper(decision, self.configured)
        self.machine, self.state = self.stepper.machine, self.stepper.state
        self.machine.is_stale = True  # a log is read first, and decided upon then
        is_worst = self.specification.lost == "worst"
        open_arms = (pull.arm for pull in self.open.values())
        self.planner = Planner(self.stepper, self.rows, is_worst, open_arms)
        timed = self.spec.radius == LUCB_ROUNDS
        self.is_plain = not (self.order.by_arm or timed or self.orders)
        items = self.specification.items
        if items is not None and items.history is not None:
            self.state.items.start[:] = items.history.start(self.spec.sign)
        self.stepper.reset(self.changes)  # fresh coins: rows may stand for other arms now

    @property
    def labels(self) -> list[Hashable]:
        """Of the present arms, by row."""
        return [self.all_labels[arm] for arm in self.arms]

    @property
    def holes_that_matter(self) -> int:
        """Lost pulls on which the answer rests: those before the stop."""
        return sum(self.holes) if self.stopped is None else self._holes_at_stop

    @property
    def blocking(self) -> list[str]:
        """The open pulls that held observations wait for, in the order asked."""
        return self.order.blocking(self.open)

    # --- folding ----------------------------------------------------------------------------------

    def apply(self, events: Iterable[Event], most: int | None = None) -> None:
        """Go on from where the fold stands; about so many events, to where no pull is open."""
        rest = iter(events)
        rest, further = islice(rest, most), islice(rest, None if most is None else most // 10)
        while block := list(islice(rest, answered.BLOCK)):
            done = 0
            while self.open and done < len(block):
                self._apply_one(block[done])
                done += 1
            if self.is_plain:
                done += answered.apply(self, block[done:])
            for event in block[done:]:
                self._apply_one(event)
            if len(self._told) >= CHUNK:
                self._observe()
        while self.open and (left := next(further, None)) is not None:
            self._apply_one(left)
        self._observe()
        self.waited = seconds_waited() - self._waited_before

    def _apply_one(self, event: Event) -> None:
        self.seen += 1
        self.last = event[5]
        kind = event[0]
        if kind == ASKED:
            self._ask(event)
        elif kind == TOLD:
            self._answer(event)
        elif kind == OBSERVED:
            self._add(event)
        else:
            self._observe()
            self._rare(event)

    def pass_by(self, rows: list[int], rewards: list[float], at: float) -> None:
        """Pulls that were asked for and answered, the last at that time."""
        many = len(rows)
        self._told += rows
        self._rewards += rewards
        self.last, self.waiting = at, []
        self.seen += 2 * many
        self.rounds, self.handed = self.rounds + many, self.handed + many
        self.told += many
        self.order.pass_by(many)
        if len(self._told) >= CHUNK:
            self._observe()

    def _ask(self, event: Event) -> None:
        _, key, arm, _, data, at = event
        if data:  # the first pull of a round
            self.rounds += 1
            self.waiting = list(map(int, data[1:].split(","))) if data != ALONE else []
            if self.spec.radius == LUCB_ROUNDS:
                self._told.append(NEW_ROUND)
                self._rewards.append(0.0)
        elif self.waiting:
            self.waiting.pop(0)
        if arm not in self.rows:  # withdrawn by another process at that moment
            self._require_arm(arm)
            self.gone.add(key)
        elif not self.knows(key):  # a name counts once
            self.open[key] = opened((arm, self.handed, at, self.order.issue(arm)))
            self.planner.opened(arm)
            if self.orders is not None:
                self.positions[key] = self.orders.item(arm, self.asked[arm])
                self.asked[arm] += 1
        self.handed += 1

    def _answer(self, event: Event) -> None:
        _, key, _, reward, data, _ = event
        pull = self.open.pop(key, None)
        if pull is None:  # a second answer, or one to a pull given up
            self._require_asked(key)
            return
        self.answers[key] = reward
        self.told += 1
        arm = pull[0]
        if data:
            self.extras.add(key, arm, reward, data)
        if self.order.passes(arm, pull[3]):
            self.planner.closed(arm)
            self._told.append(self.rows[arm])
            self._rewards.append(reward)
        else:
            self._settle(pull, reward)

    def _add(self, event: Event) -> None:
        _, key, arm, reward, _, _ = event
        self._require_arm(arm)
        if key not in self.observed and arm in self.rows:
            self.observed[key] = arm, reward
            self.told += 1
            self.planner.added()
            for late in self.order.settle(arm, self.order.issue(arm), reward):
                self._count(*late)

    # --- what counts, and when --------------------------------------------------------------------

    def _settle(self, pull: Open, reward: float | None) -> None:
        """A pull is open no more."""
        self.planner.closed(pull.arm)
        for late in self.order.settle(pull.arm, pull.place, reward):
            self._count(*late)

    def _count(self, arm: int, reward: float | None) -> None:
        if reward is not None:
            self._told.append(self.rows[arm])
            self._rewards.append(reward)
            return
        self.holes[arm] += 1
        self.planner.recount()
        if self.planner.counts_holes:
            add_hole(self.machine, self.rows[arm])

    def _observe(self) -> None:
        """Tell the policy what was gathered."""
        if not self._told:
            return
        self.planner.recount()
        if self.orders is not None:
            self.scored += zip(self._told, self._rewards, strict=True)
        are_few, rewards = len(self._told) < self.spec.n_arms, np.array(self._rewards)
        if are_few:
            for row, reward in zip(self._told, self._rewards, strict=True):
                if row >= 0:
                    self.tally.add_one(self.arms[row], reward)
        else:
            rows = np.array(self._told, np.int64)
            is_told = rows >= 0
            self.tally.add(np.array(self.arms)[rows[is_told]], rewards[is_told])
        if are_few and not self.machine.is_stale:
            # their arms alone change, and the rest of the trees stands
            for row, reward in zip(self._told, self._rewards, strict=True):
                if row >= 0:
                    self.machine.call("tell", row, self.spec.sign * reward)
                elif self.machine.is_whole:
                    step.next_round(self.state)
        else:
            self.machine.tell_many(np.array(self._told, np.int64), self.spec.sign * rewards)
        self._told.clear()
        self._rewards.clear()

    def _rare(self, event: Event) -> None:
        kind, key, arm, _, data, at = event
        if kind in (ev.FORGOTTEN, ev.EXPIRED, ev.FAILED):
            self._require_asked(key)
            self._lose(kind, key)
        elif kind == ev.RETRIED:  # the pull keeps its place
            self._require_asked(key)
            if key in self.open:
                self.failed[self.open[key].arm] += 1
                self.retried[self.open[key].arm] += 1
                self.tried[key] = data
        elif kind == ev.REISSUED:
            self._require_asked(key)
            if key in self.open:
                self.holders.hand_over(key, data)
        elif kind == ev.STOPPED:
            self._stop(arm, data)
        elif kind == ev.ARM_ADDED:
            self._admit(arm, freeze(json.loads(data)) if data else self.newcomers.pop(arm))
        elif kind == ev.ARM_WITHDRAWN:
            self._require_arm(arm)
            self._withdraw(arm)
        elif kind == ev.CREATED:
            self.first = self.first or at
        else:
            raise self._refused(f"kind {kind} is of a newer bestk")

    def _lose(self, kind: int, key: str) -> None:
        pull = self.open.get(key)
        if pull is None:
            return
        if kind == ev.FAILED:
            self.failed[pull.arm] += 1
        else:
            self.lost[kind, pull.arm] += 1
        if kind != ev.FAILED or self.order.in_order:  # else it may be tried again
            self._drop(key)

    def _drop(self, key: str) -> None:
        """An open pull becomes a hole; a score that failed is the worst there is, never skipped."""
        self.gone.add(key)
        worst = None
        if self.orders is not None:
            worst = self.specification.worst_reward
            self.told += 1
        self._settle(self.open.pop(key), worst)

    def _stop(self, changes: int, data: str) -> None:
        """A stop counts if the rule stops here, with that answer: the log is not just believed.

        Otherwise something was told, or arms came or went, between that decision and this event.
        """
        if self.stopped is None and changes == self.changes:
            answer = self.decide()
            if answer is not None and answer == json.loads(data):
                self.stopped, self.stopped_at = answer, self.seen
                self._holes_at_stop = sum(self.holes)

    # --- what a sound log cannot say --------------------------------------------------------------

    def _refused(self, why: str) -> StorageError:
        return StorageError(f"event {self.seen} was refused: {why}")

    def knows(self, key: str) -> bool:
        """Whether a pull of that name was ever asked for."""
        return key in self.open or key in self.answers or key in self.gone

    def _require_asked(self, key: str) -> None:
        if not self.knows(key):
            raise self._refused(f"it answers the pull {key!r}, which nobody asked for")

    def _require_arm(self, arm: int) -> None:
        if not 0 <= arm < len(self.all_labels):
            raise self._refused(f"there is no arm number {arm}")

    # --- arms that come and go --------------------------------------------------------------------

    def _admit(self, arm: int, label: Hashable) -> None:
        if arm in self.rows or self.numbers.get(label, len(self.all_labels)) != arm:
            return  # another process was quicker, or took the number
        if label not in self.numbers:
            self.numbers[label] = arm
            self.all_labels.append(label)
            self.tally.extend()
            self.failed, self.holes = [*self.failed, 0], [*self.holes, 0]
        self._change([*self.arms, arm])

    def _withdraw(self, arm: int) -> None:
        if arm in self.rows and len(self.arms) > self.spec.k + 1:
            for key in [key for key, pull in self.open.items() if pull.arm == arm]:
                self.lost[ev.ARM_WITHDRAWN, arm] += 1
                self._drop(key)
            self._observe()
            self._change([other for other in self.arms if other != arm])

    def _change(self, arms: list[int]) -> None:
        """Other arms from now on; every arm keeps its statistics, and a stop must be found anew."""
        self.shelf.update(zip(self.arms, kept_rows(self.machine), strict=True))
        self.changes += 1
        self._lay(arms)
        for arm in arms:
            put_back(self.machine, self.rows[arm], self.shelf.pop(arm, {}))
        self.waiting = [arm for arm in self.waiting if arm in self.rows]
        self.stopped = None

    # --- deciding and planning: never changes what the fold says ----------------------------------

    def decide(self) -> list[int] | None:
        """The arms of the answer, if the rule stops on what counts."""
        return self._arms_of(self.planner.decide())

    def plan(self) -> list[int] | None:
        """The arms of the next round; None: stop; empty: wait, what is told would be enough."""
        return self._arms_of(self.planner.plan(self.order.held.values(), self.rounds))

    def present_answer(self) -> list[int]:
        """Rows of the answer so far."""
        return self.planner.answer(self.order.held.values())

    def has_items(self, arm: int) -> bool:
        """Whether an arm may be asked for: not if it has been on every item of an evaluation."""
        return self.specification.items is None or self.asked[arm] < self.specification.items.count

    def _arms_of(self, rows: list[int] | None) -> list[int] | None:
        return None if rows is None else [self.arms[row] for row in rows]
