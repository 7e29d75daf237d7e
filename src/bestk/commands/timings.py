"""The times of each command as people know them from hyperfine: mean, deviation, range, outliers.

Descriptions of what was seen, without a guarantee.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bestk.commands.entrants import Entrant
from bestk.commands.runs import Run

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
    def variation(self) -> float | None:
        """The deviation as a share of the mean; None for a single time."""
        return None if self.stddev is None else self.stddev / self.mean

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
