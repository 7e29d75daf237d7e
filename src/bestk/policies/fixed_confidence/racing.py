"""Races: all arms in the race are sampled once a round, and leave it one way or the other.

The frame of KL-racing (Kaufmann and Kalyanakrishnan 2013, Algorithm 1) and of successive
elimination for the K best.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.policies.protocol import Question
from bestk.policies.tally import Tally, descending, wanted


class Race(Tally):
    """Derived policies say who leaves after a round: `judge`."""

    name = "a race"

    def start(self, problem: Question, rng: np.random.Generator) -> None:  # noqa: ARG002
        """All arms are in the race: R; S and D are empty."""
        self.k = wanted(problem, self.name)
        self.begin(problem.decision.n_arms)
        self.delta, self.epsilon = problem.delta, problem.epsilon
        self.racing: IntArray = np.arange(self.n_arms)
        self.selected: list[int] = []
        self.t = 0

    @property
    def places(self) -> int:
        """How many of those in the race are wanted."""
        return self.k - len(self.selected)

    def ask(self) -> Sequence[int]:
        """All arms in the race; none when it is decided."""
        if self.t:
            order = self.racing[descending(self.means[self.racing])]
            self.judge(order, self.means[order])
        if not 0 < self.places < len(self.racing):
            return []
        self.t += 1
        everyone: list[int] = self.racing.tolist()
        return everyone

    def judge(self, order: IntArray, means: FloatArray) -> None:
        """Let arms leave: those in the race by mean, best first, with their means."""
        raise NotImplementedError

    def select(self, arms: IntArray) -> None:
        """These are among the answer."""
        self.selected += arms.tolist()
        self.discard(arms)

    def discard(self, arms: IntArray) -> None:
        """These leave the race."""
        self.racing = np.setdiff1d(self.racing, arms, assume_unique=True)

    def answer(self) -> Sequence[int]:
        """The selected arms; before the end, also the best of those in the race."""
        return [*self.selected, *self.leaders(self.racing, self.places)]
