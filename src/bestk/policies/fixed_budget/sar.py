"""SAR: successive accepts and rejects (Bubeck, Wang and Viswanathan 2013, Figure 1).

"Multiple Identifications in Multi-Armed Bandits", ICML 2013. In each of N - 1 phases every active
arm is sampled equally often; then the arm that is farthest from the line between the K best and the
rest is accepted or rejected. For rewards in [0, 1] the answer is wrong with probability at most

    2 N^2 exp(-(n - N) / (8 logbar(N) H2)),    H2 = max over i of i / Delta_(i)^2    (Theorem 1),

with Delta_(1) <= Delta_(2) <= ... the gaps of Section 2 here, which nobody knows in advance.

K and n are m and n of the paper, N is its K.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bestk.kernels.types import IntArray
from bestk.policies.protocol import Question
from bestk.policies.tally import Tally, budget_of, descending, harmonic, rounds_of, wanted

NAME = "sar"


def logbar(n_arms: int) -> Fraction:
    """1/2 + sum of 1/i for i = 2, ..., N."""
    return harmonic(n_arms) - Fraction(1, 2)


def cumulated(n_arms: int, budget: int) -> list[int]:
    """n_0 = 0, n_1, ..., n_(N-1): how often an arm active in phase k has been sampled after it."""
    over, under = logbar(n_arms).as_integer_ratio()
    share = (budget - n_arms) * under
    return [0, *(-(-share // (over * (n_arms + 1 - k))) for k in range(1, n_arms))]


class SAR(Tally):
    """Accepts or rejects one arm after each phase."""

    guarantee = None

    def start(self, problem: Question, rng: np.random.Generator) -> None:  # noqa: ARG002
        """All arms are active, K are wanted."""
        self.left = wanted(problem, NAME)  # m(k)
        self.begin(problem.decision.n_arms)
        why = "one more than there are arms"
        budget = budget_of(problem, NAME, self.n_arms + 1, why)
        self.n = cumulated(self.n_arms, budget)
        self.active: IntArray = np.arange(self.n_arms)  # A_k
        self.accepted: list[int] = []
        self.phase = 0

    def ask(self) -> Sequence[int]:
        """The pulls of the next phase; none when every arm is accepted or rejected."""
        if self.phase:
            self._decide()
        while 0 < self.left < len(self.active):  # else all active arms are in, or all are out
            self.phase += 1
            times = self.n[self.phase] - self.n[self.phase - 1]
            if times:
                return rounds_of(self.active, times)  # (1)
            self._decide()
        return []

    def _decide(self) -> None:
        """Steps (2) to (4) of a phase."""
        means = self.means[self.active]
        order = descending(means)  # sigma_k
        top, rest = order[: self.left], order[self.left :]
        last_in, first_out = means[top[-1]], means[rest[0]]
        gaps = np.empty(len(means))  # (2)
        gaps[top], gaps[rest] = means[top] - first_out, last_in - means[rest]
        place = int(np.argmax(gaps))  # (3)
        arm = int(self.active[place])
        if means[place] > first_out:  # (4)
            self.accepted.append(arm)
            self.left -= 1
        self.active = np.delete(self.active, place)

    def answer(self) -> Sequence[int]:
        """The accepted arms; before the end, also the best of the active ones."""
        return [*self.accepted, *self.leaders(self.active, self.left)]
