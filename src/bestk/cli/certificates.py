"""`bestk certify` and `bestk verify`: a claim that others can check, and the check."""

from __future__ import annotations

import shlex
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestk.cli.console import note, say, show, show_json
from bestk.cli.inputs import File, Json, StudyName
from bestk.errors import InputError, NothingToCertifyError
from bestk.output import check_output, is_database, write_text
from bestk.report.text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from bestk.verification import Report

REFUTED, NOT_CERTIFIED = 1, 3  # exit codes


def certify(
    file: File,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="CERT", help="Output file (overwritten).")
    ],
    study: StudyName = None,
) -> None:
    """Write the certificate of a study that has stopped: its claim and the supporting numbers.

    Example: bestk certify prompts.db -o prompts.cert.json
    """
    from bestk.storage.addresses import file_at
    from bestk.study.certificate import make_certificate
    from bestk.study.reading import reading
    from bestk.verification.report import some

    check_output(output, file_at(file))
    try:
        with reading(file):
            made = make_certificate(file, study)
    except NothingToCertifyError as error:
        note(f"bestk: {error}")
        raise SystemExit(NOT_CERTIFIED) from None
    write_text(output, _laid_out(made))
    say(
        f"Study {made['study']}: the answer is {some(made['answer'])}, with error probability at"
        f" most {made['error_bound']:g} ({made['theorem']}), after {made['samples']:,} samples."
    )
    written, study_file = shlex.quote(str(output)), shlex.quote(str(file))
    say(f"Written to {output}. To check it: bestk verify {written} {study_file}")
    lost = sum(arm["failed"] + arm["forgotten"] + arm["expired"] for arm in made["arms"])
    if lost:
        note(f"warning: pulls failed or were given up {lost} times. {made['warning']}")


def _laid_out(made: dict[str, Any]) -> str:
    """JSON with a line for every field and every arm, which people can read and compare."""
    texts = {name: dumps(value, allow_nan=False) for name, value in made.items()}
    arms = ",\n ".join(dumps(arm, allow_nan=False) for arm in made["arms"])
    texts["arms"] = f"[\n {arms}\n]"
    return "{\n" + ",\n".join(f"{dumps(name)}: {text}" for name, text in texts.items()) + "\n}\n"


def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="What `certify` wrote.")],
    file: File,
    json: Json = False,
) -> None:
    """Recompute a certificate from the study's log, and say yes (exit code 0) or no (1).

    It shares no code with the policies that ran the study.

    Example: bestk verify cert.json prompts.db
    """
    from bestk.verification import read_certificate
    from bestk.verification import verify as check

    if certificate.is_file() and is_database(certificate):
        raise InputError(
            f"{certificate} was refused: it is a study's file; the certificate comes first, as in:"
            " bestk verify cert.json prompts.db"
        )
    try:
        report = check(read_certificate(certificate), file)
    except RecursionError:
        raise InputError(f"{certificate} was refused: it is nested too deeply") from None
    if json:
        show_json(report.to_dict())
    else:
        show(_table(report))
        if report.verified:
            proved = "docs/certificate.md says what is proved"
            show(f"Yes: the certificate follows from the log ({proved}).")
        else:
            show(f"No: {len(report.failed)} of {len(report.checks)} checks fail.")
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
