"""How a claim becomes a verdict: it holds if every one of its intervals supports it.

Intervals of one claim are simultaneous (Bonferroni). What "level with", "slightly", "far" and
"about ten times" mean is ours: arbitrary, and stated with each claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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


@dataclass(frozen=True)
class Comparison:
    """Two estimates whose ratio a claim speaks of."""

    where: str
    first: Estimate
    second: Estimate


@dataclass(frozen=True)
class Finding:
    """An interval and what it is about."""

    where: str
    interval: Interval

    def __str__(self) -> str:
        return f"{self.where}: {self.interval}"


def judge(
    name: str,
    text: str,
    findings: Sequence[Finding],
    supports: Callable[[Interval], bool],
    contradicts: Callable[[Interval], bool],
    extremity: Callable[[Interval], float],
) -> Claim:
    """The claim holds if all findings support it; the most extreme one is shown."""
    worst = max(findings, key=lambda f: extremity(f.interval))
    against = [f for f in findings if contradicts(f.interval)]
    unclear = [f for f in findings if not supports(f.interval) and not contradicts(f.interval)]
    detail = f"{len(findings)} intervals; the extreme one: {worst}"
    for label, some in (("contradicted", against), ("not resolved", unclear)):
        if some:
            more = ", ..." if len(some) > SHOWN else ""
            detail += f"; {label} in {len(some)}: {', '.join(map(str, some[:SHOWN]))}{more}"
    interval = worst.interval
    return Claim(
        name,
        text,
        interval.value,
        (interval.low, interval.high),
        not against and not unclear,
        detail,
    )


def growing(name: str, text: str, slopes: Sequence[Finding]) -> Claim:
    """Every slope is positive."""
    return judge(name, text, slopes, lambda i: i.low > 0, lambda i: i.high <= 0, lambda i: -i.low)


def ratios(comparisons: Sequence[Comparison]) -> list[Finding]:
    """First over second for each, simultaneous."""
    return [
        Finding(c.where, st.ratio(c.first, c.second, comparisons=len(comparisons)))
        for c in comparisons
    ]


def below(name: str, text: str, comparisons: Sequence[Comparison], limit: float = 1.0) -> Claim:
    """Every ratio lies below the limit."""
    return judge(
        name,
        text,
        ratios(comparisons),
        lambda i: i.high < limit,
        lambda i: i.low >= limit,
        lambda i: i.high,
    )


def not_below(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    """No ratio is shown to lie below 1."""
    return judge(
        name,
        text,
        ratios(comparisons),
        lambda i: i.high >= 1.0,
        lambda i: i.high < 1.0,
        lambda i: -i.high,
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
