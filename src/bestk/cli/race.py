"""`bestk race`: which commands are fastest, until it is certain."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestk.cli import inputs
from bestk.cli import race_options as options
from bestk.cli.console import note, progress, say, show, show_json
from bestk.errors import InputError, UnknownName
from bestk.output import check_output, write_text
from bestk.report.cells import text_cell

if TYPE_CHECKING:
    from bestk.commands.outcome import RaceResult
    from bestk.commands.race import Race

    Written = Callable[[Race], str]

INTERRUPTED = 130  # the exit code, whatever else went wrong
UNSHELLED = "{} runs without a shell, so its {} is an argument; --shell runs it in one"


def race(
    commands: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...", help="Two or more quoted commands, or one with a parameter."
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--k", help="How many of the fastest to find.")] = 1,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="median|mean|pairs",
            help="What is compared. Means need a cap on times: --max-time, or 3 times the (k+1)-th"
            " fastest warm-up. Pairs: which is faster more often within blocks of one run each,"
            " which cancels drift.",
            show_default="median",
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(metavar="Q", help="Compare this quantile of times, such as 0.9 for tails."),
    ] = None,
    warmup: Annotated[
        int, typer.Option("-w", "--warmup", help="Runs of each command before the counted ones.")
    ] = 1,
    max_time: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="The limit (cap) of every run, warm-ups included: a run that reaches it is killed"
            " and scored as the limit.",
            show_default="none; for means see --by",
        ),
    ] = None,
    runs: options.Runs = None,
    min_runs: options.MinRuns = None,
    parameter_scan: options.Scan = None,
    parameter_step_size: options.Step = None,
    parameter_list: options.Listed = None,
    command_name: options.Names = None,
    setup: options.Setup = None,
    prepare: options.Prepare = None,
    conclude: options.Conclude = None,
    cleanup: options.Cleanup = None,
    ignore_failure: options.IgnoreFailure = False,
    input: options.Input = None,
    output: options.Where = None,
    show_output: options.ShowOutput = False,
    epsilon: Annotated[
        str,
        typer.Option(
            metavar="SECONDS|PERCENT%",
            help="Slack: commands this close to the k-th fastest may be answered. Means: seconds.",
        ),
    ] = "0",
    delta: inputs.Delta = 0.05,
    shell: Annotated[
        bool,
        typer.Option(
            "--shell/--no-shell", " /-N", help="Run commands with a shell: pipes, redirections."
        ),
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The most counted runs, including those before a resume.",
            show_default="none",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the policy.", show_default="random")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            parser=inputs.address,
            metavar="FILE",
            help="Keep the race in this file or postgresql:// database; run it again to resume.",
        ),
    ] = None,
    json: inputs.Json = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Output file (overwritten): every counted run."),
    ] = None,
    export_json: options.Json = None,
    export_csv: options.Csv = None,
    export_markdown: options.Markdown = None,
) -> None:
    """Run commands until it is certain which are fastest, then stop.

    Example: bestk race 'grep -c x big.txt' 'awk /x/ big.txt'
    """
    from bestk.commands.comparing import MEAN, MEDIAN
    from bestk.commands.paired import PAIRS, PairedRace
    from bestk.commands.parameters import read_parameters
    from bestk.commands.process import heed_signals
    from bestk.commands.race import Race
    from bestk.study.reading import reading

    exports: dict[Written, Path | None] = {
        _every_run: export,
        _json: export_json,
        _csv: export_csv,
        _markdown: export_markdown,
    }
    output = options.shown(output) if show_output else output
    _check(exports, output, storage, json)
    scans = options.words(parameter_scan, "--parameter-scan")
    lists = options.words(parameter_list, "--parameter-list")
    slack, relative = options.read_slack(epsilon)
    heed_signals()
    if by not in (None, MEDIAN, MEAN, PAIRS):
        raise UnknownName("comparison for --by", by, (MEDIAN, MEAN, PAIRS))
    with reading(storage or "the race"):
        made = PairedRace if by == PAIRS else Race
        found = made(
            commands, k=k, delta=delta, epsilon=slack, by=by, quantile=quantile, relative=relative,
            warmup=warmup, max_time=max_time, shell=shell, setup=setup,
            parameters=read_parameters(scans, parameter_step_size or (), lists),
            prepare=prepare, conclude=conclude, cleanup=cleanup, ignore_failure=ignore_failure,
            given=options.read_input(input), output=options.read_output(output),
            names=command_name or (), seed=seed, storage=storage,
        )  # fmt: skip
    try:
        code = _race(found, exports, storage, json, budget=budget, runs=runs, min_runs=min_runs)
    finally:
        for text in found.unclean:
            note(f"bestk: {text}")
    code = INTERRUPTED if found.is_cut_short else code
    raise SystemExit(2 if found.unclean and code != INTERRUPTED else code)


def _race(
    found: Race, exports: dict[Written, Path | None], storage: str | None, json: bool, **most: Any
) -> int:
    """Warm up, run, show and write what was found; the exit code."""
    from bestk.report.terminal import race as race_table

    around = {each for entrant in found.entrants.values() for each in entrant.signs.values()}
    for text, sign in sorted(around):
        if sign:
            note(f"warning: {UNSHELLED.format(repr(text), sign)}")
    with progress("warming up", found.warmup * len(found.entrants)) as advance:
        found.warm_up(lambda: advance(1, "warming up"))
    for command, reason in found.failed.items():
        note(f"{command!r} failed in warm-up and leaves the race: {reason}")
    for command, entrant in found.entrants.items():
        if entrant.sign and command not in found.failed:
            note(f"warning: {UNSHELLED.format(repr(command), entrant.sign)}")
    if not json and found.cap is not None:
        cap = f"cap {race_table.duration(found.cap)}"
        print(f"{cap}: a run that reaches it is killed and scored as the cap", flush=True)
    try:
        outcome = found.run(watch=_watch, **most)
        code = _finish(found, outcome, storage, json)
    finally:
        for written, file in exports.items():
            if file is not None:
                write_text(file, written(found))
    return code


def _check(
    exports: dict[Written, Path | None], output: str | None, storage: str | None, json: bool
) -> None:
    """Refuse files that cannot be written, or twice, or that are the race's own."""
    from bestk.storage.addresses import file_at

    own = None if storage is None else file_at(storage)
    files = [file for file in exports.values() if file is not None]
    if output is not None and output not in options.WAYS:
        files.append(Path(output))
    for place, file in enumerate(files):
        check_output(file, own)
        if file in files[:place] and (not file.exists() or file.is_file()):
            raise InputError(f"{file} was refused: it would be written twice")
    if output == "inherit" and json:
        raise InputError("--output inherit was refused: --json prints one object and nothing else")


