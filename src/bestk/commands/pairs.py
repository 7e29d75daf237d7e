"""Commands compared within blocks of one run of each: what slows a block down slows down all of it.

H(j, i) says that in no block, given the past, command j is faster than i with more probability than
i is faster than j. A bet of the fraction theta on "j was faster" multiplies its wealth by 1 + theta
if it was, by 1 - theta if i was, and by 1 after a tie, so that under H(j, i) its expectation never
grows; a mixture over theta is the evidence on a median of `kernels/quantile.py` at q = 1/2. By
Ville's inequality it ever reaches K(N-K)/delta with probability at most delta/(K(N-K)); then j is
said to have *beaten* i. The rule:

    a command is out once K others are in or have beaten it,
    and in once N-K others are out or were beaten by it.

Suppose that S is a set of K commands, and H(j, i) holds for every i of S and j outside. Then with
probability at least 1 - delta no j outside beats an i of S, which are K(N-K) pairs. In that case
nothing but S is ever in, and nothing of S is ever out, by induction: what is in, and the beaters of
an i in S, all lie in S and are not i, at most K-1; what is out or was beaten by a j outside lies
outside of S and is not j, at most N-K-1. So the answer is S with probability at least 1 - delta,
whenever the blocks end, whatever drift all of a block have in common (docs/race.md, "Pairs").
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from bestk.kernels import quantile
from bestk.kernels.types import LOW
from bestk.rewards import Quantile


class Pairs:
    """The rule: told of one block after the other, it says which commands are in and out."""

    def __init__(self, n: int, k: int, delta: float) -> None:
        self.n, self.k = n, k
        self.won = np.zeros((n, n))  # blocks in which one was faster than another
        self.met = np.zeros((n, n))  # blocks that had both
        self.beaten = np.zeros((n, n), dtype=bool)  # by one, another
        self.inside: set[int] = set()
        self.outside: set[int] = set()
        self._target = math.log(k * (n - k) / delta)
        self._evidence = Quantile(0.5).evidence()

    @property
    def remaining(self) -> list[int]:
        """What is neither in nor out."""
        return [i for i in range(self.n) if i not in self.inside | self.outside]

    @property
    def is_over(self) -> bool:
        """Whether the answer is certain."""
        return len(self.inside) == self.k

    def tell(self, times: Mapping[int, float]) -> None:
        """One more block."""
        for i, own in times.items():
            for j, other in times.items():
                self.won[i, j] += own < other
                self.met[i, j] += i != j
        for i in times:
            for j in times:
                if not self.beaten[i, j] and self.won[i, j] > self.won[j, i]:
                    self.beaten[i, j] = self.log_evidence(i, j) >= self._target
        self._decide()

    def log_evidence(self, i: int, j: int) -> float:
        """Against "i is faster than j no more often than j than i"."""
        e, won = self._evidence, float(self.won[i, j])
        blocks = won + float(self.won[j, i])
        return float(quantile.log_evidence(e, e.log_weights, LOW, blocks, won))

    def _decide(self) -> None:
        is_new = True
        while is_new:
            is_new = False
            for i in self.remaining:
                beaters = {int(j) for j in np.flatnonzero(self.beaten[:, i])}
                slower = {int(j) for j in np.flatnonzero(self.beaten[i])}
                if len(self.inside | beaters) >= self.k:
                    self.outside.add(i)
                    is_new = True
                elif len(self.outside | slower) >= self.n - self.k:
                    self.inside.add(i)
                    is_new = True
