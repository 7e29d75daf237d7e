"""Where a study stands, for a terminal: arms by rank, their intervals as bars to one scale."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from bestk.report import words
from bestk.report.text import printable
from bestk.study.evaluation import Evaluation
from bestk.study.notebook import ends
from bestk.study.result import PROVED_ONLY, ArmResult, Result, interval, number

COLOURS = {"in": "green", "out": "bright_black", "undecided": "yellow"}
LABEL, BAR, NARROW = 28, 48, 10  # the widest label and bar, the narrowest bar worth drawing
GAP = 2  # between columns
# of a study in a file: whether anybody is at work on it, the file does not tell
OPEN = "not finished; unless it is running, run what began it again to go on"


def counts(result: Result) -> str:
    """How many arms are in, out and undecided."""
    found = Counter(arm.status for arm in result.arms)
    return f"{found['in']} in, {found['out']} out, {found['undecided']} undecided"


class _Column(NamedTuple):
    title: str
    cells: list[str]
    is_right: bool = False
    coloured: bool = False  # by the arm's status


class Standings:
    """The first `rows` arms as a table; intervals in numbers too, if `numbers`."""

    def __init__(self, result: Result, rows: int | None = None, numbers: bool = True) -> None:
        self.arms, self.compares, self.unit = result.ranked, result.compares, result.unit
        self.shown = self.arms if rows is None else self.arms[: max(1, rows)]
        self.numbers = numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self._columns()
        taken = sum(max(map(cell_len, [c.title, *c.cells])) + GAP for c in columns)
        width, values = min(BAR, options.max_width - taken), ends(self.shown)
        if width >= NARROW and values and min(values) < max(values):
            scale = min(values), max(values)
            low, high = (f"{end:.3g}" for end in scale)
            bars = [bar(arm, scale, width, options.ascii_only) for arm in self.shown]
            columns.insert(-2, _Column(f"{low}{high:>{width - len(low)}}", bars, coloured=True))
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
        for column in columns:
            side: JustifyMethod = "right" if column.is_right else "left"
            table.add_column(column.title, justify=side, no_wrap=True)
        for i, arm in enumerate(self.shown):
            colour = COLOURS[arm.status]
            table.add_row(*(Text(c.cells[i], colour if c.coloured else "") for c in columns))
        yield table
        if len(self.arms) > len(self.shown):
            yield Text(f"and {len(self.arms) - len(self.shown):,} more arms", "bright_black")

    def _columns(self) -> list[_Column]:
        labels = [printable(arm.label) for arm in self.shown]
        means = [number(arm.mean, "-", self.unit) for arm in self.shown]
        columns = [
            _Column("rank", [str(rank) for rank in range(1, len(labels) + 1)], is_right=True),
            _Column("arm", [set_cell_size(x, min(LABEL, cell_len(x))) for x in labels]),
            _Column(self.compares, means, is_right=True),
            _Column("interval", [interval(arm, self.unit) for arm in self.shown]),
            _Column("pulls", [f"{arm.pulls:,}" for arm in self.shown], is_right=True),
            _Column("status", [arm.status for arm in self.shown], coloured=True),
        ]
        return [column for column in columns if self.numbers or column.title != "interval"]


def bar(arm: ArmResult, scale: tuple[float, float], width: int, ascii_only: bool) -> str:
    """An interval as a line, the mean a dot on it; an end that is missing reaches the edge."""
    if arm.mean is None:
        return ""
    start, end = scale

    def cell(value: float) -> int:
        return min(width - 1, max(0, math.floor((value - start) / (end - start) * width)))

    low = 0 if arm.low is None else cell(arm.low)
    high = width - 1 if arm.high is None else cell(arm.high)
    line, dot = ("=", "o") if ascii_only else ("━", "●")
    cells = [line if low <= i <= high else " " for i in range(width)]
    cells[cell(arm.mean)] = dot
    return "".join(cells)


def conclusion(result: Result) -> list[str]:
    """What is proved, and if nothing is, why and what would help; what has to be known beside."""
    said = [f"{result.samples:,} pulls: {counts(result)}"]
    if isinstance(result, Evaluation):
        said.append(words.scored(result, result.items))
    if result.certified:
        said.append(result.proof)
    elif result.stopped == "rule" and result.certifiable_epsilon is not None:
        said.append(f"the policy has stopped; {result.proof}")  # one in Python
    elif result.stopped == "rule":
        said.append("not certified: the policy has stopped, but it is a heuristic without a proof")
    else:
        why = {"budget": "the budget is spent", "interrupted": "interrupted"}
        said.append(f"not certified: {why.get(result.stopped or '', OPEN)}")
        if result.forecast is not None:
            more = f"about {result.forecast:,} more pulls are needed (an estimate)"
            more += result.usually
            if result.stopped == "budget" and result.is_beyond(result.samples):
                more = "far more than the budget is needed (an estimate)"
            said.append(more)
        if result.proved:
            said.append(PROVED_ONLY)
        elif (slack := result.certifiable_epsilon) is not None:
            said.append(f"with {result.enough(slack)} it would be certified now")
        if result.tied:
            said.append("the boundary looks tied: give an epsilon, or a budget")
    return said + result.remarks
