"""What to sample next while answers are out: on everything told, and a shadow of what is open.

Whether to stop is decided on what counts alone (`fold.py`). Plans are free: the proofs hold
whatever is sampled, as long as it is chosen before its reward is seen. The states made here are
copies that round rewards with coins of their own, so that no plan knows the coin of an observation
that is yet to count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

from bestk.kernels import step
from bestk.kernels.jit import direct
from bestk.kernels.types import ASKS, PLANS, ROUND, SEEN, State
from bestk.policies.combinatorial import Stepper

SHARED = ("radii", "table", "evidence")  # parts of a State that depend on nothing told

Late = tuple[int, float | None]  # arm and reward of an observation; None: a hole


class Planner:
    """Asks a policy in the state that counts, in one with everything told, or in a shadow."""

    def __init__(self, stepper: Stepper, rows: dict[int, int], counts_holes: bool) -> None:
        self.stepper, self.state, self.spec = stepper, stepper.state, stepper.spec
        self.rows, self.counts_holes = rows, counts_holes
        self._tell = direct(step.tell, self.state, self.spec, 0, 0.0)
        self._ahead: State | None = None  # the state that counts, and what does not count yet
        self._known = 0  # how many observations of the latter are in it
        self._shadow: State | None = None
        self._base = self.state  # what the shadow was cast from

    def tell(self, row: int, reward: float) -> None:
        """One observation that counts."""
        self._tell(self.state, self.spec, row, self.spec.sign * reward)

    def recount(self) -> None:
        """What counts has changed."""
        self._ahead = self._shadow = None

    def returned(self) -> None:
        """A pull is open no more."""
        self._shadow = None

    def opened(self, arm: int) -> None:
        """One more pull is open."""
        if self._shadow is not None:
            self._stand_in(self._shadow, arm)

    def ask(self, state: State, rounds: int) -> list[int]:
        """The rows that the policy wants in a state, none to stop; its clocks are put back."""
        clock = state.clock
        asks, before = clock[ASKS], clock[ROUND]
        clock[ASKS] = rounds
        self.stepper.state = state
        try:
            return self.stepper.ask()
        finally:
            self.stepper.state = self.state
            clock[ASKS], clock[ROUND] = asks, before

    def answer(self, state: State) -> list[int]:
        """The rows of the policy's answer in a state."""
        self.stepper.state = state
        try:
            return self.stepper.answer()
        finally:
            self.stepper.state = self.state

    def everything(self, late: Collection[Late]) -> State:
        """The state that counts with, on top, what came back before its turn."""
        if not late:
            return self.state
        if self._ahead is None:
            self._ahead, self._known = _copy(self.state), 0
        for arm, reward in islice(late, self._known, None):
            if reward is not None:
                self._tell(self._ahead, self.spec, self.rows[arm], self.spec.sign * reward)
            elif self.counts_holes:
                add_hole(self._ahead, self.rows[arm])
                step.rebuild(self._ahead, self.spec)
        self._known = len(late)
        return self._ahead

    def shadow(self, base: State, open_arms: Iterable[int]) -> State:
        """A state as if every open pull had come back with its arm's mean."""
        if self._shadow is None:
            self._base, self._shadow = base, _copy(base)
            for arm in open_arms:
                self._stand_in(self._shadow, arm)
        return self._shadow

    def _stand_in(self, shadow: State, arm: int) -> None:
        row = self.rows[arm]
        self._tell(shadow, self.spec, row, float(self._base.means[row]))


def is_whole(state: State) -> bool:
    """Whether every arm has been observed."""
    return bool(state.clock[SEEN] == len(state.counts))


def add_hole(state: State, row: int) -> None:
    """Count a lost observation as the worst that it can have been; rebuild the state afterwards."""
    state.levels[row, -1] += 1


def _copy(state: State) -> State:
    fields = state._asdict()
    for name in fields.keys() - SHARED:
        fields[name] = fields[name].copy()
    copied = State(**fields)
    copied.clock[PLANS] = 1
    return copied
