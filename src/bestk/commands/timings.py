"""The times of each command as people know them from hyperfine: mean, deviation, range, outliers.

Descriptions of what was seen, without a guarantee; relative speeds come with intervals that have.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bestk.commands.entrants import Entrant
from bestk.commands.runs import Run
from bestk.confidence import confidence_sequence
from bestk.rewards import Rewards

# hyperfine's: ten standard deviations, 1.4826 of the median absolute deviation each, which is what
# Iglewicz and Hoaglin (1993), How to Detect and Handle Outliers, call a modified z-score
OUTLIER = 14.826
BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Timing:
    """The counted runs of one command; a run that was cut has the seconds of the cap."""

    command: str
    parameters: Mapping[str, str]
    runs: tuple[Run, ...]
    times: tuple[float, ...]  # of those that have one

    @property
    def mean(self) -> float:
        """Of the times."""
        return statistics.fmean(self.times)

    @property
    def stddev(self) -> float | None:
        """Sample standard deviation; None for a single time."""
        return statistics.stdev(self.times) if len(self.times) > 1 else None

    @property
    def median(self) -> float:
        """Of the times; the mean of the middle two if their number is even."""
        return statistics.median(self.times)

    def used(self, name: str) -> float | None:
        """The mean of `user` or `system` time, over the runs of which it is known."""
        known = [x for run in self.runs if (x := getattr(run, name)) is not None]
        return statistics.fmean(known) if known else None

    @property
    def outliers(self) -> list[int]:
        """Places of times that are far from the median, as hyperfine tells them."""
        middle = self.median
        spread = statistics.median(abs(time - middle) for time in self.times)
        least = OUTLIER * (spread or math.ulp(1.0))
        return [place for place, time in enumerate(self.times) if abs(time - middle) > least]

    def histogram(self, width: int) -> str:
        """How the times are spread from the least to the largest, in bars of eight heights."""
        low, high = min(self.times), max(self.times)
        counts = [0] * width
        for time in self.times:
            place = (time - low) / (high - low) if high > low else 0.5
            counts[min(width - 1, int(place * width))] += 1
        return "".join(BARS[math.ceil(8 * count / max(counts))] for count in counts)

    def to_dict(self) -> dict[str, Any]:
        """Seconds and counts, JSON-ready."""
        return {
            "command": self.command,
            "parameters": dict(self.parameters),
            "runs": len(self.runs),
            "mean": self.mean,
            "stddev": self.stddev,
            "median": self.median,
            "min": min(self.times),
            "max": max(self.times),
            "user": self.used("user"),
            "system": self.used("system"),
        }


def timings(runs: Iterable[Run], entrants: Mapping[str, Entrant]) -> dict[str, Timing]:
    """Those of each command that has a time, in the order of the commands."""
    of_each: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        of_each[run.command].append(run)
    found = {}
    for command, entrant in entrants.items():
        own = of_each[command]
        if times := tuple(run.seconds for run in own if run.is_timed):
            found[command] = Timing(command, entrant.parameters, tuple(own), times)
    return found


@dataclass(frozen=True)
class Ratio:
    """How many times slower than the fastest command; `high` is None where nothing bounds it."""

    value: float
    low: float
    high: float | None


def ratios(
    found: Mapping[str, Timing],
    fastest: str,
    middle: Mapping[str, float],
    rewards: Rewards,
    delta: float,
) -> dict[str, Ratio]:
    """Every command's `middle` (mean or quantile) over that of the fastest, with an interval.

    Each command has a confidence sequence at level delta over the number of commands; quotients of
    their ends hold for all commands at once, and at all times, with probability at least 1 - delta.
    """
    ends = {
        command: _ends(rewards, [run.seconds for run in timing.runs], delta / len(found))
        for command, timing in found.items()
    }
    own_low, own_high = ends[fastest]
    relative = {}
    for command, (low, high) in ends.items():
        value = middle[command] / middle[fastest]
        if command == fastest:
            relative[command] = Ratio(1.0, 1.0, 1.0)
            continue
        least = 0.0 if math.isinf(own_high) else max(0.0, low) / own_high
        most = high / own_low if own_low > 0.0 and math.isfinite(high) else None
        relative[command] = Ratio(value, least, most)
    return relative


def _ends(rewards: Rewards, times: Sequence[float], alpha: float) -> tuple[float, float]:
    sequence = confidence_sequence(rewards, times, alpha)
    return float(sequence.low[-1]), float(sequence.high[-1])


def propagated(one: Timing, other: Timing) -> tuple[float, float | None]:
    """The quotient of two means, and its standard deviation by propagation of errors.

    As hyperfine computes it: a description of the scatter, no confidence interval.
    """
    ratio = one.mean / other.mean
    if one.stddev is None or other.stddev is None:
        return ratio, None
    return ratio, ratio * math.hypot(one.stddev / one.mean, other.stddev / other.mean)
