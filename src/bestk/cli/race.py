"""`bestk race`: which commands are fastest, until it is certain."""

from __future__ import annotations

import csv
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli import inputs
from bestk.cli.console import note, progress, say, show, show_json
from bestk.output import check_output, replacing
from bestk.report.cells import text_cell

if TYPE_CHECKING:
    from bestk.commands.race import Race
    from bestk.study import Runner


def race(
    commands: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="At least two, each quoted.")
    ],
    k: Annotated[int, typer.Option("-k", "--k", help="How many of the fastest to find.")] = 1,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="median|mean",
            help="What is compared. Means need a cap on times: --max-time, or 3 times the (k+1)-th"
            " fastest warm-up.",
            show_default="median",
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(metavar="Q", help="Compare this quantile of times, such as 0.9 for tails."),
    ] = None,
    warmup: Annotated[int, typer.Option(help="Runs of each command before the counted ones.")] = 1,
    max_time: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="The limit (cap) of every run, warm-ups included: a run that reaches it is killed"
            " and scored as the limit.",
            show_default="none; of means see --by",
        ),
    ] = None,
    setup: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Run it for each command, before its first run."),
    ] = None,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND", help="Run it before every run, untimed; once, or for each command."
        ),
    ] = None,
    conclude: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="Run it after every run, untimed; likewise."),
    ] = None,
    cleanup: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Run it for each command, after the race."),
    ] = None,
    ignore_failure: Annotated[
        bool, typer.Option("--ignore-failure", help="Exit codes other than 0 are runs too.")
    ] = False,
    epsilon: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Slack: commands this close may be answered."),
    ] = 0.0,
    delta: inputs.Delta = 0.05,
    shell: Annotated[
        bool, typer.Option("--shell", help="Run the commands by the shell: pipes, redirections.")
    ] = False,
    budget: Annotated[
        int | None, typer.Option(min=1, help="The most counted runs.", show_default="none")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the policy.", show_default="random")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            parser=inputs.address,
            metavar="FILE",
            help="Keep the race there, in a file or at a postgresql:// address; run it again to"
            " resume.",
        ),
    ] = None,
    json: inputs.Json = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Output file (overwritten): every counted run."),
    ] = None,
) -> None:
    """Run commands until it is certain which are fastest, then stop.

    Example: bestk race 'grep -c x big.txt' 'awk /x/ big.txt'
    """
    from bestk.commands.process import heed_signals
    from bestk.commands.race import Race
    from bestk.report.terminal import race as race_table
    from bestk.storage.addresses import file_at
    from bestk.study.reading import reading

    if export is not None:
        check_output(export, None if storage is None else file_at(storage))
    heed_signals()
    with reading(storage or "the race"):
        found = Race(
            commands, k=k, delta=delta, epsilon=epsilon, by=by, quantile=quantile,
            warmup=warmup, max_time=max_time, shell=shell, setup=setup,
            prepare=prepare, conclude=conclude, cleanup=cleanup, ignore_failure=ignore_failure,
            seed=seed, storage=storage,
        )  # fmt: skip
    with progress("warming up", warmup * len(commands)) as advance:
        found.warm_up(lambda: advance(1, "warming up"))
    for command, reason in found.failed.items():
        note(f"{command!r} failed in warm-up and leaves the race: {reason}")
    if not json and found.cap is not None:
        cap = f"cap {race_table.duration(found.cap)}"
        print(f"{cap}: a run that reaches it is killed and scored as the cap", flush=True)
    try:
        code = _finish(found, budget, storage, json)
    finally:
        if export is not None:
            with replacing(export) as draft, draft.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(("command", "seq", "seconds", "cut"))
                for run in found.runs():
                    cut = str(run.cut).lower()
                    writer.writerow((text_cell(run.command), run.seq, run.seconds, cut))
    raise SystemExit(code)


def _finish(found: Race, budget: int | None, storage: str | None, json: bool) -> int:
    """Run it, show what was found; the exit code."""
    from bestk.report.terminal import race as race_table
    from bestk.report.terminal.timings import timings_table, warnings

    outcome = found.run(budget, _watch)
    for command in found.interrupted:
        note(f"bestk: a run of {command!r} was interrupted before; it counts as cut")
    if json:
        show_json(outcome.to_dict())
    else:
        show(race_table.table(outcome.result, race_table.at_least(outcome), outcome.by))
        timings = found.timings()
        show(timings_table(timings.values()))
        for line in (*race_table.lines(outcome), *warnings(timings)):
            say(line)
    if outcome.result.stopped == "interrupted":
        kept = "run it again to resume" if storage else "this is the result so far"
        note(f"bestk: interrupted; {kept}")
        return 130
    return 0 if outcome.result.certified else 3


def _watch(runner: Runner) -> AbstractContextManager[object]:
    """A live table on a terminal, silence in a pipe."""
    from rich.console import Console
    from rich.live import Live

    from bestk.report.terminal.live import REFRESHES
    from bestk.report.terminal.race import RaceView

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        return nullcontext()
    view = RaceView(runner)
    return Live(view, console=console, refresh_per_second=REFRESHES, transient=True)
