"""EB-TC, a top-two policy (Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022), for the K best.

"Top Two Algorithms Revisited", NeurIPS 2022. K = 1: the leader is the empirical best arm (EB), the
challenger the arm of least transportation cost from it (TC), and each is sampled with probability
1/2. For the K best, the pair is that of least cost over all i in and j out, which is the top-two
principle of You, Qin, Wang and Yang ("Information-Directed Selection for Top-Two Algorithms", COLT
2023). They show that no fixed probability is optimal for K > 1 and take the leader with
probability N_i d(m_i, c) / Z_ij instead: `select=ids`.

EB-TC does not force exploration, and its authors report runs that take very long where the leader
is wrong by bad luck. By default arms sampled fewer than sqrt(t) - N/2 times are sampled first, as
Garivier and Kaufmann (2016) do; `explore=false` is EB-TC as it stands. The stop (`thresholds.py`)
holds for any sampling rule.
"""

from __future__ import annotations

import numpy as np

from bestk.policies.catalogue import FLAG, Parameter
from bestk.policies.fixed_confidence.pairs import Pairs
from bestk.policies.protocol import Question

HALF, IDS = "half", "ids"
SELECT = Parameter("select", HALF, "which of the pair: a fair coin, or by information", (HALF, IDS))
EXPLORE = Parameter("explore", True, "sample arms below sqrt(t) - N/2 samples first", FLAG)


class EBTC(Pairs):
    """Samples one arm of the pair that is hardest to tell apart."""

    name = "eb-tc"

    def start(self, problem: Question, rng: np.random.Generator) -> None:
        """Nothing sampled."""
        super().start(problem, rng)
        self.by_information = problem.params.get(SELECT.name, HALF) == IDS
        self.explores = problem.params.get(EXPLORE.name, True)

    def choose(self) -> int:
        """Leader or challenger."""
        starved = self.starved() if self.explores else None
        if starved is not None:
            return starved
        i, j = self.worst()
        chance = 0.5
        if self.by_information:
            n, m = self.counts, self.means
            chance = self.family.share(float(n[i]), float(m[i]), float(n[j]), float(m[j]))
        return i if self.rng.random() < chance else j
