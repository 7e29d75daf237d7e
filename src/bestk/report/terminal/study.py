"""Terminal tables of studies in a file."""

from __future__ import annotations

from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from bestk.decisions import TopK
from bestk.report import words
from bestk.report.terminal import standings
from bestk.report.terminal.standings import COLOURS
from bestk.report.text import moment, printable
from bestk.study import Result, Study
from bestk.study.result import ArmResult, interval, number

ALL, LEADERS, AROUND = 30, 10, 5  # arms shown: all of so few; otherwise the first, and the boundary
NAMED = 20  # arms of the answer listed by name


class Listed(NamedTuple):
    """A study in a file, in a line."""

    study: str
    arms: int | None  # None, like samples, where it cannot be opened
    samples: int | None
    state: str  # certified, running, stopped (by a heuristic), or why it cannot be opened
    last_activity: float | None  # seconds since 1970


def summary(study: Study, result: Result) -> Table:
    """The question, the answer so far and how far it is proved."""
    specification, problem = study.specification, study.problem
    table = Table(show_header=False, title=Text(printable(result.study)))
    table.add_column()
    table.add_column(overflow="fold")
    rows = [
        ("wanted", f"{words.headline(specification, len(result.arms))}"),
        ("", f"error <= {problem.delta:g}, slack {problem.epsilon:g}"),
        ("rewards", words.rewards(problem.rewards)),
        ("policy", words.policy(specification)),
        ("pulls", _pulls(study, result)),
        ("answer" if result.certified else "answer so far", _answer(result)),
        *(("", line) for line in standings.conclusion(result)[1:]),
    ]
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def _pulls(study: Study, result: Result) -> str:
    failed = sum(arm.failed for arm in result.arms)
    said = f"{result.samples:,} told, {len(study.open):,} open, {failed:,} failed"
    return f"{said}; {standings.counts(result)}"


def _answer(result: Result) -> str:
    if not result.top:
        return "none: not every arm has been observed"
    names = [printable(label) for label in result.top[:NAMED]]
    more = len(result.top) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


def arms(study: Study, result: Result) -> Table:
    """The arms by rank; of many, the leaders and those around the boundary."""
    ranked, decision = result.ranked, study.problem.decision
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("arm", overflow="fold")
    for column in ("mean", "interval", "pulls"):
        table.add_column(column, justify="right")
    table.add_column("status")
    before = -1
    for i in shown(len(ranked), decision.k if isinstance(decision, TopK) else None):
        _skipped(table, i - before - 1)
        table.add_row(str(i + 1), *_cells(ranked[i]))
        before = i
    _skipped(table, len(ranked) - before - 1)
    return table


def shown(count: int, k: int | None) -> list[int]:
    """Which ranks, from 0, a table of so many arms has room for."""
    if count <= ALL:
        return list(range(count))
    chosen = set(range(LEADERS))
    if k is not None:
        chosen |= set(range(max(0, k - AROUND), min(count, k + AROUND)))
    return sorted(chosen)


def _skipped(table: Table, count: int) -> None:
    if count:
        table.add_row("", Text(f"({count:,} more)", "bright_black"))


def _cells(arm: ArmResult) -> list[Text]:
    plain = [printable(arm.label), number(arm.mean, "-"), interval(arm), f"{arm.pulls:,}"]
    return [*map(Text, plain), Text(arm.status, COLOURS[arm.status])]


def listing(found: list[Listed]) -> Table:
    """The studies of a file."""
    table = Table()
    table.add_column("study", overflow="fold")
    table.add_column("arms", justify="right")
    table.add_column("samples", justify="right")
    table.add_column("state", overflow="fold")
    table.add_column("last activity")
    for each in found:
        numbers = ["-" if n is None else f"{n:,}" for n in (each.arms, each.samples)]
        when = "-"
        if each.last_activity is not None:
            when = moment(each.last_activity).astimezone().isoformat(" ", "seconds")
        table.add_row(Text(printable(each.study)), *numbers, Text(printable(each.state)), when)
    return table
