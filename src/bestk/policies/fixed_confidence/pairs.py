"""The likelihood ratio of every pair, and the stop on the least of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.policies.catalogue import Parameter
from bestk.policies.fixed_confidence.families import family_of
from bestk.policies.fixed_confidence.thresholds import PROVED, STYLISED, stylised
from bestk.policies.protocol import Question
from bestk.policies.tally import Tally, descending, wanted

THRESHOLD = Parameter(
    "threshold",
    PROVED,
    "of Kaufmann and Koolen (2021), or log((1 + log t)/delta), of which nothing is proved",
    (PROVED, STYLISED),
)
GUARANTEE = (
    "error <= delta for independent arms with normal rewards of known sigma or Bernoulli rewards,"
    " by Kaufmann and Koolen (2021), Theorems 9 and 7, and a union over the K(N-K) pairs; nothing"
    " with threshold=stylised"
)


class Pairs(Tally):
    """Keeps Z_ij of every i of the K largest means and every j outside.

    Derived policies say what is sampled: `choose`.
    """

    guarantee: str | None = GUARANTEE
    name = "the likelihood-ratio stop"

    def start(self, problem: Question, rng: np.random.Generator) -> None:
        """Nothing sampled."""
        self.k = wanted(problem, self.name)
        self.begin(problem.decision.n_arms)
        self.rng, self.family, self.delta = rng, family_of(problem), problem.delta
        self.shift = self.family.shift
        self.proved = problem.params.get(THRESHOLD.name, PROVED) == PROVED
        self.fixed = self.family.fixed(self.delta, self.k * (self.n_arms - self.k))
        self.t = 0
        self.changed: list[int] = []  # arms told since the last ask
        self.top: IntArray = np.arange(self.k)
        self.rest: IntArray = np.arange(self.k, self.n_arms)
        self.z: FloatArray | None = None  # of top (rows) and rest (columns)

    def tell(self, arm: int, reward: float) -> None:
        """One reward of one arm."""
        super().tell(arm, reward)
        self.t += 1
        self.changed.append(arm)

    def ask(self) -> Sequence[int]:
        """Every arm once, then one arm at a time until the least Z_ij passes the threshold."""
        if self.t < self.n_arms:
            return range(self.n_arms)
        self._update()
        self.changed.clear()
        assert self.z is not None
        if float(self.z.min()) > self.beta(self.t):
            return []
        return [self.choose()]

    def choose(self) -> int:
        """The arm to be sampled next."""
        raise NotImplementedError

    def beta(self, t: int) -> float:
        """The threshold after t samples."""
        return self.fixed + self.family.growth(t) if self.proved else stylised(self.delta, t)

    def _update(self) -> None:
        """Z of the pairs of the arms told last; of all pairs, where the K largest changed."""
        means, counts, costs = self.means, self.counts.astype(np.float64), self.family.costs
        order = descending(means)
        top, rest = np.sort(order[: self.k]), np.sort(order[self.k :])
        if self.z is None or not np.array_equal(top, self.top):
            self.top, self.rest = top, rest
            rows, columns = top[:, None], rest[None, :]
            self.z = costs(counts[rows], means[rows], counts[columns], means[columns])
            return
        for arm in set(self.changed):
            one, place = np.array([arm]), int(np.searchsorted(top, arm))
            if place < self.k and top[place] == arm:
                self.z[place] = costs(counts[one], means[one], counts[rest], means[rest])
            else:
                place = int(np.searchsorted(rest, arm))
                self.z[:, place] = costs(counts[top], means[top], counts[one], means[one])

    def worst(self) -> tuple[int, int]:
        """The pair (i, j) of least Z."""
        assert self.z is not None
        i, j = divmod(int(self.z.argmin()), len(self.rest))
        return int(self.top[i]), int(self.rest[j])

    def starved(self) -> int | None:
        """The least sampled arm, if below sqrt(t) - N/2 (Garivier and Kaufmann 2016)."""
        least = int(self.counts.argmin())
        return least if self.counts[least] < np.sqrt(self.t) - self.n_arms / 2.0 else None

    def answer(self) -> Sequence[int]:
        """The K largest means."""
        return self.leaders(np.arange(self.n_arms), self.k)
