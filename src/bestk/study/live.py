"""What a running study shows: live on a terminal, as HTML in a notebook, lines where asked for.

The runner's own thread draws, between two answers, so that nothing races with the study.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from bestk.arguments import require_function
from bestk.study.result import ArmResult, Result, interval, number, printed
from bestk.study.runner import Progress, Runner

if TYPE_CHECKING:
    from rich.table import Table

QUIET = 2.0  # seconds in which nothing is shown: short runs need no display
AGAIN, LINE = 0.5, 10.0  # seconds between two drawings, and between two lines
ROWS = 10  # arms shown
COLUMNS = ("arm", "mean", "interval", "pulls", "status")


class Painter(Protocol):
    """Draws the state of a run, again and again."""

    every: float  # seconds between two drawings

    def draw(self, lines: list[str], rows: list[tuple[str, ...]]) -> None:
        """Put this in place of what was drawn before."""
        ...

    def close(self) -> None:
        """The run is over."""
        ...


class OnTerminal:
    """A table that rich draws over and over, and takes away at the end."""

    every = AGAIN

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._is_on = False

    def draw(self, lines: list[str], rows: list[tuple[str, ...]]) -> None:
        """Draw over what was there."""
        from rich.console import Group
        from rich.text import Text

        if not self._is_on:
            self._live.start()
            self._is_on = True
        texts = [Text(line, no_wrap=True, overflow="ellipsis") for line in lines]
        self._live.update(Group(texts[0], _table(rows), *texts[1:]), refresh=True)

    def close(self) -> None:
        """Take it away."""
        if self._is_on:
            self._live.stop()
            self._console.show_cursor()


def _table(rows: list[tuple[str, ...]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(*COLUMNS, box=None, padding=(0, 1))
    for row in rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    return table


class InNotebook:
    """HTML below the cell, which is updated in place; no widgets are needed."""

    every = 1.0

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, lines: list[str], rows: list[tuple[str, ...]]) -> None:
        """Update what was shown."""
        shown = import_module("IPython.display")
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        said = "".join(f"<div>{escape(line)}</div>" for line in lines)
        page = shown.HTML(f"<div>{said}<table><tr>{head}</tr>{body}</table></div>")
        if self._handle is None:
            self._handle = shown.display(page, display_id=True)
        else:
            self._handle.update(page)

    def close(self) -> None:
        """What was shown last stays."""


class InLines:
    """Now and then a line on standard error."""

    every = LINE

    def draw(self, lines: list[str], rows: list[tuple[str, ...]]) -> None:  # noqa: ARG002
        """Say it once more."""
        print("bestk: " + "; ".join(lines), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to take away."""


def pace(result: Result, before: int, elapsed: float, what: str, budget: int | None) -> list[str]:
    """Speed since there were so many samples, and forecast; `budget` is what is left of it."""
    said = []
    if elapsed > 0.0 and result.samples > before:
        said.append(f"{(result.samples - before) / elapsed:.3g} {what}/s")
    if result.forecast is not None:
        needed = f"about {result.forecast:,} more needed{result.usually}"
        if result.is_beyond(budget):
            needed = "far more needed than the budget"
        said.append(f"{needed} (an estimate)")
    return said


class Display:
    """Looks at a runner whenever that one lets it, and draws if it is time."""

    def __init__(self, runner: Runner, painter: Painter) -> None:
        self.runner, self.painter = runner, painter
        self.started, self.before = time.monotonic(), runner.study.samples
        self._next = self.started + QUIET

    def look(self) -> None:
        """Draw, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        result = self.runner.study.summary(None)
        rows = [_row(arm, result.unit) for arm in result.ranked[:ROWS]]
        self.painter.draw(self.lines(result, now - self.started), rows)
        self._next = time.monotonic() + self.painter.every

    def lines(self, result: Result, elapsed: float) -> list[str]:
        """Pulls, speed, forecast, budgets and failures."""
        runner, said = self.runner, [f"{result.samples:,} pulls"]
        if runner.budget is not None:
            said[0] += f" of at most {runner.budget:,}"
        said += pace(result, self.before, elapsed, "pulls", runner.left)
        if runner.seconds is not None:
            said.append(f"{elapsed:,.0f} of at most {runner.seconds:g} seconds")
        for name, total in result.totals.items():
            most = f" of at most {runner.cost:g}" if name == "cost" and runner.cost else ""
            said.append(f"{name} {total:.6g}{most}")
        lines = [f"study {printed(result.study)}: " + ", ".join(said)]
        if runner.failed:
            last = "".join(c for c in runner.last_failure if c.isprintable())
            lines.append(f"failed calls: {runner.failed:,}, the last: {last}")
        return lines


def _row(arm: ArmResult, unit: str | None) -> tuple[str, ...]:
    mean, ends = number(arm.mean, "-", unit), interval(arm, unit)
    return printed(arm.label), mean, ends, f"{arm.pulls:,}", arm.status


def is_notebook() -> bool:
    """Whether output goes to a notebook: a kernel runs, and there is no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def painter(progress: bool | None) -> Painter | None:
    """Where to draw; None is: where somebody looks, that is not in pipes."""
    if progress is False:
        return None
    if is_notebook():
        return InNotebook()
    if sys.stderr is not None and sys.stderr.isatty():
        return OnTerminal()
    return InLines() if progress else None


@contextmanager
def shown(runner: Runner, progress: Progress | bool | None) -> Iterator[None]:
    """Show a run while it lasts, or call the user's function after every answer."""
    chosen = None
    if progress is None or isinstance(progress, bool):
        chosen = painter(progress)
    else:
        require_function(progress, "progress")
        runner.progress = progress
    if progress is False:
        runner.say = None
    if chosen is None:
        yield
        return
    runner.look = Display(runner, chosen).look
    try:
        yield
    finally:
        chosen.close()
