"""`bestk doctor`: what state a file is in, and what can be recovered."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestk.cli import inputs
from bestk.cli.console import show, show_json
from bestk.cli.status import File
from bestk.errors import InputError
from bestk.report.text import printable

if TYPE_CHECKING:
    from bestk.storage.doctor import Examination
    from bestk.storage.survey import Found

STATES = {
    "healthy": "healthy",
    "damaged": "damaged",
    "newer": "of a newer bestk",
    "other": "another program's database",
    "text": "not a database",
    "empty": "empty",
}


def doctor(
    file: File,
    recover: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write all that counts to this new file."),
    ] = None,
    json: inputs.Json = False,
) -> None:
    """Say what state a study's file is in, and what can be recovered of it.

    Works on files that nothing else opens, and never changes them. Only events before the first
    damage are recovered. Ends with 0 if the file is healthy, and with 1 if it is not.
    """
    from bestk.storage.doctor import Examination

    with Examination(file) as found:
        studies = [_studied(found, each) for each in found.studies]
        is_healthy = found.state == "healthy" and all(each["folds"] for each in studies)
        if recover is not None:
            if not any(each["whole"] for each in studies):
                raise InputError(f"{file} was refused: there is nothing to recover in it")
            found.recover(recover)
        data = {
            "file": str(file),
            "state": "damaged" if found.state == "healthy" and not is_healthy else found.state,
            "format": found.version,
            "findings": found.findings,
            "notes": found.notes,
            "studies": studies,
            "recovered": None if recover is None else str(recover),
        }
    if json:
        show_json(data)
    else:
        _show(data)
    if not is_healthy:
        raise SystemExit(1)


def _studied(found: Examination, each: Found) -> dict[str, Any]:
    """What is readable of a study, and whether it can be gone on with."""
    data: dict[str, Any] = {
        "name": each.name if isinstance(each.name, str) else repr(each.name),  # damaged
        "readable": each.readable,
        "whole": each.whole,
        "loss": each.loss,
        "note": each.note,
        "folds": False,
        "samples": None,
        "certified": None,
        "problem": None,
    }
    if each.whole:
        from bestk.study import Study

        try:
            study = Study(each.name, storage=found)
            result = study.result
        except Exception as error:  # whatever a log that is not what was written leads to
            data["problem"] = f"{type(error).__name__}: {error}"
        else:
            data |= {"folds": True, "samples": result.samples, "certified": result.certified}
    return data


def _show(data: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    show(Text(f"{printable(data['file'])}: {STATES[data['state']]}"))
    for finding in data["findings"] + data["notes"]:
        show(Text(f"- {printable(finding)}"))
    if data["studies"]:
        table = Table()
        for column in ("study", "events readable", "before the first damage", "these make"):
            table.add_column(column, overflow="fold")
        for each in data["studies"]:
            name = Text(printable(each["name"]))
            table.add_row(name, f"{each['readable']:,}", f"{each['whole']:,}", Text(_makes(each)))
        show(table)
    for each in data["studies"]:
        for said in filter(None, (each["loss"], each["note"])):
            show(Text(f"{printable(each['name'])}: {printable(said)}"))
    if data["recovered"]:
        show(Text(f"All events before the first damage are in {printable(data['recovered'])}."))
    elif data["state"] == "damaged" and any(each["whole"] for each in data["studies"]):
        again = printable(shlex.quote(data["file"]))
        show(Text(f"`bestk doctor {again} --recover OUT` writes what counts to a new file."))


def _makes(each: dict[str, Any]) -> str:
    if each["folds"]:
        proof = "certified" if each["certified"] else "not certified"
        return f"a study with {each['samples']:,} samples, {proof}"
    return printable(each["problem"] or "nothing")
