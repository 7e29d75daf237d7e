"""Sequential halving (Karnin, Koren and Somekh 2013, Algorithm 3), for the K best.

"Almost Optimal Exploration in Multi-Armed Bandits", ICML 2013, has it for K = 1: the budget is
split evenly over ceil(log2 N) rounds, a round's share evenly over the arms that are left, and the
better half stays, by the means of that round alone. There the answer is wrong with probability at
most 3 log2(N) exp(-T / (8 log2(N) H2)), H2 = max over i >= 2 of i / Delta_i^2 (Theorem 4.1), for
rewards in [0, 1].

For K > 1 arms are halved until K are left, as in Halving of Kalyanakrishnan and Stone (2010,
"Efficient Selection of Multiple Bandit Arms: Theory and Practice", ICML, Algorithm 2), which has
ceil(log2(N/K)) rounds and keeps max(ceil(|S|/2), K) arms: its rounds, with the budget of Karnin et
al. That combination is ours, and nothing is proved of it for K > 1; with K = 1 it is Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestk.kernels.types import IntArray
from bestk.policies.catalogue import Parameter
from bestk.policies.protocol import Question
from bestk.policies.tally import Tally, budget_of, rounds_of, wanted

NAME = "sequential-halving"
ROUND, ALL = "round", "all"
MEANS = Parameter(
    "means",
    ROUND,
    "of the round alone, as its authors have it, or of all samples so far",
    (ROUND, ALL),
)


def rounds(n_arms: int, k: int) -> int:
    """ceil(log2(N/K)), in integers."""
    return ((n_arms + k - 1) // k - 1).bit_length()


class SequentialHalving(Tally):
    """Keeps the better half after each round."""

    guarantee = None

    def start(self, problem: Question, rng: np.random.Generator) -> None:  # noqa: ARG002
        """All arms are left."""
        self.k = wanted(problem, NAME)
        self.begin(problem.decision.n_arms)
        self.rounds = rounds(self.n_arms, self.k)
        why = f"one of each of {self.n_arms} arms in each of {self.rounds} rounds"
        self.budget = budget_of(problem, NAME, self.n_arms * self.rounds, why)
        self.forgets = problem.params.get(MEANS.name, ROUND) == ROUND
        self.left: IntArray = np.arange(self.n_arms)  # line 1: S_0
        self.round = 0
        self.is_over = False  # a round, whose means count until the first reward of the next

    def ask(self) -> Sequence[int]:
        """The pulls of the next round; none when K arms are left."""
        if self.round:
            size = max((len(self.left) + 1) // 2, self.k)
            self.left = np.sort(self.leaders(self.left, size))  # line 4: S_(r+1)
        if self.round == self.rounds:  # line 2
            return []
        self.round += 1
        self.is_over = self.forgets
        times = self.budget // (len(self.left) * self.rounds)  # line 3: t_r
        return rounds_of(self.left, times)

    def tell(self, arm: int, reward: float) -> None:
        """One reward of one arm."""
        if self.is_over:
            self.begin(self.n_arms)
            self.is_over = False
        super().tell(arm, reward)

    def answer(self) -> Sequence[int]:
        """Line 5: what is left; before the end, the best of it."""
        return self.leaders(self.left, self.k)
