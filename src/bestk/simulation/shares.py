"""How far a share of runs may be from the probability that it estimates."""

from __future__ import annotations

import math

Z95 = 1.959964  # two-sided, 95%


def wilson(count: int, runs: int) -> tuple[float, float]:
    """Wilson's 95% interval of a probability that was met in `count` of `runs` runs.

    Unlike Wald's it has a length where the share is 0 or 1, and holds its level for small shares.
    """
    share, square = count / runs, Z95 * Z95 / runs
    middle = share + square / 2.0
    half = Z95 * math.sqrt(share * (1.0 - share) / runs + square / (4.0 * runs))
    low, high = ((middle + sign * half) / (1.0 + square) for sign in (-1.0, 1.0))
    return (low if count else 0.0), (high if count < runs else 1.0)
