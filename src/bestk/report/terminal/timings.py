"""The times of a race's commands as people know them from hyperfine, and what speaks against them.

Descriptions of what was seen, without a guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from bestk.commands.drift import drifting
from bestk.commands.timings import Timing
from bestk.report.terminal.race import duration
from bestk.report.terminal.tables import columns
from bestk.report.text import printable

WIDTH = 12  # bars of a histogram
SHORT = 0.005  # seconds, by the shell: hyperfine's, which cannot tell the shell's part below it
HARM = "the guarantee needs times that do not; --by pairs cancels what all commands share"
HARMLESS = "pairs do not mind what all commands of a block share"


def timings_table(found: Iterable[Timing]) -> Table:
    """Mean and deviation, range, processor times, and how the times are spread."""
    numbers = ("mean ± deviation", "min to max", "user", "system")
    table = columns("command", *numbers, "spread", title="Times", right=numbers, fold=("command",))
    for one in found:
        mean = duration(one.mean) + ("" if one.stddev is None else f" ± {duration(one.stddev)}")
        used = ("-" if (x := one.used(name)) is None else duration(x) for name in numbers[2:])
        ends = duration(min(one.times), max(one.times))
        label = Text(printable(one.command))
        table.add_row(label, mean, ends, *used, one.histogram(WIDTH))
    return table


def warnings(found: Mapping[str, Timing], shell: bool = False, paired: bool = False) -> list[str]:
    """Shells that take as long as their commands, outliers, drift: a line for each command."""
    said = []
    for command, one in found.items():
        if shell and one.mean < SHORT:
            said.append(
                f"warning: {printable(command)} takes less than {duration(SHORT)}, much of it the"
                " start of the shell: leave --shell out if the command needs none"
            )
        if far := len(one.outliers):
            are = "is an outlier" if far == 1 else "are outliers"
            said.append(
                f"warning: {far:,} of {len(one.times):,} runs of {printable(command)} {are}"
                " (something else may have run; the median does not mind, the mean does)"
            )
    for drift in drifting({command: one.times for command, one in found.items()}):
        said.append(
            f"warning: the times of {printable(drift.command)} drift, by {drift.change:+.1%} from"
            f" its first third to its last (p = {drift.p:.1g}): {HARMLESS if paired else HARM}"
        )
    return said
