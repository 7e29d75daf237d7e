"""How far two computations of one number may be apart; docs/certificate.md says why.

Measured by the scale of the rewards (their range, or sigma), plus a few units in the last place of
the numbers compared. Never by their size alone: far from zero that would allow anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bestk.verification.arrays import Floats

EXACT = 1e-9  # of the scale: sums, means, and the rule's comparison with epsilon
INVERTED = 1e-6  # of the scale: bounds, found by searching or rounded outwards to 24 bits
LEVEL = 1e-9  # of itself: an error probability
LAST = 4  # units in the last place of the numbers compared
WIDENED = 100  # the same, of the statistic: kernels widen bounds by up to 1e-14 of the mean


def last_places(values: Any) -> Floats:
    """A unit in the last place of each value; 0 of what is not finite."""
    sizes = np.abs(np.asarray(values, np.float64))
    return np.where(np.isfinite(sizes), np.spacing(np.where(np.isfinite(sizes), sizes, 0.0)), 0.0)


def agrees(given: float | None, own: float, room: float) -> bool:
    """Whether two numbers are that near; None stands for what is infinite or unknown."""
    if given is None or not math.isfinite(own):
        return given is None and not math.isfinite(own)
    return abs(given - own) <= room + LAST * float(last_places(own))
