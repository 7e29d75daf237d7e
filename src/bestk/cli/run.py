"""`bestk init` and `bestk run`: a study.toml to start from, and the study whose pulls it names."""

from __future__ import annotations

import shlex
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli.console import note, say, show, show_json
from bestk.cli.inputs import Json
from bestk.errors import ArmFailedError, InputError
from bestk.output import write_new

if TYPE_CHECKING:
    from bestk.commands.study_file import StudyFile

ROWS = 40  # of the final table on a terminal; elsewhere it shows every arm
QUESTIONS = "questions.jsonl"
New = Annotated[
    Path | None,
    typer.Argument(
        help="Output file; must not exist yet.", show_default="study.toml; eval.toml with --eval"
    ),
]


def init(
    file: New = None,
    eval: Annotated[
        bool, typer.Option("--eval", help="For `bestk eval`, which scores options on items.")
    ] = False,
) -> None:
    """Write a commented study.toml that runs as it is; an existing file is never overwritten.

    With --eval it also writes a file of items beside it.

    Example: bestk init && bestk run study.toml
    """
    folder, kind = files("bestk.cli"), "eval" if eval else "run"
    file = file or Path("eval.toml" if eval else "study.toml")
    if file.exists():
        raise InputError(f"{file} was refused: it already exists; edit it, or remove it first")
    text = folder.joinpath("eval.toml" if eval else "study.toml").read_text(encoding="utf-8")
    if eval:
        questions = folder.joinpath(QUESTIONS).read_text(encoding="utf-8")
        write_new(file.with_name(QUESTIONS), questions)
    write_new(file, text)
    say(f"wrote {file}; run it with: bestk {kind} {shlex.quote(str(file))}")


def run(
    file: Annotated[Path, typer.Argument(help="The study.toml; `bestk init` writes one.")],
    json: Json = False,
) -> None:
    """Run the commands of a study until its K best arms are certain; run it again to resume.

    Example: bestk init && bestk run study.toml
    """
    from bestk.commands.study_file import read_study_file

    given = read_study_file(file)
    if given.items is not None:
        raise InputError(f"{file} has [items]: run it with bestk eval {shlex.quote(str(file))}")
    run_to_the_end(given, f"bestk run {shlex.quote(str(file))}", json)


def run_to_the_end(given: StudyFile, resume: str, json: bool) -> None:
    """Run a study, or an evaluation, and show what came of it; `resume` is how to go on."""
    from rich.console import Console

    from bestk.commands.process import heed_signals, kill_running
    from bestk.report.terminal.live import watch
    from bestk.report.terminal.standings import Standings, conclusion
    from bestk.study import Runner
    from bestk.study.evaluation import repeated, summarise
    from bestk.study.reading import reading

    interrupted = f"bestk: interrupted; all answers are kept, go on with: {resume}"
    heed_signals()
    try:
        with reading(given.storage):
            study = given.open()
        runner = Runner(
            study, repeated(given.pull, given.repeats), parallel=given.parallel,
            budget=given.pulls, seconds=given.seconds, cost=given.cost, retries=given.retries,
            backoff=given.backoff, rate=given.rate, on_fail=given.on_fail,
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
    if given.items is not None:
        result = summarise(study, result)
    if json:
        show_json(result.to_dict())
    else:
        show(Standings(result, ROWS if sys.stdout.isatty() else None))
        if result.answer_line is not None:
            say(result.answer_line)
        for line in conclusion(result):
            say(line)
    if failures := view.failures():
        note(f"bestk: {failures}")
    if result.stopped == "interrupted":
        note(interrupted)
        raise SystemExit(130)
    if not result.certified:
        raise SystemExit(3)