def _every_run(found: Race) -> str:
    """A line for each counted run, in their order."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(("command", "seq", "seconds", "cut"))
    for run in found.runs():
        seconds = run.seconds if run.is_timed else ""
        writer.writerow((text_cell(run.command), run.seq, seconds, str(run.cut).lower()))
    return file.getvalue()


def _json(found: Race) -> str:
    from bestk.report import hyperfine

    return hyperfine.as_json(found.timings().values())


def _csv(found: Race) -> str:
    from bestk.report import hyperfine

    return hyperfine.as_csv(list(found.timings().values()))


def _markdown(found: Race) -> str:
    from bestk.report import hyperfine

    return hyperfine.as_markdown(list(found.timings().values()))


def _finish(found: Race, outcome: RaceResult, storage: str | None, json: bool) -> int:
    """Show what was found; the exit code."""
    from bestk.commands.paired import PairedRace
    from bestk.report.terminal import race as race_table
    from bestk.report.terminal.timings import timings_table, warnings

    for command in found.interrupted:
        note(f"bestk: a run of {command!r} was interrupted or failed before; it counts as cut")
    if json:
        show_json(outcome.to_dict())
    else:
        timings = found.timings()
        variations = {command: one.variation for command, one in timings.items()}
        found_by = outcome.by, outcome.relative, outcome.wins, variations
        show(race_table.table(outcome.result, outcome.at_least, *found_by))
        show(timings_table(timings.values()))
        paired = isinstance(found, PairedRace)
        for line in (*race_table.lines(outcome), *warnings(timings, found.shell, paired)):
            say(line)
    if outcome.result.stopped == "interrupted":
        kept = "run it again to resume" if storage else "this is the result so far"
        note(f"bestk: interrupted; {kept}")
        return INTERRUPTED
    return 0 if outcome.result.certified else 3


def _watch(race: Race) -> AbstractContextManager[object]:
    """A live table on a terminal, now and then a line elsewhere."""
    from rich.console import Console
    from rich.live import Live

    from bestk.report.terminal.live import REFRESHES
    from bestk.report.terminal.race import RaceView, told

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        return told(race, lambda line: note(f"bestk: {line}"))
    return Live(RaceView(race), console=console, refresh_per_second=REFRESHES, transient=True)
