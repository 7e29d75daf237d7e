"""`bestk eval`: the K best on a fixed set of items, by commands or from a finished table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestk.cli import inputs
from bestk.cli.console import progress, say, show_json
from bestk.cli.run import run_to_the_end
from bestk.errors import InputError

if TYPE_CHECKING:
    from bestk.commands.replayed import Replayed

NAMED = 20  # arms of an answer listed by name


def eval_(
    file: Annotated[
        Path | None,
        typer.Argument(help="A study.toml with an items section.", show_default=False),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Replay a complete table of scores, .csv (header: items; first column: arms)"
            " or .npz; tells what an evaluation would have cost.",
        ),
    ] = None,
    array: Annotated[
        str | None, typer.Option(help="Array of the .npz file.", show_default="the only one")
    ] = None,
    k: Annotated[int | None, typer.Option(help="With --table: how many arms to find.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Error probability allowed.", show_default="0.05")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Slack: arms this close to the K-th best may be answered.", show_default="0"
        ),
    ] = None,
    low: Annotated[float | None, typer.Option(help="Smallest score.", show_default="0")] = None,
    high: Annotated[float | None, typer.Option(help="Largest score.", show_default="1")] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize", help="Scores are costs: find the smallest.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the items' orders.", show_default="1")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Evaluations to run, each with new orders of the items.", show_default="1"
        ),
    ] = None,
    json: inputs.Json = False,
) -> None:
    """Score arms on a fixed set of items until the K best are certain; run it again to resume.

    Example: bestk init --eval && bestk eval eval.toml
    """
    settings = {
        "k": k, "delta": delta, "epsilon": epsilon, "low": low, "high": high, "seed": seed,
        "runs": runs, "array": array, "minimize": minimize or None,
    }  # fmt: skip
    given = {name: value for name, value in settings.items() if value is not None}
    if (file is None) == (table is None):
        raise InputError("give either a study.toml with [items], or --table with finished scores")
    if table is not None:
        _replay(table, given, json)
        return
    assert file is not None
    for name in given:
        raise InputError(f"--{name} goes with --table; a study.toml has its own settings")
    from bestk.commands.study_file import read_study_file

    found = read_study_file(file)
    if found.items is None:
        raise InputError(f"{file} has no [items]: add them, or run it with bestk run")
    run_to_the_end(found, f"bestk eval {shlex.quote(str(file))}", json)


def _replay(table: Path, given: dict[str, Any], json: bool) -> None:
    from bestk.commands.replayed import replay_table
    from bestk.simulation.tables import read_table

    if "k" not in given:
        raise InputError("--k is missing: how many arms should be found?")
    maximize = not given.pop("minimize", False)
    arms, scores = read_table(table, given.pop("array", None))
    with progress("evaluating", given.get("runs", 1)) as advance:
        found = replay_table(
            arms, scores, maximize=maximize, progress=lambda n: advance(n, "evaluating"), **given
        )
    if json:
        show_json(found.to_dict())
        return
    for line in _words(found):
        say(line)


def _words(found: Replayed) -> list[str]:
    counts, runs = found.evaluations, found.evaluations.size
    said = [
        f"{len(found.arms):,} arms on {found.items:,} items: {found.table:,} cells; wanted: the"
        f" {found.k} best, error <= {found.delta:g}, slack {found.epsilon:g}"
    ]
    part = f"{100 * found.share:.1f}% of the table"
    if found.answer is not None:
        right = "wrong" if found.wrong else "right"
        said.append(f"{counts[0]:,} evaluations, {part}")
        said.append(f"answer: {_named(found.answer)}, which is {right}")
    else:
        said.append(
            f"{counts.mean():,.0f} evaluations on average of {runs:,} runs ({counts.min():,} to"
            f" {counts.max():,}), {part}; {found.wrong:,} wrong"
        )
    said.append(f"the best of the table: {_named(found.best)}")
    return said


def _named(arms: list[str]) -> str:
    more = f" and {len(arms) - NAMED:,} more" if len(arms) > NAMED else ""
    return ", ".join(arms[:NAMED]) + more
