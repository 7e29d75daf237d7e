"""TTTS, top-two Thompson sampling (Russo 2016, 2020), for the K best.

"Simple Bayesian Algorithms for Best Arm Identification", COLT 2016, Operations Research 68(6). K =
1: draw means from the posterior; with probability beta sample the arm that is best in the draw,
otherwise draw again until another arm is best, and sample that one. beta = 1/2, as there.

For the K best: draw until the K best of a second draw differ from those of the first. An arm that
is in the first set only is the leader, one that is in the second set only the challenger. You, Qin,
Wang and Yang (COLT 2023) extend top-two policies to the K best; where the two sets differ in
several arms, ours is to take one of each side at random. With K = 1 this is TTTS.

Drawing again takes ever longer as the posterior concentrates: after `DRAWS` draws (arbitrary) the
pair of least cost is taken instead, which is what the second draw tends to (Jourdan et al. 2022).
The stop (`thresholds.py`) holds for any sampling rule.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels.types import BoolArray, FloatArray
from bestk.policies.fixed_confidence.pairs import Pairs

BATCHES = (1, 4, 16, 64)  # second draws are made so many at a time
DRAWS = sum(BATCHES)


class TTTS(Pairs):
    """Samples one of two arms that two draws from the posterior disagree on."""

    name = "ttts"

    def choose(self) -> int:
        """Leader or challenger."""
        leader, challenger = self.pair()
        return leader if self.rng.random() < 0.5 else challenger

    def pair(self) -> tuple[int, int]:
        """One arm of the first draw's K best alone, one of the second's."""
        n = self.counts.astype(np.float64)
        first = self._best(self.family.draw(self.rng, n, self.sums, 1))[0]
        for size in BATCHES:
            second = self._best(self.family.draw(self.rng, n, self.sums, size))
            differ = (second != first).any(axis=1)
            if differ.any():
                other = second[int(differ.argmax())]
                return self._one(first & ~other), self._one(other & ~first)
        return self.worst()

    def _best(self, draws: FloatArray) -> BoolArray:
        """The K largest of each row."""
        line = np.partition(draws, -self.k, axis=1)[:, [-self.k]]
        best: BoolArray = draws >= line
        return best

    def _one(self, arms: BoolArray) -> int:
        return int(self.rng.choice(np.flatnonzero(arms)))
