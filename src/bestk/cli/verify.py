"""`bestk verify`: check a certificate against the log it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli import inputs
from bestk.cli.console import show, show_json
from bestk.cli.status import File
from bestk.errors import InputError
from bestk.report.text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from bestk.verification import Report

REFUTED = 1


def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="What `certify` wrote.")],
    file: File,
    json: inputs.Json = False,
) -> None:
    """Recompute a certificate from the study's log, and say yes (exit code 0) or no (1).

    Nothing is shared with the code that ran the study. Example: bestk verify cert.json prompts.db
    """
    from bestk.verification import read_certificate
    from bestk.verification import verify as check

    try:
        report = check(read_certificate(certificate), file)
    except RecursionError:
        raise InputError(f"{certificate} was refused: it is nested too deeply") from None
    if json:
        show_json(report.to_dict())
    else:
        show(_table(report))
        show(_conclusion(report))
    if not report.verified:
        raise SystemExit(REFUTED)


def _table(report: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    title = Text(printable(f"study {report.study}"))
    table = Table("check", "required", "found", "holds", title=title)
    for check in report.checks:
        word = Text("yes") if check.holds else Text("NO", style="bold red")
        table.add_row(check.name, Text(check.required), Text(check.found), word)  # escaped there
    return table


def _conclusion(report: Report) -> str:
    if report.verified:
        return (
            "Yes: the certificate follows from the log (docs/certificate.md says what is proved)."
        )
    return f"No: {len(report.failed)} of {len(report.checks)} checks fail."
