"""The arrays that are computed with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def numbered(arms: Ints) -> Ints:
    """The number of every observation among those of its arm, from 0."""
    order = np.argsort(arms, kind="stable")
    numbers = np.empty(arms.size, np.int64)
    numbers[order] = np.arange(arms.size) - np.searchsorted(arms[order], arms[order])
    return numbers
