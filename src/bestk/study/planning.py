"""What to sample next while answers are out: on everything told, and a shadow of what is open.

Whether to stop is decided on what counts alone (`fold.py`). Plans are free: the proofs hold
whatever is sampled, as long as it is chosen before its reward is seen. The states made here are
copies that round rewards with coins of their own, so that no plan knows the coin of an observation
that is yet to count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

import numpy as np

from bestk.compiled.live import Machine
from bestk.kernels.types import ASKS, PLANS, ROUND, Items, State
from bestk.policies.stepper import Stepper

SHARED = ("radii", "table", "evidence", "root_costs")  # parts of a State without what was told

Late = tuple[int, float | None]  # arm and reward of an observation; None: a hole


class Planner:
    """Asks a policy in the state that counts, in one with everything told, or in a shadow.

    `rows` are those of the arms, `open_arms` the arms of the pulls that are open. Results are rows.
    """

    def __init__(
        self, stepper: Stepper, rows: dict[int, int], counts_holes: bool, open_arms: Iterable[int]
    ) -> None:
        self.stepper, self.machine, self.spec = stepper, stepper.machine, stepper.spec
        self.counts_holes, self._rows = counts_holes, rows
        self._open, self._n_open = [0] * len(rows), 0  # open pulls of every row, and in all
        self._ahead: Machine | None = None  # the state that counts, and what does not count yet
        self._known = 0  # how many observations of the latter are in it
        self._shadow: Machine | None = None  # as if every open pull had come back with its mean
        self._base = self.machine  # what the shadow was cast from
        for arm in open_arms:
            self.opened(arm)

    # --- what happens -----------------------------------------------------------------------------

    def opened(self, arm: int) -> None:
        """One more pull is open."""
        row = self._rows[arm]
        self._open[row] += 1
        self._n_open += 1
        if self._shadow is not None:
            self._stand_in(self._shadow, row)

    def closed(self, arm: int) -> None:
        """A pull is open no more."""
        self._open[self._rows[arm]] -= 1
        self._n_open -= 1
        self._shadow = None

    def added(self) -> None:
        """An observation came from elsewhere."""
        self._shadow = None

    def recount(self) -> None:
        """What counts has changed."""
        self._ahead = self._shadow = None

    # --- what follows -----------------------------------------------------------------------------

    def decide(self) -> list[int] | None:
        """The answer if the rule stops on what counts, whatever its schedule of looks.

        It is the set that was tested: around a Python oracle another call may find another one.
        """
        if not self.machine.is_whole or self._ask(self.machine, 0):
            return None
        return self.stepper.tested()

    def plan(self, late: Collection[Late], rounds: int) -> list[int] | None:
        """The next round; None: stop; empty: wait, for what is told would be enough."""
        rows = []
        if self.machine.is_whole:
            rows = self._ask(self.machine, rounds)
            if not rows:
                return None
        base = self.everything(late)
        if not base.is_whole:
            return self._least(base)
        if late:
            rows = self._ask(base, rounds)
            if not rows:
                return []
        if self._n_open:
            rows = self._ask(self.shadow(base), rounds)
        return rows or self._least(base)

    def answer(self, late: Collection[Late]) -> list[int]:
        """The present answer: on what counts, else on everything told, else none."""
        machine = self.machine if self.machine.is_whole else self.everything(late)
        if not machine.is_whole:
            return []
        self.stepper.machine = machine
        try:
            return self.stepper.answer()
        finally:
            self.stepper.machine = self.machine

    def _ask(self, machine: Machine, rounds: int) -> list[int]:
        """What the policy wants in a state, nothing to stop; its clocks are put back."""
        clock = machine.state.clock
        asks, before = clock[ASKS], clock[ROUND]
        clock[ASKS] = rounds
        self.stepper.machine = machine
        try:
            return self.stepper.ask()
        finally:
            self.stepper.machine = self.machine
            clock[ASKS], clock[ROUND] = asks, before

    def everything(self, late: Collection[Late]) -> Machine:
        """The state that counts with, on top, what came back before its turn."""
        if not late:
            return self.machine
        if self._ahead is None:
            self._ahead, self._known = _copy(self.machine), 0
        for arm, reward in islice(late, self._known, None):
            if reward is not None:
                self._ahead.call("tell", self._rows[arm], self.spec.sign * reward)
            elif self.counts_holes:
                add_hole(self._ahead, self._rows[arm])
        self._known = len(late)
        return self._ahead

    def shadow(self, base: Machine) -> Machine:
        """A state as if every open pull had come back with its arm's mean."""
        if self._shadow is None:
            self._base, self._shadow = base, _copy(base)
            for row in np.repeat(np.arange(len(self._open)), self._open).tolist():
                self._stand_in(self._shadow, row)
        return self._shadow

    def _stand_in(self, shadow: Machine, row: int) -> None:
        shadow.call("tell", row, float(self._base.state.means[row]))

    def _least(self, base: Machine) -> list[int]:
        """The arm with the fewest samples, told and open; the first of several."""
        taken = base.state.counts + np.array(self._open)
        least = int(np.argmin(taken))
        return [] if self.spec.n_items and taken[least] >= self.spec.n_items else [least]


def add_hole(machine: Machine, row: int) -> None:
    """Count a lost observation as the worst that it can have been."""
    machine.state.levels[row, -1] += 1
    machine.is_stale = True


def _copy(machine: Machine) -> Machine:
    machine.settle()
    fields = machine.state._asdict()
    for name in fields.keys() - SHARED:
        if name == "items":
            fields[name] = Items(*(array.copy() for array in fields[name]))
        else:
            fields[name] = fields[name].copy()
    copied = State(**fields)
    copied.clock[PLANS] = 1
    return machine.copy(copied)
