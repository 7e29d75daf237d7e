"""What the families' evidence is mixed over; fixed before any data (docs/evidence.md says how).

An `Evidence` holds the constants that kernels read. Each family builds its own (`evidence`,
`policy_evidence`, `item_evidence`) from what is here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestk.errors import InputError
from bestk.kernels.evidence import HALF_NORMAL, RAYLEIGH
from bestk.kernels.types import BETA, BETTING, NORMAL, Evidence

UNIT = (0.0, 1.0)  # levels of coins
# Of confidence sequences: n0 of normal evidence, and fractions that are bet.
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


class Setting(NamedTuple):
    """What a policy's evidence depends on, besides the rewards; all of it is fixed before data."""

    maximize: bool = True  # False: evidence is that of negated rewards
    balanced: bool = False  # whether neither side has much fewer arms than the other
    bets: bool = True  # False: coins have the Beta mixture, as in version 0.1
    both: bool = False  # whether the product of both sides counts


def mixture(
    kind: int,
    sigma: float,
    levels: Sequence[float],
    points: Sequence[float],
    weights: Sequence[float] | None,
    shapes: Sequence[float] | None = None,
    *,
    maximize: bool = True,
) -> Evidence:
    """Evidence of one kind, mixed over `points` with `weights` (alike if None).

    Points are n0 > 0 of normal evidence, whose prior has one of the `shapes` (half normal if None),
    and fractions in (0, 1) of bets. `levels` are those of the rewards, ascending.
    """
    is_bet = kind not in (NORMAL, BETA)
    grid = np.array(points, dtype=np.float64)
    ceiling = 1.0 if is_bet else math.inf
    if grid.ndim != 1 or not grid.size or not np.all((grid > 0.0) & (grid < ceiling)):
        raise InputError(
            f"points {points} were refused: numbers between 0 and {ceiling} are needed"
        )
    share = np.ones(grid.shape) if weights is None else np.array(weights, dtype=np.float64)
    if share.shape != grid.shape or not np.all((share > 0.0) & (share < math.inf)):
        raise InputError(f"weights {weights} were refused: a positive one for each point is needed")
    ends = levels if maximize else [-level for level in reversed(levels)]
    return Evidence(
        kind,
        sigma,
        np.array(ends, dtype=np.float64),
        grid,
        np.log(share / share.sum()),
        np.log1p(-grid) if is_bet else np.array(shapes or [HALF_NORMAL] * grid.size),
    )


def policy_bets(sigma: float, levels: Sequence[float], setting: Setting) -> Evidence:
    """Bets on the counts of levels, as policies make them."""
    points, weights = POLICY_FRACTIONS, POLICY_FRACTION_WEIGHTS
    return mixture(BETTING, sigma, levels, points, weights, maximize=setting.maximize)
