"""What counts of every arm, in the user's own units: how many, their sum, and what speaks against
the reward assumption.

**A test of the assumption.** For sigma-sub-Gaussian rewards, two of one arm differ by D sqrt(2),
where D is sigma-sub-Gaussian with mean 0, and E exp(s D^2 / (2 sigma^2)) <= 1 / sqrt(1 - s) for s
in (0, 1) (a Gaussian mixture over the definition; Vershynin 2018, Section 2.5). So over the n
disjoint pairs of an arm's consecutive rewards, with Q the sum of D^2,

    exp(s Q / (2 sigma^2)) (1 - s)^(n/2)

is a supermartingale from 1, and so is its mean over a few s. By Ville's inequality it ever reaches
N / DOUBT for one of N arms with probability at most DOUBT, if the assumption holds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bestk.kernels.types import FAR, FloatArray, IntArray
from bestk.rewards import Rewards

SHARES = np.array([0.25, 0.5, 0.75, 0.9])  # s, mixed over evenly; arbitrary
DOUBT = 1e-9  # how improbable data must be before they are said to contradict; arbitrary


class Tally:
    """Counts and sums of all arms that ever were in a study."""

    def __init__(self, rewards: Rewards, n_arms: int) -> None:
        self.sigma = rewards.sigma
        self.is_normal = not rewards.has_range and math.isfinite(rewards.sigma)
        self.counts = np.zeros(n_arms, np.int64)
        self._origins = np.zeros(n_arms)  # what sums are relative to, as in `State`
        self._sums = np.zeros(n_arms)
        self._pairs = np.zeros((2, n_arms if self.is_normal else 0))  # last odd reward, and Q

    def extend(self) -> None:
        """One more arm."""
        self.counts = np.append(self.counts, 0)
        self._origins = np.append(self._origins, 0.0)
        self._sums = np.append(self._sums, 0.0)
        if self.is_normal:
            self._pairs = np.hstack([self._pairs, np.zeros((2, 1))])

    def add_one(self, arm: int, reward: float) -> None:
        """One more observation."""
        count = self.counts[arm]
        if count == 0 and abs(reward) > FAR * self.sigma:
            self._origins[arm] = reward
        if self.is_normal:
            if count % 2 == 0:
                self._pairs[0, arm] = reward
            else:
                self._pairs[1, arm] += (reward - self._pairs[0, arm]) ** 2 / 2.0
        self.counts[arm] = count + 1
        self._sums[arm] += reward - self._origins[arm]

    def add(self, arms: IntArray, rewards: FloatArray) -> None:
        """Several, one after the other: the same to the bit, however a log is cut into pieces."""
        new = np.flatnonzero(self.counts[arms] == 0)
        if new.size:
            first, where = np.unique(arms[new], return_index=True)
            start = rewards[new][where]
            self._origins[first] = np.where(np.abs(start) > FAR * self.sigma, start, 0.0)
        if self.is_normal:
            self._pair_up(arms, rewards)
        np.add.at(self._sums, arms, rewards - self._origins[arms])
        self.counts += np.bincount(arms, minlength=self.counts.size)

    def _pair_up(self, arms: IntArray, rewards: FloatArray) -> None:
        order = np.argsort(arms, kind="stable")
        sorted_arms, values = arms[order], rewards[order]
        begins = np.searchsorted(sorted_arms, sorted_arms)
        number = np.arange(arms.size) - begins + self.counts[sorted_arms]
        is_second = number % 2 == 1
        before = np.concatenate(([0.0], values[:-1]))
        carried = is_second & (np.arange(arms.size) == begins)
        before[carried] = self._pairs[0, sorted_arms[carried]]
        squares = (values - before)[is_second] ** 2 / 2.0
        np.add.at(self._pairs[1], sorted_arms[is_second], squares)
        self._pairs[0, sorted_arms[~is_second]] = values[~is_second]  # the last one stays

    @property
    def sums(self) -> FloatArray:
        """Of the rewards as they were told."""
        return self._origins * self.counts + self._sums

    @property
    def means(self) -> FloatArray:
        """Of the rewards as they were told; nan where there are none."""
        with np.errstate(invalid="ignore"):
            return self._origins + self._sums / self.counts

    def contradicting(self) -> NDArray[np.intp]:
        """The arms whose rewards spread more than the assumption allows, beyond doubt."""
        if not self.is_normal:
            return np.zeros(0, np.intp)
        q, n = self._pairs[1][:, None] / (2.0 * self.sigma**2), (self.counts // 2)[:, None]
        logs = SHARES * q + 0.5 * n * np.log1p(-SHARES)
        evidence = np.logaddexp.reduce(logs, axis=1) - math.log(SHARES.size)
        return np.flatnonzero(evidence >= math.log(self.counts.size / DOUBT))
