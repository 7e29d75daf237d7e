"""Many scores of items at once, by numpy: what `finite.score` keeps, to the bit.

An evaluation is read back this way, in a time that does not depend on compiled kernels. What an
arm expects of its next item depends on all earlier scores, so that is found score by score; bets
depend on their own arm alone, and are made for all scores of an arm together.
"""

from __future__ import annotations

import numpy as np

from bestk.kernels import finite, rng
from bestk.kernels.types import HIGH, LOW, PLANS, RUN, FloatArray, IntArray, Spec, State

ROWS = 1 << 10  # scores of an arm whose bets are made together


def score_many(
    state: State, spec: Spec, arms: IntArray, number: IntArray, rewards: FloatArray
) -> None:
    """Scores in the order in which they count; `number` tells how many their arm had before."""
    items, levels = state.items, state.evidence.levels
    scores = (rewards - levels[0]) / (levels[1] - levels[0])
    stream = rng.ORDER if state.clock[PLANS] == 0 else rng.PLANNING
    coins = rng.uniform(spec.seed, int(state.clock[RUN]), arms, number, stream)
    bets = np.empty((arms.size, 6))
    for row, (arm, t, x, coin) in enumerate(
        zip(arms.tolist(), number.tolist(), scores.tolist(), coins.tolist(), strict=True)
    ):
        order = items.order[arm]
        if items.drawn[arm] <= t:
            other = t + min(int(coin * (order.size - t)), order.size - t - 1)
            order[t], order[other] = order[other], order[t]
            items.drawn[arm] = t + 1
        bets[row] = _learn(state, arm, t, int(order[t]), x)
    for arm in np.unique(arms).tolist():
        own = np.flatnonzero(arms == arm)
        for first in range(0, own.size, ROWS):
            rows = own[first : first + ROWS]
            _bet(state, arm, number[rows], *bets[rows].T)


def _learn(
    state: State, arm: int, t: int, item: int, x: float
) -> tuple[float, float, float, float, float, float]:
    """`finite.score` without its bets; what they need."""
    items, fits = state.items, state.items.fits
    left = items.difficulty[finite.Z][items.order[arm, t:]]
    middle = float(np.cumsum(left)[-1]) / left.size  # added up in order, as the kernel does
    z = float(items.difficulty[finite.Z, item]) - middle
    before, total_y, total_yy, total_xz, total_zz = fits[:, arm].tolist()
    slope = min(max((total_xz + finite.SLOPE) / (total_zz + finite.SLOPE), 0.0), finite.STEEPEST)
    y = x - slope * z
    grand, many, squares = items.grand.tolist()
    usual = (grand + 1.0) / (many + 2.0)
    mean = (total_y + finite.PRIOR * usual) / (t + finite.PRIOR)
    around = total_yy - 2.0 * mean * total_y + t * mean * mean
    wide = (squares + finite.LARGEST_VARIANCE) / (many + 1.0)
    variance = max((around + finite.SPREAD * wide) / (t + finite.SPREAD), finite.LEAST_VARIANCE)
    least, most = slope * (float(left.min()) - middle), slope * (float(left.max()) - middle)
    residuals = float(items.difficulty[finite.RESIDUALS, item]) + (x - (before + usual) / (t + 1.0))
    scored = float(items.difficulty[finite.MANY, item]) + 1.0
    items.difficulty[:, item] = residuals, scored, residuals / (scored + finite.NEIGHBOURS)
    items.grand[:] = grand + x, many + 1.0, squares + (y - mean) * (y - mean)
    fits[:, arm] = (
        before + x, total_y + y, total_yy + y * y, total_xz + (x - mean) * z, total_zz + z * z,
    )  # fmt: skip
    return y, mean, variance, least, most, before


def _bet(
    state: State,
    arm: int,
    number: IntArray,
    y: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    least: FloatArray,
    most: FloatArray,
    before: FloatArray,
) -> None:
    """`finite._bet` for scores of one arm, one after the other."""
    n_items, step = state.items.order.shape[1], 1.0 / finite.CELLS
    edges = step * np.arange(finite.CELLS + 1)
    m = (n_items * edges - before[:, None]) / (n_items - number)[:, None]
    y, mean, variance = y[:, None], mean[:, None], variance[:, None]
    gap = mean - m
    stake = gap / (variance + gap * gap)
    for end, mine, sign, reach, is_out in (
        (LOW, slice(1, None), 1.0, m + most[:, None], m < -finite.SAFETY),
        (HIGH, slice(0, -1), -1.0, 1.0 - m - least[:, None], m > 1.0 + finite.SAFETY),
    ):
        is_bet = sign * gap > 0.0
        cap = finite.KEPT / np.maximum(reach, finite.SAFETY)
        factor = np.where(is_bet, 1.0 + np.minimum(sign * stake, cap) * (sign * (y - m)), 1.0)
        factor[is_out] = 1.0
        wealth = state.items.wealth[2 * arm + end]
        for row in factor[:, mine]:
            wealth *= row
        wealth[(is_bet & is_out)[:, mine].any(axis=0)] = np.inf
