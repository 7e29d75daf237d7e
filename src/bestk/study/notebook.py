"""A result where people look at it: HTML for notebooks, a drawing, a table for pandas.

Drawn without the report's machinery, which lies a layer above: a result has to show itself. What
is heavy (matplotlib, pandas) is imported when it is asked for.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from bestk.errors import MissingPackageError
from bestk.study.result import ArmResult, Result, interval, number, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

ALL, FIRST = 60, 10  # arms that are all drawn; of more, the first, and those around the boundary
COLOURS = {"in": "#2f7fd0", "out": "#8a949f", "undecided": "#d97706"}  # on light and on dark
WRAP = 48  # letters on a line of a drawing's labels
_CELL = "text-align:left;vertical-align:middle;padding:.2em .6em"
_NAME = f"{_CELL};max-width:32em;overflow-wrap:anywhere;white-space:pre-wrap"
_STYLES = (_CELL, _NAME, f"{_CELL};min-width:14em", *[f"{_CELL};white-space:nowrap"] * 4)


def order(result: Result) -> list[ArmResult]:
    """The answer first, then the other arms; the best mean first in both."""
    top = set(result.top)
    return sorted(result.ranked, key=lambda arm: arm.label not in top)


def shown(
    n_arms: int, edge: int | None, most: int = ALL, before: int = 15, after: int = 20
) -> list[int]:
    """The places of the arms that are drawn: all, or the first ones and those around the edge."""
    if n_arms <= most:
        return list(range(n_arms))
    near = () if edge is None else range(max(0, edge - before), min(n_arms, edge + after))
    return sorted({*range(FIRST), *near})


def ends(arms: Iterable[ArmResult]) -> list[float]:
    """All means and ends of intervals, of the arms that were observed."""
    seen = [arm for arm in arms if arm.mean is not None]
    return [x for arm in seen for x in (arm.low, arm.mean, arm.high) if x is not None]


def around(values: list[float], margin: float = 0.03) -> tuple[float, float]:
    """The ends of a scale that holds all these values."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    more = margin * (high - low) or 0.5 * max(1.0, abs(low))
    return low - more, high + more


# --- HTML -----------------------------------------------------------------------------------------


def html(result: Result, headline: str) -> str:
    """The headline, and every arm with its interval as a bar; needs nothing else on the page."""
    arms, answered = order(result), len(result.top)
    places = shown(len(arms), answered)
    scale = around(ends(arms[place] for place in places))
    low, high = (f"{end:.3g}" for end in scale)
    span = f'<span style="float:right">{high}</span>{low}'
    titles = ["", "arm", span, escape(result.compares), "interval", "pulls", "status"]
    head = "".join(f'<th style="{_CELL}">{title}</th>' for title in titles)
    rows = ""
    for before, place in pairwise([-1, *places, len(arms)]):
        if place - before > 1:
            more = f"... {place - before - 1:,} more arms"
            rows += f'<tr><td></td><td colspan="6" style="{_CELL}">{more}</td></tr>'
        if place < len(arms):
            rows += _row(place, arms[place], place < answered, scale, result.unit)
    remarks = "".join(f"<div>{escape(printed(line))}</div>" for line in result.remarks)
    return (
        f"<div><div><b>{escape(headline)}</b></div>"
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{remarks}</div>"
    )


def _row(
    place: int, arm: ArmResult, answered: bool, scale: tuple[float, float], unit: str | None
) -> str:
    label = escape(printed(arm.label))
    cells = [
        str(place + 1),
        f"<b>{label}</b>" if answered else label,
        _bar(arm, scale),
        escape(number(arm.mean, "-", unit)),
        escape(interval(arm, unit)),
        f"{arm.pulls:,}",
        f'<span style="color:{COLOURS[arm.status]}">{arm.status}</span>',
    ]
    inside = zip(_STYLES, cells, strict=True)
    return "<tr>" + "".join(f'<td style="{style}">{cell}</td>' for style, cell in inside) + "</tr>"


