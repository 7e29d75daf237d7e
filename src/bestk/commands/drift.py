"""Whether the times of a command drift: the test of Mann and Kendall for a trend.

S is the number of pairs of runs whose later one took longer, less those whose later one took less.
Without a trend every order of the times is equally likely, S has mean 0 and a known variance, and
is close to normal from ten runs on (Mann, 1945, Nonparametric tests against trend, Econometrica 13;
Kendall, 1975, Rank Correlation Methods, with the correction for ties).

The level is right for a number of runs fixed in advance. A race stops when it is certain, so here
it is a warning and no theorem.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.01  # of a false alarm in a race, split over its commands; arbitrary
LEAST = 10  # runs, for the normal approximation


@dataclass(frozen=True)
class Drift:
    """A trend in the times of one command."""

    command: str
    p: float  # the probability of a trend as strong where there is none
    change: float  # of the median, from the first third of its runs to the last, as a fraction


def trend(times: Sequence[float]) -> float:
    """The two-sided p-value of Mann and Kendall's S; 1 for fewer than ten times."""
    many = len(times)
    if many < LEAST:
        return 1.0
    before: list[float] = []
    score = 0
    for time in times:
        score += bisect_left(before, time) - (len(before) - bisect_right(before, time))
        insort(before, time)
    ties = sum(t * (t - 1) * (2 * t + 5) for t in Counter(times).values())
    variance = (many * (many - 1) * (2 * many + 5) - ties) / 18.0
    if variance <= 0.0:
        return 1.0
    z = max(0, abs(score) - 1) / math.sqrt(variance)  # corrected for continuity
    return math.erfc(z / math.sqrt(2.0))


def drifting(times: Mapping[str, Sequence[float]], level: float = LEVEL) -> list[Drift]:
    """The commands whose times have a trend, each tested at its share of the level."""
    found = []
    for command, own in times.items():
        p = trend(own)
        if p <= level / len(times):
            third = len(own) // 3
            first, last = statistics.median(own[:third]), statistics.median(own[-third:])
            found.append(Drift(command, p, last / first - 1.0))
    return found
