"""Anytime-valid confidence sequences: intervals that hold after every reward at once."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bestk.arguments import as_float, portion, shown
from bestk.compiled.programs import SEQUENCE, Axes, Program
from bestk.compiled.rent import in_pieces
from bestk.errors import InputError
from bestk.kernels import quantile
from bestk.kernels.types import GAUSSIAN, HIGH, LOW, NORMAL, Evidence, FloatArray
from bestk.rewards import Quantile, Ratings, Rewards, require_rewards

LARGEST = 1e150  # squares of larger numbers leave the range of doubles


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Entry t of each array belongs to the first t+1 rewards.

    With probability at least 1 - alpha the true mean lies in [low, high] at all t at once, so one
    may stop looking at any time, for any reason. The intervals are each computed afresh; their
    running intersection (`np.maximum.accumulate(low)`) is as valid.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    alpha: float


def confidence_sequence(
    rewards: Rewards, data: Iterable[float], alpha: float = 0.05
) -> ConfidenceSequence:
    """The running mean of `data` and an interval for the true mean, after each reward.

    The intervals hold at all times at once with probability at least 1 - alpha (alpha/2 per side),
    if each reward, given the earlier ones, has the same mean and fits the assumption `rewards`.
    Data that contradict the assumption are refused. For Bounded rewards the order matters. With
    `Quantile(q)` it is the q-quantile that is covered, and `mean` holds the sample's.
    """
    alpha = portion(alpha, "alpha")
    require_rewards(rewards)
    values = _checked(rewards, data)
    e = rewards.evidence()
    if isinstance(rewards, Quantile):
        return _of_counts(e, values, alpha)
    # Normal evidence does not care where zero is: the first reward as zero keeps digits in sums.
    origin = values[0] if e.kind == NORMAL and values.size else 0.0
    index = np.zeros(0, dtype=np.int64)
    if isinstance(rewards, Ratings):
        index = np.searchsorted(e.levels, values).astype(np.int64)
    counts = np.zeros((1, e.levels.size + 1), dtype=np.int64)
    mean, low, high = (np.empty(values.size) for _ in range(3))
    target = math.log(2.0 / alpha)
    shared = e, values - origin, index, counts, target, np.zeros(2), mean, low, high
    in_pieces(Program(SEQUENCE, Axes(kind=e.kind)), shared, values.size)
    return ConfidenceSequence(mean + origin, low + origin, high + origin, alpha)


def _of_counts(e: Evidence, values: FloatArray, alpha: float) -> ConfidenceSequence:
    """The same for a quantile: bounds are order statistics, whose ranks depend on t alone.

    One more observation needs one more hit at most, so that one look tells how many.
    """
    target, seen = math.log(2.0 / alpha), list[float]()
    (mean, low, high), hits = np.empty((3, values.size)), [1, 1]
    for n, value in enumerate(values.tolist(), 1):
        insort(seen, value)
        for end in (LOW, HIGH):
            if quantile.log_evidence(e, e.log_weights, end, float(n), float(hits[end])) < target:
                hits[end] += 1
        mean[n - 1] = quantile.sample_quantile(seen, 0, n, e.q)
        low[n - 1] = seen[n - hits[LOW]] if hits[LOW] <= n else -math.inf
        high[n - 1] = seen[hits[HIGH] - 1] if hits[HIGH] <= n else math.inf
    return ConfidenceSequence(mean, low, high, alpha)


def _checked(rewards: Rewards, data: Iterable[float]) -> FloatArray:
    """The data as one array of numbers that the assumption allows."""
    if not isinstance(data, Iterable):
        raise InputError(f"data={shown(data)} were refused: give a sequence of rewards")
    raw = data if isinstance(data, np.ndarray) else list(data)
    array = raw if isinstance(raw, np.ndarray) else _as_array(rewards, raw)
    if array.ndim != 1:
        raise InputError(f"data of shape {array.shape} were refused: one row of rewards is needed")
    if array.dtype.kind not in "buif":
        array = _as_array(rewards, list(array))
    values = array.astype(np.float64)
    allowed = np.fromiter(map(rewards.allows, values.tolist()), np.bool_, values.size)
    if rewards.law == GAUSSIAN:
        allowed &= np.abs(values) <= LARGEST
    if not allowed.all():
        position = int(np.argmin(allowed))
        _refuse(rewards, position, values[position])
        raise InputError(f"data[{position}]: reward {values[position]} was refused: too large")
    return values


def _as_array(rewards: Rewards, items: list[float]) -> FloatArray:
    """One number per item, refusing what only looks like one (text, None, lists)."""
    if set(map(type, items)) - {int, float, bool, np.float64}:
        for position, item in enumerate(items):
            _refuse(rewards, position, item)
    return np.array([as_float(item) for item in items], np.float64)


def _refuse(rewards: Rewards, position: int, reward: float) -> None:
    """Say what is wrong with the reward at that position, if anything is."""
    try:
        rewards.validate(reward)
    except InputError as error:
        raise InputError(f"data[{position}]: {error}") from error
