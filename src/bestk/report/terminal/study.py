"""Terminal tables of studies in a file."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from bestk.decisions import TopK
from bestk.report import words
from bestk.report.terminal import standings
from bestk.report.terminal.tables import columns
from bestk.report.text import moment, printable
from bestk.study import Result, Study, notebook
from bestk.study.result import NAMED, interval, number

shown = partial(notebook.shown, most=30, before=5, after=5)  # ranks, from 0, in the table of arms


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
    failed = sum(arm.failed for arm in result.arms)
    pulls = f"{result.samples:,} told, {len(study.open):,} open, {failed:,} failed"
    answer, more = ", ".join(map(printable, result.top[:NAMED])), len(result.top) - NAMED
    if more > 0:
        answer += f" and {more:,} more"
    items = specification.items
    scored = [] if items is None else [("scored", words.scored(result, items.count))]
    table = Table(show_header=False, title=Text(printable(result.study)))
    table.add_column()
    table.add_column(overflow="fold")
    for name, text in (
        ("wanted", words.headline(specification, len(result.arms))),
        ("", f"error <= {problem.delta:g}, slack {result.slack(problem.epsilon)}"),
        ("rewards", problem.rewards.description),
        ("policy", words.policy(specification)),
        ("pulls", f"{pulls}; {standings.counts(result)}"),
        (
            "answer" if result.certified else "answer so far",
            answer or "none: not every arm has been observed",
        ),
        *((printable(name), text) for name, text in words.sums(result)),
        *scored,
        *(("", line) for line in standings.conclusion(result)[1:]),
    ):
        table.add_row(name, Text(text))
    return table


def arms(study: Study, result: Result) -> Table:
    """The arms by rank; of many, the leaders and those around the boundary."""
    ranked, decision = result.ranked, study.problem.decision
    right = ("rank", result.compares, "interval", "pulls")
    table = columns("rank", "arm", *right[1:], "status", right=right, fold=("arm",))
    places = shown(len(ranked), decision.k if isinstance(decision, TopK) else None)
    for before, i in pairwise([-1, *places, len(ranked)]):
        if i - before > 1:
            table.add_row("", Text(f"({i - before - 1:,} more)", "bright_black"))
        if i < len(ranked):
            arm = ranked[i]
            mean, ends = number(arm.mean, "-", result.unit), interval(arm, result.unit)
            plain = [printable(arm.label), mean, ends, f"{arm.pulls:,}"]
            status = Text(arm.status, standings.COLOURS[arm.status])
            table.add_row(str(i + 1), *map(Text, plain), status)
    return table


def listing(found: list[Listed]) -> Table:
    """The studies of a file."""
    names, right = ("study", "arms", "samples", "state", "last activity"), ("arms", "samples")
    table = columns(*names, right=right, fold=("study", "state"))
    for each in found:
        numbers = ["-" if n is None else f"{n:,}" for n in (each.arms, each.samples)]
        when = "-"
        if each.last_activity is not None:
            when = moment(each.last_activity).astimezone().isoformat(" ", "seconds")
        table.add_row(Text(printable(each.study)), *numbers, Text(printable(each.state)), when)
    return table
