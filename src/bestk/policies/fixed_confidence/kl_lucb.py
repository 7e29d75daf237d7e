"""KL-LUCB (Kaufmann and Kalyanakrishnan 2013, Algorithm 2), for Bernoulli rewards.

"Information Complexity in Bandit Subset Selection", COLT 2013. LUCB with bounds by divergence: in
round t samples the least certain arm on each side of the line, until the highest upper bound
outside is at most epsilon above the lowest lower bound inside.

    beta(t, delta) = x + log x,  x = log(k1 N t^alpha / delta).

It is correct with probability 1 - delta for alpha > 1 and k1 > 2e + 1 + e/(alpha - 1) +
(e + 1)/(alpha - 1)^2, which is 405.45 for alpha = 1.1: their Section 5 has alpha = 1.1, k1 = 405.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bestk.errors import InputError
from bestk.policies.catalogue import Parameter
from bestk.policies.fixed_confidence.kl_bounds import bounds, require_coins
from bestk.policies.protocol import Question
from bestk.policies.tally import Tally, descending, wanted

NAME = "kl-lucb"
ALPHA = Parameter("alpha", 1.1, "the exponent of t in the exploration rate, above 1")
K1 = Parameter("k1", 405.5, "the factor in the exploration rate")


def least_k1(alpha: float) -> float:
    """k1 must be above this."""
    return 2.0 * math.e + 1.0 + math.e / (alpha - 1.0) + (math.e + 1.0) / (alpha - 1.0) ** 2


def beta(t: int, delta: float, n_arms: int, alpha: float, k1: float) -> float:
    """The exploration rate."""
    x = math.log(k1 * n_arms / delta) + alpha * math.log(t)
    return x + math.log(x)


def require_rate(alpha: float, k1: float, least: float) -> None:
    """Refuse constants of which nothing is proved."""
    if not (alpha > 1.0 and k1 > least):
        raise InputError(
            f"alpha={alpha:g}, k1={k1:g} were refused: alpha must be above 1, and k1 then above"
            f" {least:.5g}"
        )


class KLLUCB(Tally):
    """Samples two arms a round."""

    guarantee = (
        "error <= delta for Bernoulli rewards, Kaufmann and Kalyanakrishnan (2013), PAC theorem"
    )

    def start(self, problem: Question, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Line 1: t = 1, every arm is to be sampled once."""
        self.k, self.shift = wanted(problem, NAME), require_coins(problem, NAME)
        self.begin(problem.decision.n_arms)
        self.alpha = float(problem.params.get(ALPHA.name, ALPHA.default))
        self.k1 = float(problem.params.get(K1.name, K1.default))
        require_rate(self.alpha, self.k1, least_k1(self.alpha) if self.alpha > 1.0 else math.inf)
        self.delta, self.epsilon, self.t = problem.delta, problem.epsilon, 0

    def ask(self) -> Sequence[int]:
        """u_t and l_t; none when they are told apart."""
        if self.t == 0:
            self.t = 1
            return range(self.n_arms)  # line 2
        means = self.means
        order = descending(means)
        inside = np.zeros(self.n_arms, np.bool_)
        inside[order[: self.k]] = True  # line 5: J(t)
        rate = beta(self.t, self.delta, self.n_arms, self.alpha, self.k1)
        found = bounds(means, rate / self.counts, inside)
        low = int(np.where(inside, found, math.inf).argmin())  # l_t
        up = int(np.where(inside, -math.inf, found).argmax())  # u_t
        if found[up] - found[low] <= self.epsilon:  # lines 3 and 9: B(t)
            return []
        self.t += 1
        return [up, low]  # line 4

    def answer(self) -> Sequence[int]:
        """J(t)."""
        return self.leaders(np.arange(self.n_arms), self.k)
