"""KL-racing (Kaufmann and Kalyanakrishnan 2013, Algorithm 1), for Bernoulli rewards.

"Information Complexity in Bandit Subset Selection", COLT 2013. After each round, the best arm in
the race is selected, or the worst discarded, if the bounds allow it, up to a slack epsilon; if they
allow both, the one with the larger gap of means.

    beta(t, delta) = log(k1 N t^alpha / delta).

It is correct with probability 1 - delta for alpha > 1 and k1 > 1 + 1/(alpha - 1): in round t every
arm in the race has t samples, so that a union over rounds, Chernoff's bound and sum t^-alpha <=
1 + 1/(alpha - 1) are enough. alpha = 1.1 as in their Section 5, k1 = 11.1, just above 11.
"""

from __future__ import annotations

import math

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.policies.catalogue import Parameter
from bestk.policies.fixed_confidence.kl_bounds import bounds, require_coins
from bestk.policies.fixed_confidence.kl_lucb import ALPHA, require_rate
from bestk.policies.fixed_confidence.racing import Race
from bestk.policies.protocol import Question

K1 = Parameter("k1", 11.1, "the factor in the exploration rate, above 1 + 1/(alpha - 1)")


def beta(t: int, delta: float, n_arms: int, alpha: float, k1: float) -> float:
    """The exploration rate."""
    return math.log(k1 * n_arms / delta) + alpha * math.log(t)


class KLRacing(Race):
    """At most one arm leaves after a round."""

    name = "kl-racing"
    guarantee = (
        "error <= delta for Bernoulli rewards, Kaufmann and Kalyanakrishnan (2013), PAC theorem"
    )

    def start(self, problem: Question, rng: np.random.Generator) -> None:
        """Line 1."""
        super().start(problem, rng)
        self.shift = require_coins(problem, self.name)
        self.alpha = float(problem.params.get(ALPHA.name, ALPHA.default))
        self.k1 = float(problem.params.get(K1.name, K1.default))
        least = 1.0 + 1.0 / (self.alpha - 1.0) if self.alpha > 1.0 else math.inf
        require_rate(self.alpha, self.k1, least)

    def judge(self, order: IntArray, means: FloatArray) -> None:
        """Lines 6 to 16."""
        level = beta(self.t, self.delta, self.n_arms, self.alpha, self.k1) / self.t
        inside = np.arange(len(order)) < self.places  # line 6: J(t) and the rest of R
        found = bounds(means, np.full(len(order), level), inside)
        lowest_in, highest_out = found[inside].min(), found[~inside].max()  # line 7: l_t and u_t
        selects = highest_out - found[0] < self.epsilon  # lines 8 and 9: a_B
        discards = found[-1] - lowest_in < self.epsilon  # a_W
        if selects and discards:  # line 10
            ahead, behind = means[0] - means[self.places], means[self.places - 1] - means[-1]
            selects = ahead >= behind
        if selects:
            self.select(order[:1])  # line 12
        elif discards:
            self.discard(order[-1:])  # line 14
