"""Track-and-Stop (Garivier and Kaufmann 2016) for the K best, with D-tracking.

"Optimal Best Arm Identification with Fixed Confidence", COLT 2016. Samples follow w*, the shares
that attain T* at the current means (Section 3.1, D-tracking): with U = the arms sampled fewer than
sqrt(t) - N/2 times, the least sampled arm of U if there is one, else the arm that is farthest
behind t w*. Their paper is about K = 1; for the K best, T* and w* are those of the pairs (i in, j
out), solved exactly (`hardness/staircase.py`), and so is the stop (`thresholds.py`).

They solve for w* before every sample. Here it is solved anew when there are 10% more samples, which
changes w* little (`EVERY`: arbitrary) and lets 100 arms run in reasonable time. D-tracking follows
any shares that converge, so their limit theorem, samples/log(1/delta) -> T*, is not affected;
it is about the limit, and for their threshold.
"""

from __future__ import annotations

import math

import numpy as np

from bestk.policies.fixed_confidence.pairs import Pairs
from bestk.policies.protocol import Question

EVERY = 1.1


class TrackAndStop(Pairs):
    """Samples in proportion to w*."""

    name = "track-and-stop"

    def start(self, problem: Question, rng: np.random.Generator) -> None:
        """Nothing sampled, w* not known."""
        super().start(problem, rng)
        self.due = 0
        self.w = np.full(self.n_arms, 1.0 / self.n_arms)

    def choose(self) -> int:
        """D-tracking."""
        starved = self.starved()
        if starved is not None:
            return starved
        if self.t >= self.due:
            self.w = self.family.shares(self.means, self.k)
            self.due = math.ceil(EVERY * self.t)
        return int(np.argmax(self.t * self.w - self.counts))
