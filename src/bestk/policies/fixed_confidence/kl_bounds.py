"""Confidence bounds of coins by their divergence: the largest q with N kl(p, q) <= beta."""

from __future__ import annotations

import numpy as np

from bestk.errors import InputError
from bestk.kernels.types import BERNOULLI, BoolArray, FloatArray
from bestk.policies.fixed_confidence.families import divergence
from bestk.policies.protocol import Question

STEPS = 50  # Newton's method takes some five to ten


def upper(p: FloatArray, level: FloatArray) -> FloatArray:
    """The largest q in [p, 1] with kl(p, q) <= level, or up to 1e-12 more, never less.

    Newton's method from above: kl(p, .) is convex and grows, so that it comes down to the root.
    It starts at Pinsker's p + sqrt(level/2), or where the part of 1 - q alone reaches the level.
    """
    from scipy.special import entr

    rest = 1.0 - p
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = np.exp(-(level + entr(p) + entr(rest)) / rest)
    q = np.minimum(p + np.sqrt(level / 2.0), 1.0 - np.where(rest > 0.0, tail, 0.0))
    for _ in range(STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (divergence(p, q) - level) * q * (1.0 - q) / (q - p)
        step = np.where((q < 1.0) & (q > p), step, 0.0)
        q = np.maximum(q - np.maximum(step, 0.0), p)
        if not (step > 1e-13).any():
            break
    return np.minimum(q, 1.0)


def bounds(means: FloatArray, level: FloatArray, below: BoolArray) -> FloatArray:
    """Lower bounds where `below`, upper bounds elsewhere: heads and tails mirror each other."""
    found = upper(np.where(below, 1.0 - means, means), level)
    return np.where(below, 1.0 - found, found)


def require_coins(problem: Question, policy: str) -> float:
    """What is added to every reward: 1 where coins are costs, so that tails are counted."""
    if problem.rewards.law != BERNOULLI:
        raise InputError(
            f"{problem.rewards.name} rewards were refused: {policy} has the bounds of Bernoulli"
            " rewards"
        )
    return 0.0 if problem.maximize else 1.0
