"""What the suites of policies share: an entry of the catalogue, and rewards to try it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestk.decisions import TopK
from bestk.kernels import rng
from bestk.kernels.types import FloatArray, World
from bestk.policies import Policy, find
from bestk.problem import Problem

CAP = 20_000  # samples after which a run counts as endless
MEANS = (0.2, 2.0, 0.5, 0.1, 1.6, 0.4)  # one and two of them stand out


class EntryContract:
    """Tests of one entry of the catalogue; derive from it, and name the entry."""

    policy: str
    params: Mapping[str, Any] = {}
    means: Sequence[float] = MEANS
    delta = 0.05
    seeds: Sequence[int] = (1, 2)

    @property
    def _settings(self) -> dict[str, Any]:
        """What a problem, a study and a simulation are told of the policy."""
        raise NotImplementedError

    def _problem(self, **changes: Any) -> Problem:
        return Problem(**{"decision": TopK(len(self.means), self._k), **self._settings, **changes})

    @property
    def _entry(self) -> Policy:
        return find(self.policy)

    @property
    def _k(self) -> int:
        return 1 if self._entry.single else 2

    def _best(self, means: Sequence[float]) -> list[int]:
        return sorted(sorted(range(len(means)), key=lambda arm: -means[arm])[: self._k])


class Supply:
    """The simulator's own rewards: a function of seed, arm and number."""

    def __init__(
        self, law: int, means: Sequence[float] | FloatArray, sigma: float, seed: int
    ) -> None:
        self._world = World(law, np.array(means, np.float64), sigma)
        self._seed, self._drawn = seed, [0] * len(means)

    def __call__(self, arm: int) -> float:
        """The next reward of an arm."""
        self._drawn[arm] += 1
        return float(rng.draw(self._world, self._seed, 0, arm, self._drawn[arm] - 1))
