"""`bestk certify`: write down what a stopped study claims, so that others can check it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from bestk.cli.console import note
from bestk.cli.status import File, Name
from bestk.errors import InputError

NOT_CERTIFIED = 3


def certify(
    file: File,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="CERT", help="Where to write the certificate.")
    ],
    study: Name = None,
) -> None:
    """Write the certificate of a study that has stopped: its claim, and what bears it out.

    Example: bestk certify prompts.db -o prompts.cert.json
    """
    from bestk.study.certificate import NothingToCertifyError, make_certificate
    from bestk.study.verification.report import some

    _check_output(output, file)
    try:
        made = make_certificate(file, study)
    except NothingToCertifyError as error:
        note(f"bestk: {error}")
        raise SystemExit(NOT_CERTIFIED) from None
    _write(output, made)
    print(
        f"Study {made['study']}: the answer is {some(made['answer'])}, with error probability at"
        f" most {made['error_bound']:g} ({made['theorem']}), after {made['samples']:,} samples."
    )
    print(f"Written to {output}. To check it: bestk verify {output} {file}")
    lost = sum(arm["failed"] + arm["forgotten"] + arm["expired"] for arm in made["arms"])
    if lost:
        note(f"warning: pulls failed or were given up {lost} times. {made['warning']}")


def _check_output(output: Path, file: Path) -> None:
    """Before the work, not after; and never over the log itself."""
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output} was refused: there is no folder {output.parent}")
    if output.is_dir():
        raise InputError(f"{output} was refused: it is a folder")
    if output.exists() and file.exists() and output.samefile(file):
        raise InputError(f"{output} was refused: it is the study itself")


def _laid_out(made: dict[str, Any]) -> str:
    """JSON with a line for every field and every arm, which people can read and compare."""
    fields = []
    for name, value in made.items():
        text = json.dumps(value, allow_nan=False)
        if name == "arms":
            text = "[\n " + ",\n ".join(json.dumps(arm, allow_nan=False) for arm in value) + "\n]"
        fields.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _write(output: Path, made: dict[str, Any]) -> None:
    """All or nothing: a certificate that is there already stays until the new one is whole."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        beside.write_text(_laid_out(made), encoding="utf-8")
        beside.replace(output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"{output} was refused: {error.strerror}") from error
