"""Successive elimination (Even-Dar, Mannor and Mansour 2006, Algorithm 3), for the K best.

"Action Elimination and Stopping Conditions for the Multi-Armed Bandit and Reinforcement Learning
Problems", JMLR 7. K = 1: after round t every arm whose mean is 2 alpha_t or more below the best one
leaves, alpha_t = sqrt(log(c N t^2 / delta) / t) for rewards in [0, 1], any c > 4 (Theorem 8). Those
are sub-Gaussian with sigma = 1/2; for another sigma alpha_t is 2 sigma times that.

For the K best it is the race of Maron and Moore (1997) and Heidrich-Meisner and Igel (2009), with
that radius: an arm is selected when it leads the (K+1)-th mean by 2 alpha_t, and discarded when it
is 2 alpha_t behind the K-th (K being the places left, among the arms left). With K = 1 it is
Algorithm 3: the leader is selected when all others have left. While all means stay within alpha_t
of the truth, which by Hoeffding's inequality and a union has probability 1 - delta, every selected
arm is better than all but K - 1 others and every discarded one worse than K. With a slack, the race
ends when the (K+1)-th cannot be more than epsilon above the K-th.
"""

from __future__ import annotations

import math

import numpy as np

from bestk.errors import InputError
from bestk.kernels.types import FloatArray, IntArray
from bestk.policies.catalogue import Parameter
from bestk.policies.fixed_confidence.racing import Race
from bestk.policies.protocol import Question

C = Parameter("c", 5.0, "the constant of the radius; any number above 4 will do")


class SuccessiveElimination(Race):
    """As many arms leave after a round as may."""

    name = "successive-elimination"
    guarantee = (
        "error <= delta for sigma-sub-Gaussian rewards, Even-Dar, Mannor and Mansour (2006),"
        " Theorem 8; K > 1: the same union over arms and rounds"
    )

    def start(self, problem: Question, rng: np.random.Generator) -> None:
        """All arms are in the race."""
        super().start(problem, rng)
        self.sigma = float(problem.rewards.sigma)
        self.c = float(problem.params.get(C.name, C.default))
        if not self.c > 4.0:
            raise InputError(f"c={self.c:g} was refused: it must be above 4")

    def radius(self, t: int) -> float:
        """alpha_t."""
        log = math.log(self.c * self.n_arms * t * t / self.delta)
        return 2.0 * self.sigma * math.sqrt(log / t)

    def judge(self, order: IntArray, means: FloatArray) -> None:
        """Step 5: arms 2 alpha_t beyond the line leave."""
        line, far = self.places, 2.0 * self.radius(self.t)
        last_in, first_out = means[line - 1], means[line]
        if first_out - last_in + far <= self.epsilon:
            self.select(order[:line])
            return
        self.select(order[means - first_out >= far])
        self.discard(order[last_in - means >= far])
