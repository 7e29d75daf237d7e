"""`bestk status`: where a study stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestk.cli import inputs
from bestk.cli.console import show, show_json

File = Annotated[Path, typer.Argument(help="The study's file.", show_default=False)]
Name = Annotated[
    str | None,
    typer.Option("--study", help="Which study.", show_default="the only one in the file"),
]


def status(
    file: File,
    study: Name = None,
    json: inputs.Json = False,
) -> None:
    """Say where a study stands: the answer so far, every arm's interval, what is left to do.

    The file is only read; a study that is running may be looked at.
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
