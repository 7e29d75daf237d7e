"""Anytime-valid confidence sequences: an interval for a mean that holds after every reward at once.

Also the one place that turns a reward assumption into its evidence (`evidence_for`).
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bestk.arguments import as_float, portion, shown
from bestk.compiled.programs import SEQUENCE, Axes, Program
from bestk.compiled.rent import in_pieces
from bestk.errors import InputError
from bestk.kernels import quantile
from bestk.kernels.evidence import HALF_NORMAL, RAYLEIGH
from bestk.kernels.types import (
    BERNSTEIN,
    BETA,
    BETTING,
    COINS,
    FINITE,
    GAUSSIAN,
    HIGH,
    LOW,
    NORMAL,
    QUANTILE,
    Evidence,
    FloatArray,
)  # fmt: skip
from bestk.rewards import Bernoulli, Bounded, Quantile, Ratings, Rewards, require_rewards

# Mixed over, with weights; fixed before any data. docs/evidence.md says how they were chosen.
N0 = (3.0, 100.0, 3000.0)
N0_WEIGHTS = (3.0, 2.0, 1.0)
FRACTIONS = tuple(0.8 * 2.0**-j for j in range(14))
FRACTION_WEIGHTS = tuple(1.0 / (j + 2) for j in range(14))
# Of policies, most of whose arms are sampled some ten to thousand times; docs/e-lucb.md.
# n0, its weight and its shape: where K is near N/2 hardly any arm is sampled thousands of times.
POLICY_NORMAL = ((2.0, 4.0, HALF_NORMAL), (200.0, 1.0, HALF_NORMAL))
BALANCED_NORMAL = ((4.0, 4.0, RAYLEIGH), (100.0, 1.0, HALF_NORMAL))
POLICY_FRACTIONS = FRACTIONS[:12]
POLICY_FRACTION_WEIGHTS = tuple(1.0 / (j + 1) for j in range(12))

# Of coins: both ends, and so far down that gaps of a millionth can be told.
COIN_FRACTIONS = (
    0.98, 0.75, 0.45, 0.25, 0.14, 0.08, 0.04, 0.02, 0.01, 0.005, 0.002, 0.001,
    2e-4, 3e-5, 4e-6, 5e-7, 6e-8,
)  # fmt: skip
COIN_WEIGHTS = (14, 20, 20, 20, 20, 18, 15, 12, 10, 8, 6, 5, 4, 3, 2, 1, 1)

# Of quantiles, for both ends alike: of bounds; and of the hybrid stop, where one side is enough by
# itself and where both are multiplied.
QUANTILE_FRACTIONS = (
    0.95, 0.75, 0.5, 0.3, 0.18, 0.1, 0.05, 0.02, 0.007, 0.002, 3e-4, 4e-5
)  # fmt: skip
QUANTILE_WEIGHTS = (50, 60, 60, 60, 50, 40, 30, 20, 10, 6, 4, 3)
QUANTILE_ALONE = (120, 150, 60, 15, 5, 4, 3, 3, 2, 2, 1, 1)
QUANTILE_PAIRED = (20, 40, 60, 60, 50, 40, 30, 20, 10, 6, 4, 3)

STEPS = 64  # to which policies round bounded rewards at random, to bet on them like ratings

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


def evidence_for(
    rewards: Rewards,
    points: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
    *,
    shapes: Sequence[float] | None = None,
    steps: int = 0,
    bets: bool = False,
    mirrored: bool = False,
) -> Evidence:
    """The evidence of a reward assumption, as constants that kernels read.

    `points` and `weights` replace the default mixture: over n0 > 0 for gaussian and subgaussian,
    over fractions in (0, 1) for ratings, bounded and bets. They must be fixed before any data.
    `shapes` tells for each n0 whether its prior is half normal (default) or a Rayleigh. With
    `steps` > 0 bounded rewards will be rounded at random to so many steps, and bet on like ratings.
    With `bets` coins are bet on instead of the Beta mixture. `mirrored` is for negated rewards.
    """
    bets = bets and isinstance(rewards, Bernoulli)
    betting = isinstance(rewards, Ratings | Bounded | Quantile) or bets
    if points is None and isinstance(rewards, Quantile):
        points, weights = QUANTILE_FRACTIONS, QUANTILE_WEIGHTS
    elif points is None:
        points = FRACTIONS if betting else N0
        weights = FRACTION_WEIGHTS if betting else N0_WEIGHTS
    grid = np.array(points, dtype=np.float64)
    share = np.ones(grid.shape) if weights is None else np.array(weights, dtype=np.float64)
    ceiling = 1.0 if betting else math.inf
    if grid.ndim != 1 or not grid.size or not np.all((grid > 0.0) & (grid < ceiling)):
        raise InputError(
            f"points {points} were refused: numbers between 0 and {ceiling} are needed"
        )
    if share.shape != grid.shape or not np.all((share > 0.0) & (share < math.inf)):
        raise InputError(f"weights {weights} were refused: a positive one for each point is needed")
    family = NORMAL
    levels: tuple[float, ...] = (0.0, 1.0)
    if isinstance(rewards, Bernoulli):
        family = COINS if bets else BETA
    elif isinstance(rewards, Ratings):
        family, levels = BETTING, rewards.levels
    elif isinstance(rewards, Bounded):
        family, levels = BERNSTEIN, (rewards.low, rewards.high)
        if steps:
            family = BETTING
            levels = tuple(np.linspace(rewards.low, rewards.high, steps + 1).tolist())
    elif isinstance(rewards, Quantile):
        return _of_quantile(rewards, grid, share, mirrored)
    if mirrored:
        levels = tuple(-level for level in reversed(levels))
    return Evidence(
        family,
        rewards.sigma,
        np.array(levels, dtype=np.float64),
        grid,
        np.log(share / share.sum()),
        np.log1p(-grid) if betting else np.array(shapes or [HALF_NORMAL] * grid.size),
    )


def _of_quantile(
    rewards: Quantile, grid: FloatArray, share: FloatArray, mirrored: bool
) -> Evidence:
    """Bets on observations above a value, which happen with probability 1 - q at most, or below.

    The q-quantile of rewards is the (1-q)-quantile of negated ones, with its sign turned.
    """
    q = 1.0 - rewards.q if mirrored else rewards.q
    return Evidence(
        QUANTILE,
        rewards.sigma,
        np.array([-math.inf, math.inf]),
        grid,
        np.log(share / share.sum()),
        np.log1p(-grid),
        q,
        np.log1p(np.stack((grid * (q / (1.0 - q)), grid * ((1.0 - q) / q)))),
        rewards.relative,
        np.log(share / share.sum()),
    )


def policy_evidence(
    rewards: Rewards,
    maximize: bool = True,
    balanced: bool = False,
    bets: bool = True,
    hybrid: bool = False,
) -> Evidence:
    """The evidence that policies use; to minimise, of negated rewards.

    Without `bets`, the Beta mixture of coins that version 0.1 had. `hybrid`: whether the product of
    both sides counts, for which quantiles have mixtures of their own.
    """
    if bets and isinstance(rewards, Bernoulli):
        fractions, weighed = COIN_FRACTIONS, COIN_WEIGHTS
        return evidence_for(rewards, fractions, weighed, bets=True, mirrored=not maximize)
    if isinstance(rewards, Quantile):
        of_bounds = QUANTILE_ALONE if hybrid else QUANTILE_WEIGHTS
        found = evidence_for(rewards, QUANTILE_FRACTIONS, of_bounds, mirrored=not maximize)
        paired = np.array(QUANTILE_PAIRED, np.float64)
        return found._replace(log_paired=np.log(paired / paired.sum()))
    if isinstance(rewards, Ratings | Bounded):
        points, weights = POLICY_FRACTIONS, POLICY_FRACTION_WEIGHTS
        return evidence_for(rewards, points, weights, steps=STEPS, mirrored=not maximize)
    n0, share, shapes = zip(*(BALANCED_NORMAL if balanced else POLICY_NORMAL), strict=True)
    return evidence_for(rewards, n0, share, shapes=shapes, mirrored=not maximize)


def item_evidence(rewards: Rewards, maximize: bool = True) -> Evidence:
    """Evidence on a finite set of items (docs/evaluation.md): all it needs is the range."""
    if not isinstance(rewards, Bernoulli | Ratings | Bounded):
        raise InputError(
            f"{rewards.name} rewards were refused: scores of items need a range, such as"
            " Bounded(0, 1)"
        )
    ends = sorted(end if maximize else -end for end in (float(rewards.low), float(rewards.high)))
    one = np.ones(1)
    return Evidence(FINITE, rewards.sigma, np.array(ends), one, np.zeros(1), np.zeros(1))


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
    e = evidence_for(rewards)
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
