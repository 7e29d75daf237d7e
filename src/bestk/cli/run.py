"""`bestk run`: a study whose pulls are commands, from a study.toml."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bestk.cli import inputs
from bestk.cli.console import note, say, show, show_json
from bestk.errors import ArmFailedError

ROWS = 40  # of the final table on a terminal; elsewhere it shows every arm
INTERRUPTED = "interrupted; all answers are kept, go on with"


def run(
    file: Annotated[Path, typer.Argument(help="The study.toml; `bestk init` writes one.")],
    json: inputs.Json = False,
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
    given = read_study_file(file)
    heed_signals()
    try:
        with reading(given.storage):
            study = given.open()
        runner = Runner(
            study, given.pull, parallel=given.parallel, budget=given.pulls, seconds=given.seconds,
            retries=given.retries,
        )  # fmt: skip
        if study.samples and not study.is_stopped:
            note(f"bestk: going on with study {study.name!r} after {study.samples:,} pulls")
        with watch(runner, Console(stderr=True), lambda line: note(f"bestk: {line}")) as view:
            result = runner.run()
    except ArmFailedError as error:
        raise ArmFailedError(f"{error} with: {resume}") from error
    except KeyboardInterrupt:  # before the first pull, or while ending
        note(f"bestk: {INTERRUPTED}: {resume}")
        raise SystemExit(130) from None
    finally:
        kill_running()
    if json:
        show_json(result.to_dict())
    else:
        rows = ROWS if sys.stdout.isatty() else None
        show(Standings(result, rows))
        for line in conclusion(result):
            say(line)
    if failures := view.failures():
        note(f"bestk: {failures}")
    if result.stopped == "interrupted":
        note(f"bestk: {INTERRUPTED}: {resume}")
        raise SystemExit(130)
    if not result.certified:
        raise SystemExit(3)
