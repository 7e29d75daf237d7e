"""CSAR (Chen, Lin, King, Lyu and Chen 2014, Algorithm 2): accepts and rejects, for any class.

"Combinatorial Pure Exploration of Multi-Armed Bandits", NIPS 2014. Each of N phases samples the
arms that are neither accepted nor rejected equally often, and accepts or rejects the one whose
other fate would cost most. With gaps Delta_(1) <= ... <= Delta_(N) of the class, the answer is
wrong with probability at most

    N^2 exp(-(T - N) / (18 R^2 log~(N) width^2 H2)),  H2 = max over i of i / Delta_(i)^2
                                                                               (Theorem 3),

for R-sub-Gaussian rewards. "Best set with these arms and without those" is one call of the class's
oracle with weights beyond the sum of all others (`decisions.base.constrained`). Where the oracle is
right for costs only (paths in a graph with cycles) there is no such call: to find the best simple
path through given edges is intractable, so such a class is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bestk.bounds.levels import harmonic
from bestk.decisions.base import Forced, constrained
from bestk.errors import InputError
from bestk.kernels.types import BoolArray, FloatArray
from bestk.policies.protocol import Question
from bestk.policies.tally import Tally, budget_of, rounds_of

NAME = "csar"


def cumulated(n_arms: int, budget: int) -> list[int]:
    """T~_0 = 0, T~_1, ..., T~_N: how often an arm that is free in phase t is sampled by its end."""
    share = (budget - n_arms) / harmonic(n_arms)  # line 1: log~(n)
    return [0, *(math.ceil(share / (n_arms - t + 1)) for t in range(1, n_arms + 1))]  # line 4


class CSAR(Tally):
    """Accepts or rejects one arm after each phase, whatever sets may be answered."""

    guarantee = None

    def start(self, problem: Question, rng: np.random.Generator) -> None:  # noqa: ARG002
        """No arm is accepted (A) or rejected (B)."""
        self.decision = problem.decision
        if self.decision.minimise_only:
            raise InputError(
                f"the {self.decision.kind} class was refused: csar needs the best set that holds"
                " given arms, and in a graph with cycles no oracle for cheapest paths can give it"
            )
        self.begin(self.decision.n_arms)
        budget = budget_of(problem, NAME, self.n_arms + 1, "one more than there are arms")
        self.n = cumulated(self.n_arms, budget)
        self.fate: Forced = np.zeros(self.n_arms, np.int8)  # line 2: 1 in A, -1 in B
        self.phase = 0

    def ask(self) -> Sequence[int]:
        """The pulls of the next phase; none when every arm is accepted or rejected."""
        if self.phase:
            self._decide()
        while (free := np.flatnonzero(self.fate == 0)).size:
            self.phase += 1  # line 3
            times = self.n[self.phase] - self.n[self.phase - 1]
            if times:
                return rounds_of(free, times)  # line 5
            self._decide()
        return []

    def _decide(self) -> None:
        """Lines 6 to 24."""
        means, free = self.means, np.flatnonzero(self.fate == 0)
        best = self._best(means)  # line 7; never empty: A and B follow feasible sets
        assert best is not None
        losses = np.array([self._loss(means, best, arm) for arm in free.tolist()])
        if np.isinf(losses).all():  # one feasible set is left: the further phases would find it
            self.fate = np.where(best, 1, -1).astype(np.int8)
            return
        arm = int(free[np.argmax(losses)])  # line 18: p_t
        self.fate[arm] = 1 if best[arm] else -1  # lines 19 to 24

    def _loss(self, means: FloatArray, best: BoolArray, arm: int) -> float:
        """Lines 12 to 17: what it would cost to give an arm its other fate; infinite: no set."""
        self.fate[arm] = -1 if best[arm] else 1
        other = self._best(means)
        self.fate[arm] = 0
        if other is None:
            return math.inf
        return float(means[best & ~other].sum() - means[other & ~best].sum())

    def _best(self, means: FloatArray) -> BoolArray | None:
        return constrained(self.decision.best, means, self.fate)

    def answer(self) -> Sequence[int]:
        """Line 26: the accepted arms; before the end, those of the best set that holds them."""
        best = self._best(self.means)
        assert best is not None
        chosen: list[int] = np.flatnonzero(best).tolist()
        return chosen