def _bar(arm: ArmResult, scale: tuple[float, float]) -> str:
    """An interval with its mean; an end that is missing goes to the edge."""
    if arm.mean is None:
        return ""
    start, end = scale
    low, high = start if arm.low is None else arm.low, end if arm.high is None else arm.high
    low, mean, high = (100.0 * (x - start) / (end - start) for x in (low, arm.mean, high))
    colour = COLOURS[arm.status]
    says = f"{number(arm.mean, '-')} in {interval(arm)}"
    return (
        f'<svg width="100%" height="16" role="img"><title>{escape(says)}</title>'
        f'<rect x="{low:.2f}%" y="5" width="{max(0.3, high - low):.2f}%" height="6" rx="3"'
        f' fill="{colour}" fill-opacity="0.5"/>'
        f'<circle cx="{mean:.2f}%" cy="8" r="4" fill="{colour}"/></svg>'
    )


# --- matplotlib and pandas ------------------------------------------------------------------------


def plot(result: Result, ax: Axes | None) -> Axes:
    """Draw the intervals on `ax`, or on a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingPackageError("Result.plot", "matplotlib", "plot") from None
    arms, answered = order(result), len(result.top)
    places = shown(len(arms), answered)
    drawn = [arms[place] for place in places]
    labels = [_wrapped(printed(arm.label)) for arm in drawn]
    if ax is None:
        lines = sum(text.count("\n") + 1 for text in labels)
        _, ax = pyplot.subplots(figsize=(8.0, 1.3 + 0.28 * lines), layout="constrained")
    start, end = around(ends(drawn))
    for status, colour in COLOURS.items():
        own = [(y, a) for y, a in enumerate(drawn) if a.status == status and a.mean is not None]
        if own:
            heights = [y for y, _ in own]
            lows = [start if arm.low is None else arm.low for _, arm in own]
            highs = [end if arm.high is None else arm.high for _, arm in own]
            ax.hlines(heights, lows, highs, color=colour, linewidth=5, alpha=0.5)
            means = [arm.mean or 0.0 for _, arm in own]
            ax.plot(means, heights, "o", color=colour, label=status)
    if 0 < answered < len(arms):
        edge = sum(place < answered for place in places) - 0.5
        ax.axhline(edge, color="#555555", linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlim(start, end)
    ax.set_xlabel(f"{result.compares} and interval")
    left_out = f"; {len(arms) - len(labels):,} more arms" if len(labels) < len(arms) else ""
    title = f"{result.samples:,} samples{left_out}\n{_wrapped(result.proof)}"
    ax.set_title(title, fontsize="medium", loc="left")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0, ncols=len(COLOURS),
            frameon=False,
        )  # fmt: skip
    return ax


def _wrapped(text: str) -> str:
    """On several lines, nothing left out; a dollar is a dollar, not the start of a formula."""
    return textwrap.fill(text, WRAP).replace("$", r"\$")


def frame(result: Result) -> DataFrame:
    """One row for each arm, best mean first."""
    try:
        import pandas
    except ImportError:
        raise MissingPackageError("Result.to_pandas", "pandas", "pandas") from None
    numbers = {arm.label: index for index, arm in enumerate(result.arms)}
    arms, top = result.ranked, set(result.top)
    return pandas.DataFrame(
        {
            "arm": [numbers[arm.label] for arm in arms],
            "label": pandas.Series([arm.label for arm in arms], dtype=object),
            "pulls": [arm.pulls for arm in arms],
            "failed": [arm.failed for arm in arms],
            "mean": [math.nan if arm.mean is None else arm.mean for arm in arms],
            "lower": [-math.inf if arm.low is None else arm.low for arm in arms],
            "upper": [math.inf if arm.high is None else arm.high for arm in arms],
            "status": [arm.status for arm in arms],
            "in_answer": [arm.label in top for arm in arms],
        }
    )
