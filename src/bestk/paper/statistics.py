"""Intervals for claims: ratios of means, slopes, counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestk.kernels.types import FloatArray

LEVEL = 0.95


class Interval(NamedTuple):
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


class Estimate(NamedTuple):
    """A mean with its standard error."""

    mean: float
    sem: float

    @property
    def relative(self) -> float:
        """Standard error of the log of the mean."""
        return self.sem / self.mean


def estimate(values: FloatArray) -> Estimate:
    """Mean and standard error of independent values."""
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


def geometric_mean(estimates: Sequence[Estimate]) -> Estimate:
    """Geometric mean of independent estimates, by the delta method."""
    mean = math.exp(sum(math.log(e.mean) for e in estimates) / len(estimates))
    return Estimate(mean, mean * math.hypot(*(e.relative for e in estimates)) / len(estimates))


def _z(comparisons: int) -> float:
    """Normal quantile for `comparisons` simultaneous two-sided intervals (Bonferroni)."""
    from scipy.special import ndtri

    return float(ndtri(1.0 - (1.0 - LEVEL) / (2 * comparisons)))


def ratio(a: Estimate, b: Estimate, *, comparisons: int = 1) -> Interval:
    """Ratio of two means, by the delta method on the log.

    The two are treated as independent. Common random numbers correlate them positively, so the
    interval is wider than it need be, never narrower.
    """
    log = math.log(a.mean / b.mean)
    half = _z(comparisons) * math.hypot(a.relative, b.relative)
    return Interval(math.exp(log), math.exp(log - half), math.exp(log + half))


def slope(
    x: Sequence[float], y: Sequence[float], errors: Sequence[float], *, comparisons: int = 1
) -> Interval:
    """Weighted least-squares slope of y, whose standard errors are known, on x."""
    weights = np.maximum(errors, 1e-12) ** -2.0
    around = np.array(x) - np.average(x, weights=weights)
    spread = float(weights @ around**2)
    value = float(weights @ (around * y)) / spread
    half = _z(comparisons) / math.sqrt(spread)
    return Interval(value, value - half, value + half)


def proportion(count: int, total: int) -> Interval:
    """Clopper-Pearson interval of a probability."""
    from scipy.stats import beta

    tail = (1.0 - LEVEL) / 2
    low = 0.0 if count == 0 else float(beta.ppf(tail, count, total - count + 1))
    high = 1.0 if count == total else float(beta.ppf(1.0 - tail, count + 1, total - count))
    return Interval(count / total, low, high)
