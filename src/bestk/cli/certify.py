"""`bestk certify`: write down what a stopped study claims, so that others can check it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from bestk.cli.console import note, say
from bestk.cli.status import File, Name
from bestk.errors import NothingToCertifyError
from bestk.output import check_output, write_text

NOT_CERTIFIED = 3


def certify(
    file: File,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="CERT", help="Output file (overwritten).")
    ],
    study: Name = None,
) -> None:
    """Write the certificate of a study that has stopped: its claim, and what bears it out.

    Example: bestk certify prompts.db -o prompts.cert.json
    """
    from bestk.study.certificate import make_certificate
    from bestk.study.reading import reading
    from bestk.verification.report import some

    check_output(output, file)
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
    fields = []
    for name, value in made.items():
        text = json.dumps(value, allow_nan=False)
        if name == "arms":
            text = "[\n " + ",\n ".join(json.dumps(arm, allow_nan=False) for arm in value) + "\n]"
        fields.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"
