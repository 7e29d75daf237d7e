"""How much slower than the fastest each command is, with an interval that holds at all times.

Every command gets an anytime-valid interval for its median (quantile, mean) at the level delta / N
(`bestk.confidence_sequence`, both sides), so that with probability at least 1 - delta all N hold at
once, after every run. Then so do all N (N - 1) ratios of an interval's ends, whichever command is
taken for the fastest and whenever the race stops: the bounds say nothing about how runs were picked
or why they ended. These intervals are wider than what a race stops by, which need not hold jointly.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bestk.commands.runs import NEVER, Run
from bestk.confidence import confidence_sequence
from bestk.rewards import Quantile, Rewards


@dataclass(frozen=True)
class Ratio:
    """Of a command to the fastest one."""

    value: float  # infinite where a run without an end decides: nothing is known then
    low: float
    high: float  # infinite while there is no upper bound

    def to_dict(self) -> dict[str, float | None]:
        """Finite numbers and nulls."""
        ratio, high = (x if math.isfinite(x) else None for x in (self.value, self.high))
        return {"ratio": ratio, "low": self.low, "high": high}


def relative(runs: Iterable[Run], rewards: Rewards, delta: float) -> dict[str, Ratio]:
    """Every command that has runs, to the one whose median (quantile, mean) is the least.

    What lies at the cap, or was interrupted, may lie anywhere beyond: of a quantile that reaches
    there no upper bound is known. Means are those of min(time, cap).
    """
    times: defaultdict[str, list[float]] = defaultdict(list)
    most = NEVER
    for run in runs:
        times[run.command].append(run.seconds)
        if run.cut:
            most = min(most, run.seconds)
    if not isinstance(rewards, Quantile):
        most = math.inf
    known = {
        command: _interval(own, rewards, delta / len(times), most) for command, own in times.items()
    }
    return _ratios(known)


def _interval(
    times: list[float], rewards: Rewards, alpha: float, most: float
) -> tuple[float, float, float]:
    """Median (quantile, mean), and its bounds."""
    found = confidence_sequence(rewards, times, alpha)
    value, high = float(found.mean[-1]), float(found.high[-1])
    values = [time for time in times if time < NEVER]
    if len(values) < len(times) and value > max(values, default=0.0):
        value = math.inf
    return value, max(0.0, float(found.low[-1])), math.inf if high >= most else high


def _ratios(known: Mapping[str, tuple[float, float, float]]) -> dict[str, Ratio]:
    if not known:
        return {}
    first = min(known, key=lambda command: known[command][0])
    value, low, high = known[first]
    found = {first: Ratio(1.0, 1.0, 1.0)}
    for command, (own, least, largest) in known.items():
        if command != first:
            most = largest / low if low > 0.0 else math.inf
            found[command] = Ratio(own / value, least / high, most)
    return found
