"""`bestk export`: every observation of a study, for other programs."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import modf
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from bestk.cli.status import File, Name
from bestk.errors import InputError
from bestk.output import check_output, replacing
from bestk.report.cells import label_cell, text_cell
from bestk.report.text import moment

if TYPE_CHECKING:
    from bestk.study.reading import Observation

FORMATS = ("csv", "json")


def export(
    file: File,
    format: Annotated[str, typer.Option(help="csv or json.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Output file (overwritten).", show_default="standard output"
        ),
    ] = None,
    study: Name = None,
) -> None:
    """Write every observation that counts, in the order in which they were told.

    Fields: seq (number of the event), pull (its id), arm, reward, asked and told (times, ISO 8601,
    UTC; asked is empty for observations made elsewhere), kind (told, or added from elsewhere).

    In CSV an arm that is no text is written as JSON (1, ["a", 2]), and so is a text with line ends
    or control characters. A text that could be read as JSON ('1), or begins with = + - @, which
    spreadsheets take for a formula ('=1+1), or with an apostrophe, gets an apostrophe in front;
    so does the id of a pull that begins with one of these or with a quotation mark.
    """
    from bestk.study.reading import choose, observations, open_storage, reading

    if format not in FORMATS:
        raise InputError(f"--format {format} was refused: it is {' or '.join(FORMATS)}")
    if output is not None:
        check_output(output, file)
    with reading(file), _writing(output) as stream:
        storage = open_storage(file)
        rows = observations(storage, choose(storage, study))
        if format == "csv":
            _write_csv(stream, rows)
        else:
            _write_json(stream, rows)


def iso(at: float | None) -> str | None:
    """A time as ISO 8601 has it, in UTC."""
    if at is None:
        return None
    fraction, whole = modf(at)
    micros = round(fraction * 1e6)  # as datetime rounds
    if micros < 0 or micros == 1_000_000:
        return moment(at).isoformat(timespec="microseconds")
    minutes, seconds = divmod(int(whole), 60)
    return f"{_minute(minutes)}:{seconds:02d}.{micros:06d}+00:00"


@lru_cache(maxsize=1024)
def _minute(minutes: int) -> str:
    """So many minutes after the beginning of 1970; times of one minute come one after the other."""
    return moment(60 * minutes).isoformat(timespec="minutes")[:-6]


@contextmanager
def _writing(output: Path | None) -> Iterator[TextIO]:
    """Standard output or a file; what is written gets there whole or not at all."""
    if output is None:
        with TemporaryFile("w+", encoding="utf-8", newline="") as stream:
            yield stream
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", newline="")
            stream.seek(0)
            shutil.copyfileobj(stream, sys.stdout)
        return
    with replacing(output) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        yield stream


def _write_csv(stream: TextIO, rows: Iterator[Observation]) -> None:
    from bestk.study.reading import Observation

    writer = csv.writer(stream)
    writer.writerow(Observation._fields)
    for seq, pull, arm, reward, asked, told, kind in rows:
        writer.writerow(
            [seq, text_cell(pull), label_cell(arm), reward, iso(asked), iso(told), kind]
        )


def _write_json(stream: TextIO, rows: Iterator[Observation]) -> None:
    stream.write("[")
    for i, row in enumerate(rows):
        data = {**row._asdict(), "asked": iso(row.asked), "told": iso(row.told)}
        stream.write(",\n" * (i > 0) + json.dumps(data, allow_nan=False))
    stream.write("]\n")
