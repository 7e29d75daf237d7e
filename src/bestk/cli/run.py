"""`bestk init` and `bestk run`: a study.toml to start from, and the study whose pulls it names."""

from __future__ import annotations

import shlex
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from bestk.cli.console import note, say, show, show_json
from bestk.cli.inputs import Json
from bestk.errors import ArmFailedError
from bestk.output import write_new

ROWS = 40  # of the final table on a terminal; elsewhere it shows every arm
New = Annotated[Path, typer.Argument(help="Output file; must not exist yet.")]


def init(file: New = Path("study.toml")) -> None:
    """Write a commented study.toml that runs as it stands; an existing file is left alone.

    Example: bestk init && bestk run study.toml
    """
    write_new(file, files("bestk.cli").joinpath("study.toml").read_text(encoding="utf-8"))
    say(f"wrote {file}; run it with: bestk run {shlex.quote(str(file))}")


def run(
    file: Annotated[Path, typer.Argument(help="The study.toml; `bestk init` writes one.")],
    json: Json = False,
) -> None:
    """Run the commands of a study until its K best arms are certain; run it again to resume.

    Example: bestk init && bestk run study.toml
    """
    from rich.console import Console

    from bestk.commands.process import heed_signals, kill_running
    from bestk.commands.study_file import read_study_file
    from bestk.report.terminal.live import watch
    from bestk.report.terminal.standings import Standings, conclusion
    from bestk.study import Runner
    from bestk.study.reading import reading

    resume = f"bestk run {shlex.quote(str(file))}"
    interrupted = f"bestk: interrupted; all answers are kept, go on with: {resume}"
    given = read_study_file(file)
    heed_signals()
    try:
        with reading(given.storage):
            study = given.open()
        runner = Runner(
            study, given.pull, parallel=given.parallel, budget=given.pulls, seconds=given.seconds,
            cost=given.cost, retries=given.retries, backoff=given.backoff, rate=given.rate,
            on_fail=given.on_fail,
        )  # fmt: skip
        if study.samples and not study.is_stopped:
            note(f"bestk: going on with study {study.name!r} after {study.samples:,} pulls")
        with watch(runner, Console(stderr=True), lambda line: note(f"bestk: {line}")) as view:
            result = runner.run()
    except ArmFailedError as error:
        raise ArmFailedError(f"{error} with: {resume}") from error
    except KeyboardInterrupt:  # before the first pull, or while ending
        note(interrupted)
        raise SystemExit(130) from None
    finally:
        kill_running()
    if json:
        show_json(result.to_dict())
    else:
        show(Standings(result, ROWS if sys.stdout.isatty() else None))
        for line in conclusion(result):
            say(line)
    if failures := view.failures():
        note(f"bestk: {failures}")
    if result.stopped == "interrupted":
        note(interrupted)
        raise SystemExit(130)
    if not result.certified:
        raise SystemExit(3)
