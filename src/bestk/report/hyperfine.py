"""The times of a race in the layouts of hyperfine's exports, so that what reads those reads these.

Written from what hyperfine 1.15 to 1.19 export: JSON and CSV in seconds; Markdown in milliseconds
unless the first command takes a second, with the ratio of means to the smallest and its standard
error, by the first terms of the propagation of errors. They describe, and prove nothing.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from bestk.commands.runs import Run
from bestk.commands.timings import Timing
from bestk.report.cells import text_cell
from bestk.report.text import printable

COLUMNS = ("mean", "stddev", "median", "user", "system", "min", "max")
SIGNALS = 128  # the code of a command that a signal has ended is the signal's number above


def as_json(found: Iterable[Timing]) -> str:
    """Every command with its figures and every single time."""
    return json.dumps({"results": [_entry(one) for one in found]}, indent=2, allow_nan=False) + "\n"


def _entry(one: Timing) -> dict[str, Any]:
    timed = [run for run in one.runs if run.is_timed]
    entry: dict[str, Any] = {"command": one.command, **_figures(one), "times": list(one.times)}
    entry["exit_codes"] = [_code(run) for run in timed]
    return entry | ({"parameters": dict(sorted(one.parameters.items()))} if one.parameters else {})


def _figures(one: Timing) -> dict[str, float | None]:
    used = {name: one.used(name) for name in ("user", "system")}
    ends = {"min": min(one.times), "max": max(one.times)}
    return {"mean": one.mean, "stddev": one.stddev, "median": one.median, **used, **ends}


def _code(run: Run) -> int | None:
    """As a shell has it."""
    return SIGNALS - run.code if run.code is not None and run.code < 0 else run.code


def as_csv(found: Sequence[Timing]) -> str:
    """A line for each command; a parameter that it does not have is empty."""
    names = sorted({name for one in found for name in one.parameters})
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("command", *COLUMNS, *(f"parameter_{name}" for name in names)))
    for one in found:
        figures = _figures(one)
        figures["stddev"] = figures["stddev"] or 0.0  # hyperfine's, of a single run
        own = (text_cell(one.parameters[name]) if name in one.parameters else "" for name in names)
        writer.writerow((text_cell(one.command), *(figures[name] for name in COLUMNS), *own))
    return file.getvalue()


def as_markdown(found: Sequence[Timing]) -> str:
    """A table, the commands in the order in which they were given."""
    is_long = bool(found) and found[0].mean >= 1.0
    size, unit, digits = (1.0, "s", 3) if is_long else (1e-3, "ms", 1)
    head = ("Command", *(f"{name} [{unit}]" for name in ("Mean", "Min", "Max")), "Relative")
    lines = [f"| {' | '.join(head)} |", "|:---|---:|---:|---:|---:|"]
    fastest = min(found, key=lambda one: one.mean, default=None)

    def shown(seconds: float) -> str:
        return f"{seconds / size:.{digits}f}"

    for one in found:
        spread = "" if one.stddev is None else f" ± {shown(one.stddev)}"
        name = printable(one.command).replace("|", r"\|")
        ends = shown(min(one.times)), shown(max(one.times))
        cells = f"`{name}`", shown(one.mean) + spread, *ends, _relative(one, fastest)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _relative(one: Timing, fastest: Timing | None) -> str:
    if fastest is None or one is fastest:
        return "1.00"
    ratio = one.mean / fastest.mean
    if one.variation is None or fastest.variation is None:
        return f"{ratio:.2f}"
    return f"{ratio:.2f} ± {ratio * math.hypot(one.variation, fastest.variation):.2f}"
