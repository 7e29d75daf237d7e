"""A running study on a terminal: standings, speed, an estimate of what remains, the budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bestk.report.terminal.standings import Standings, counts
from bestk.report.text import printable
from bestk.study.live import pace
from bestk.study.result import Result
from bestk.study.runner import Runner

REFRESHES = 4  # a second: a result of a thousand arms costs milliseconds
OTHER_LINES = 11  # of the display, besides the arms
EVERY = 10.0  # seconds between two lines where there is no terminal


def figures(
    result: Result, before: int, elapsed: float, what: str = "pulls", budget: int | None = None
) -> list[str]:
    """Pulls, verdicts, speed and forecast, each in a few words; `budget` is what is left of it."""
    said = [f"{result.samples:,} {what}", counts(result)]
    return said + pace(result, before, elapsed, what, budget)


class View:
    """Looks at a runner whenever it is rendered; computes only if something has happened."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.study = runner, runner.study
        self.started, self.before = time.monotonic(), runner.study.samples
        self._seen: tuple[int, int, bool] | None = None
        self._result: Result | None = None

    @property
    def result(self) -> Result:
        """The result now."""
        seen = (self.study.samples, self.runner.failed, self.study.is_stopped)
        if self._result is None or seen != self._seen:
            self._seen, self._result = seen, self.study.summary(None)
        return self._result

    def figures(self) -> list[str]:
        """Those of now."""
        elapsed = time.monotonic() - self.started
        return figures(self.result, self.before, elapsed, budget=self.runner.left)

    def failures(self) -> str:
        """How many pulls failed in this run, and how the last one did; empty if none did."""
        if not self.runner.failed:
            return ""
        last = printable(self.runner.last_failure)
        return f"failed pulls: {self.runner.failed:,}, the last: {last}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = (options.height or console.height) - OTHER_LINES
        parts: list[RenderableType] = [
            Text(f"study {printable(self.study.name)}", "bold"),
            Standings(self.result, rows, numbers=False),
            Text(""),
            Text("   ".join(self.figures())),
        ]
        limits, spent = Table.grid(padding=(0, 1)), time.monotonic() - self.started
        if (most := self.runner.budget) is not None:
            text = f"{min(self.study.samples, most):,} of at most {most:,} pulls"
            limits.add_row(ProgressBar(most, min(self.study.samples, most), width=30), text)
        if (longest := self.runner.seconds) is not None:
            text = f"{min(spent, longest):,.0f} of at most {longest:g} seconds"
            limits.add_row(ProgressBar(longest, min(spent, longest), width=30), text)
        if limits.row_count:
            parts.append(limits)
        if failures := self.failures():
            parts.append(Text(failures, "red", no_wrap=True, overflow="ellipsis"))
        parts.append(Text("Ctrl-C stops; run it again to resume", "bright_black"))
        yield Group(*parts)


@contextmanager
def watch(runner: Runner, console: Console, say: Callable[[str], None]) -> Iterator[View]:
    """Show the run while it lasts: live on a terminal, now and then a line elsewhere."""
    view = View(runner)
    if console.is_terminal and not console.is_dumb_terminal:
        view.result  # noqa: B018 - may have to compile, which is better done before the show
        try:
            with Live(view, console=console, refresh_per_second=REFRESHES, transient=True):
                yield view
        finally:
            console.show_cursor()  # an interrupt while it started would leave it hidden
        return
    last = view.started

    def progress(_: object) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            say("; ".join(filter(None, [*view.figures(), view.failures()])))

    runner.progress = progress
    yield view
