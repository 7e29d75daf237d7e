"""`bestk report`: a study on one page, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestk.cli.console import say
from bestk.cli.status import File, Name


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
    study: Name = None,
) -> None:
    """Write a page with the answer, its certificate, every arm's interval and how it all went.

    One HTML file that needs nothing else. Example: bestk report prompts.db -o prompts.html
    """
    from bestk.report.page.study import write
    from bestk.study.reading import reading

    with reading(file):
        written = write(file, output, study)
    say(str(written))
