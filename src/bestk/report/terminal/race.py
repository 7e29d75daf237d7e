"""The outcome of a race, for people."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from bestk.commands.comparing import MEAN
from bestk.commands.outcome import RaceResult
from bestk.commands.paired import PAIRS
from bestk.commands.race import Race
from bestk.commands.relative import Ratio
from bestk.report.terminal import live
from bestk.report.terminal.live import figures
from bestk.report.terminal.standings import COLOURS
from bestk.report.terminal.tables import columns
from bestk.report.text import printable
from bestk.report.words import many
from bestk.study.result import Result

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
QUIET = 2.0  # seconds before a live display: most races are over by then


def duration(*times: float) -> str:
    """Three digits and a unit, that of the largest."""
    if max(times) == 0.0:
        return "0 s"
    size, unit = next((u for u in UNITS if max(times) >= 0.9995 * u[0]), UNITS[-1])
    values = [f"{time / size:#.3g}" if time < 999.5 else f"{time:,.0f}" for time in times]
    return " to ".join(value.rstrip(".") for value in values) + f" {unit}"


def table(
    result: Result,
    cut: Container[str],
    by: str = MEAN,
    ratios: Mapping[str, Ratio] | None = None,
    wins: Mapping[str, tuple[int, int]] | None = None,
    variations: Mapping[str, float | None] | None = None,
) -> Table:
    """Rank, command, mean or quantile with its interval, runs, slowness, what is known of it.

    Of a command that is `cut` only the least that it can be slower is known. Pairs come by who won
    more often, as they are; it need not be who has the least median. In place of an interval they
    have `wins`. Where nothing is proved yet of how much slower a command is, `variations` of single
    times stand in, as hyperfine has them.
    """
    middle = "wins" if by == PAIRS else "interval"
    numbers = (f"{by if by != PAIRS else result.compares} time", middle, "runs", "relative")
    names, right = ("rank", "command", *numbers, "status"), ("rank", *numbers)
    found = columns(*names, title="Fastest first", right=right, fold=("command",))
    arms = list(result.arms) if by == PAIRS else result.ranked
    for rank, arm in enumerate(arms, 1):
        mean = "-" if arm.mean is None else duration(arm.mean)
        ratio = (ratios or {}).get(str(arm.label))
        relative = _relative(arm.mean, arms[0].mean, ratio if by == PAIRS else None)
        if relative != "-":
            relative = (">= " if str(arm.label) in cut else "") + relative
            if ratio is not None and rank > 1:
                both = [str(arms[0].label), str(arm.label)]
                known = [(variations or {}).get(label) for label in both if label not in cut]
                relative += _between(ratio) or _around(ratio.value, known)
        interval = _interval(arm.low, arm.high)
        if by == PAIRS:
            won, of = (wins or {}).get(str(arm.label), (0, 0))
            interval = f"{won:,} of {of:,}" if of else "-"
        label, status = Text(printable(arm.label)), Text(arm.status, COLOURS[arm.status])
        found.add_row(str(rank), label, mean, interval, f"{arm.pulls:,}", relative, status)
    return found


def _relative(own: float | None, first: float | None, ratio: Ratio | None) -> str:
    """How many times as long as the first: within blocks if there is a ratio of those."""
    if ratio is not None:
        return f"{ratio.value:.2f}"
    if own is None or first is None:
        return "-"
    return f"{own / first:.2f}"


def _between(ratio: Ratio) -> str:
    """From where to where, outwards in two digits after the point; nothing before it has an end."""
    low = f"{math.floor(100.0 * ratio.low) / 100.0:.2f}"
    if math.isinf(ratio.high):
        return f" (>= {low})" if ratio.low > 0.0 else ""
    return f" ({low} to {math.ceil(100.0 * ratio.high) / 100.0:.2f})"


def _around(ratio: float, variations: Sequence[float | None]) -> str:
    """The deviation of a ratio of single runs, where those of both commands are known."""
    known = [x for x in variations if x is not None]
    return f" ± {ratio * math.hypot(*known):.2f}" if len(known) == 2 else ""


def _interval(low: float | None, high: float | None) -> str:
    """Between both ends, or from the one that there is."""
    if not low:
        low = None if high is None else 0.0
    if high is None:
        return "-" if low is None else f">= {duration(low)}"
    return f"<= {duration(high)}" if not low else duration(low, high)


def lines(race: RaceResult) -> list[str]:
    """The certificate, the cap, and what was cut at it."""
    result = race.result
    said = [f"{many(result.samples, 'counted run')} in {result.seconds:.1f} s; {_proof(race)}"]
    cut = ", ".join(f"{count:,} of {printable(command)}" for command, count in race.cut.items())
    if race.cap is not None:
        said.append(f"cap {duration(race.cap)}; runs cut there: {cut or 'none'}")
    else:
        said += _interrupted(race)
    if cut and race.by == MEAN:
        said.append("means of the commands with cut runs are means of min(time, cap)")
    return said


def _interrupted(race: RaceResult) -> list[str]:
    """Without a cap: runs that nobody saw the end of, and what is not shown because of them."""
    said = []
    for arm in race.result.arms:
        if count := race.cut.get(str(arm.label)):
            name = printable(arm.label)
            line = f"cut: {count:,} of {arm.pulls:,} runs of {name} (interrupted)"
            if arm.mean is None:
                line += f"; no {race.result.compares} of it is shown because of them"
            said.append(line)
    return said


def _proof(race: RaceResult) -> str:
    result = race.result
    if result.certified:
        return result.proof
    unknown = [printable(arm) for arm in result.top if str(arm) in race.at_least]
    if unknown and race.by not in (MEAN, PAIRS):
        why = "were interrupted" if race.cap is None else "reached the limit; give a longer one"
        names = ", ".join(unknown)
        return f"not certified: nobody knows the {race.by} of {names}, whose runs {why}"
    parts = [f"not certified ({result.stopped or 'not finished'})"]
    if race.each is not None and result.stopped == "budget":
        parts = [f"not certified after {many(race.each, 'run')} of each"]
    if result.forecast is not None:
        more = f"about {result.forecast:,} more runs are needed, an estimate{result.usually}"
        if result.stopped == "budget" and result.is_beyond(result.samples):
            more = "far more runs are needed, an estimate"
        parts.append(more)
    if result.certifiable_epsilon is not None:
        parts.append(
            f"certified as it is with a slack of {result.rounded_up(result.certifiable_epsilon)}"
        )
    if result.tied:
        parts.append("the boundary looks tied: give a slack or a budget")
    return "; ".join(parts)


class RaceView:
    """A race while it lasts, where it lasts long enough to be looked at."""

    def __init__(self, race: Race) -> None:
        self.race, self.started, self.before = race, time.monotonic(), race.counted
        self._seen = -1
        self._result: Result | None = None

    def line(self) -> str:
        """Where it stands, in a line."""
        elapsed = time.monotonic() - self.started
        return "; ".join(figures(self.race.now(), self.before, elapsed, "runs"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        elapsed = time.monotonic() - self.started
        if elapsed < QUIET:
            return
        if self._result is None or self._seen != self.race.counted:
            self._seen, self._result = self.race.counted, self.race.now()
        yield table(self._result, (), self.race.by, wins=self.race.wins)
        yield Text("   ".join(figures(self._result, self.before, elapsed, "runs")))


@contextmanager
def told(race: Race, say: Callable[[str], None]) -> Iterator[None]:
    """Now and then a line of a race while it lasts; from a thread, so that long runs are no gap."""
    view, is_over = RaceView(race), threading.Event()

    def tell() -> None:
        while not is_over.wait(live.EVERY):
            say(view.line())

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
