"""Looking at the studies in a file: `bestk status`, `list`, `report` and `export`."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from bestk.cli.console import say, show, show_json
from bestk.cli.inputs import File, Json, JsonList, StudyName
from bestk.errors import BestkError, InputError
from bestk.output import check_output, replacing
from bestk.report.text import iso

if TYPE_CHECKING:
    from bestk.report.terminal.study import Listed
    from bestk.storage.addresses import KeptStorage


def status(file: File, study: StudyName = None, json: Json = False) -> None:
    """Show where a study stands: the answer so far, every arm's interval, what is left to do.

    The file is only read, so this is safe while the study is running.
    """
    from bestk.report.terminal.study import arms, summary
    from bestk.study.reading import open_study, reading

    with reading(file):
        opened = open_study(file, study)
        result = opened.result
        if json:
            show_json(result.to_dict())
            return
        tables = summary(opened, result), arms(opened, result)
    for table in tables:
        show(table)


def list_(file: File, json: JsonList = False) -> None:
    """List the studies in a file: arms, samples, state, last activity."""
    from bestk.report.terminal.study import listing
    from bestk.storage.names import names_of_studies
    from bestk.study.reading import open_storage

    storage = open_storage(file)
    found = [_listed(storage, name) for name in names_of_studies(storage)]
    if json:
        show_json([{**each._asdict(), "last_activity": iso(each.last_activity)} for each in found])
    else:
        show(listing(found))


def _listed(storage: KeptStorage, name: str) -> Listed:
    from bestk.report.terminal.study import Listed
    from bestk.study import Study
    from bestk.study.reading import reading

    at = storage.last_activity(name)
    try:
        with reading(storage.path):
            study = Study(name, storage=storage)
            state = "running"
            if study.is_stopped:
                state = "certified" if study.result.certified else "stopped"
    except BestkError as error:  # one that a newer bestk began, beside others
        return Listed(name, None, None, f"cannot be opened: {error}", at)
    return Listed(name, len(study.arms), study.samples, state, at)


def report(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE",
            help="Output file (overwritten).",
            show_default="FILE with .html",
        ),
    ] = None,
    study: StudyName = None,
) -> None:
    """Write a page with the answer, its certificate, every arm's interval and its history.

    The page is one self-contained HTML file.

    Example: bestk report prompts.db -o prompts.html
    """
    from bestk.report.page.study import write
    from bestk.study.reading import reading

    with reading(file):
        written = write(file, output, study)
    say(str(written))


def export(
    file: File,
    format: Annotated[str, typer.Option(help="csv, json or jsonl.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Output file (overwritten).", show_default="standard output"
        ),
    ] = None,
    study: StudyName = None,
) -> None:
    """Write every observation that counts, in the order in which they were told.

    Fields: seq (number of the event), pull (its id), arm, reward, asked and told
    (times, ISO 8601, UTC; asked is empty for observations made elsewhere), kind
    (told, or added from elsewhere), extra (what was returned beside the reward;
    JSON). Evaluations also have item (its position, from 0), and the kind failed,
    which counts as the worst score.

    In CSV, an arm that is not a text is written as JSON (1, ["a", 2]), and so is a
    text with line breaks or control characters. A text that could be read as JSON
    ('1), that begins with = + - @, which spreadsheets take for a formula ('=1+1),
    or that begins with an apostrophe gets a leading apostrophe; so does the id of
    a pull that begins with one of these or with a quotation mark.
    """
    from bestk.report.export import FORMATS, write_observations
    from bestk.storage.addresses import file_at
    from bestk.study.reading import choose, open_storage, reading

    if format not in FORMATS:
        raise InputError(
            f"--format {format} was refused: it is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    if output is not None:
        check_output(output, file_at(file))
    with reading(file), _writing(output) as stream:
        storage = open_storage(file)
        name = choose(storage, study)
        write_observations(storage, name, format, stream)


@contextmanager
def _writing(output: Path | None) -> Iterator[TextIO]:
    """Standard output or a file; what is written gets there whole or not at all."""
    if output is not None:
        with replacing(output) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    with TemporaryFile("w+", encoding="utf-8", newline="") as stream:
        yield stream
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        stream.seek(0)
        shutil.copyfileobj(stream, sys.stdout)
