"""What policies in Python share: counts and sums of every arm, and what a problem gives them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from bestk.decisions import TopK
from bestk.errors import InputError
from bestk.kernels.types import FloatArray, IntArray
from bestk.policies.protocol import Question


class Tally:
    """A policy that counts: how often each arm was pulled, and the sum of its rewards."""

    n_arms: int
    counts: IntArray
    sums: FloatArray
    shift: float = 0.0  # added to every reward: 1 where coins are costs, so that tails are counted

    def begin(self, n_arms: int) -> None:
        """Nothing has been seen."""
        self.n_arms = n_arms
        self.counts = np.zeros(n_arms, np.int64)
        self.sums = np.zeros(n_arms)

    def tell(self, arm: int, reward: float) -> None:
        """One reward of one arm."""
        self.counts[arm] += 1
        self.sums[arm] += reward + self.shift

    @property
    def means(self) -> FloatArray:
        """Of the arms sampled so far; 0 where there is nothing yet."""
        return self.sums / np.maximum(self.counts, 1)

    def leaders(self, arms: IntArray, size: int) -> list[int]:
        """Of these arms so many of the largest means, best first."""
        best: list[int] = arms[descending(self.means[arms])[:size]].tolist()
        return best


def wanted(problem: Question, policy: str) -> int:
    """K, of a problem that asks for the K best."""
    if not isinstance(problem.decision, TopK):
        raise InputError(
            f"the {problem.decision.kind} class was refused: {policy} finds the K best arms only"
        )
    return problem.decision.k


def budget_of(problem: Question, policy: str, least: int, why: str) -> int:
    """How many pulls there may be in all; refused below `least`."""
    budget = int(problem.params["budget"])
    if budget < least:
        raise InputError(
            f"budget={budget} was refused: {policy} needs at least {least} pulls here, {why}"
        )
    return budget


@cache
def harmonic(n_arms: int) -> Fraction:
    """Sum of 1/i for i = 1, ..., N; exactly, for what budgets are divided by is then rounded up."""
    least = math.lcm(*range(1, n_arms + 1))
    return Fraction(sum(least // i for i in range(1, n_arms + 1)), least)


def descending(means: FloatArray) -> IntArray:
    """Arms in the order mean descending, index ascending."""
    return np.argsort(-means, kind="stable")


def rounds_of(arms: IntArray, times: int) -> list[int]:
    """Each of the arms so many times, in turns."""
    pulls: list[int] = np.tile(arms, times).tolist()
    return pulls
