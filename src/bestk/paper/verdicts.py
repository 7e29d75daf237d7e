"""How a claim becomes a verdict: it holds if every one of its intervals supports it.

Intervals of one claim are simultaneous (Bonferroni). What "level with", "slightly", "far" and
"about ten times" mean is ours: arbitrary, and stated with each claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bestk.paper import statistics as st
from bestk.paper.statistics import Estimate, Interval

SHOWN = 4  # exceptions that a detail spells out


@dataclass(frozen=True)
class Claim:
    """One tested claim: a line of claims.json."""

    id: str
    claim: str
    statistic: float
    ci: tuple[float, float]
    holds: bool
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """What claims.json holds."""
        return asdict(self)

    @classmethod
    def about(cls, name: str, text: str, interval: Interval, holds: bool, detail: str) -> Claim:
        """The claim whose statistic is this interval."""
        return cls(name, text, interval.value, (interval.low, interval.high), holds, detail)


class Comparison(NamedTuple):
    """Two estimates whose ratio a claim speaks of."""

    where: str
    first: Estimate
    second: Estimate


def judge(
    name: str,
    text: str,
    found: Mapping[str, Interval],
    supports: Callable[[Interval], bool],
    contradicts: Callable[[Interval], bool],
    extremity: Callable[[Interval], float],
) -> Claim:
    """The claim holds if all intervals support it; the most extreme one is shown."""
    worst = max(found, key=lambda where: extremity(found[where]))
    against = [where for where, i in found.items() if contradicts(i)]
    unclear = [where for where, i in found.items() if not supports(i) and where not in against]
    detail = f"{len(found)} intervals; the extreme one: {worst}: {found[worst]}"
    for label, some in (("contradicted", against), ("not resolved", unclear)):
        if some:
            spelt = ", ".join(f"{where}: {found[where]}" for where in some[:SHOWN])
            more = ", ..." if len(some) > SHOWN else ""
            detail += f"; {label} in {len(some)}: {spelt}{more}"
    return Claim.about(name, text, found[worst], not against and not unclear, detail)


Series = Sequence[tuple[float, float, float]]  # x, y and the standard error of y


def growing(name: str, text: str, series: Mapping[str, Series]) -> Claim | None:
    """Every series with two points or more has a positive slope; None if there is no such."""
    long = {where: points for where, points in series.items() if len(points) >= 2}
    slopes = {
        where: st.slope(*zip(*points, strict=True), comparisons=len(long))
        for where, points in long.items()
    }
    if not slopes:
        return None
    return judge(name, text, slopes, lambda i: i.low > 0, lambda i: i.high <= 0, lambda i: -i.low)


def ratios(comparisons: Sequence[Comparison]) -> dict[str, Interval]:
    """First over second for each, simultaneous."""
    return {c.where: st.ratio(*c[1:], comparisons=len(comparisons)) for c in comparisons}


def below(name: str, text: str, comparisons: Sequence[Comparison], limit: float = 1.0) -> Claim:
    """Every ratio lies below the limit."""
    found = ratios(comparisons)
    return judge(
        name, text, found, lambda i: i.high < limit, lambda i: i.low >= limit, lambda i: i.high
    )


def not_below(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    """No ratio is shown to lie below 1."""
    found = ratios(comparisons)
    return judge(
        name, text, found, lambda i: i.high >= 1.0, lambda i: i.high < 1.0, lambda i: -i.high
    )


def within(
    name: str, text: str, comparisons: Sequence[Comparison], low: float, high: float
) -> Claim:
    """Every ratio lies in [low, high]."""
    centre = math.sqrt(low * high)
    return judge(
        name,
        text,
        ratios(comparisons),
        lambda i: low <= i.low and i.high <= high,
        lambda i: i.high < low or i.low > high,
        lambda i: abs(math.log(i.value / centre)),
    )
