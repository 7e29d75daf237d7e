"""Care of a study's file: `bestk doctor` says what state it is in, `bestk backup` copies it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestk.addresses import file_at
from bestk.cli.console import show, show_json
from bestk.cli.inputs import File, Json, address
from bestk.errors import InputError
from bestk.report.text import printable

if TYPE_CHECKING:
    from bestk.storage.doctor import Examination
    from bestk.storage.postgres_doctor import DatabaseExamination
    from bestk.storage.survey import Found

STATES = {  # the others are called what they are
    "newer": "of a newer bestk",
    "other": "another program's database",
    "text": "not a database",
}


def backup(
    file: File,
    to: Annotated[
        str,
        typer.Argument(
            parser=address,
            help="The copy: a new file, or a postgresql:// address that has none of its studies.",
            show_default=False,
        ),
    ],
) -> None:
    """Copy a study's file, even while others write to it, and check the copy.

    An existing file is not overwritten. Copying by other means while the file is
    open may miss the latest rewards, and may lose later ones. From a file to a
    database, or back, this restores a backup or moves studies.
    """
    from bestk.storage.copying import copy

    show(f"{to} holds {copy(file, to):,} events, all of them whole.")


def doctor(
    file: File,
    recover: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write what can be recovered to this new file."),
    ] = None,
    json: Json = False,
) -> None:
    """Check whether a study's file is intact, and say what can be recovered from it.

    Works on files that nothing else can open, and never changes them. Only events
    before the first damage are recovered. The exit code is 0 if the file is
    intact, and 1 if it is not.
    """
    from bestk.storage.names import is_reserved

    with examine(file) as found:
        studies = [_studied(found, each) for each in found.studies if not is_reserved(each.name)]
        others = [each for each in found.studies if is_reserved(each.name)]
        damaged = [f"{each.name}: {each.loss}" for each in others if each.loss]
        is_healthy = found.state == "healthy" and all(each["folds"] for each in studies)
        if recover is not None:
            if not any(each["whole"] for each in studies):
                raise InputError(f"{file} was refused: there is nothing to recover in it")
            found.recover(recover)
        data = {
            "file": str(file),
            "state": "damaged" if found.state == "healthy" and not is_healthy else found.state,
            "format": found.version,
            "findings": found.findings + damaged,
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


def examine(file: str) -> Examination | DatabaseExamination:
    """What can be read at an address."""
    if file_at(file) is None:
        from bestk.storage.postgres_doctor import DatabaseExamination

        return DatabaseExamination(file)
    from bestk.storage.doctor import Examination

    return Examination(file)


def _studied(found: Examination | DatabaseExamination, each: Found) -> dict[str, Any]:
    """What is readable of a study, and whether it can be gone on with."""
    data = {name: getattr(each, name) for name in ("name", "readable", "whole", "loss", "note")}
    data |= {"folds": False, "samples": None, "certified": None, "problem": None}
    if each.whole:
        from bestk.study import Study

        try:
            result = Study(each.name, storage=found).result
        except Exception as error:  # whatever a log that is not what was written leads to
            data["problem"] = f"{type(error).__name__}: {error}"
        else:
            data |= {"folds": True, "samples": result.samples, "certified": result.certified}
    return data


def _show(data: dict[str, Any]) -> None:
    from rich.text import Text

    from bestk.report.terminal.tables import columns

    show(f"{data['file']}: {STATES.get(data['state'], data['state'])}")
    for finding in data["findings"] + data["notes"]:
        show(f"- {finding}")
    if data["studies"]:
        names = ("study", "events readable", "before the first damage", "these make")
        table = columns(*names, fold=names)
        for each in data["studies"]:
            makes = each["problem"] or "nothing"
            if each["folds"]:
                proof = "certified" if each["certified"] else "not certified"
                makes = f"a study with {each['samples']:,} samples, {proof}"
            cells = each["name"], f"{each['readable']:,}", f"{each['whole']:,}", makes
            table.add_row(*(Text(printable(cell)) for cell in cells))
        show(table)
    for each in data["studies"]:
        for said in filter(None, (each["loss"], each["note"])):
            show(f"{each['name']}: {said}")
    if data["recovered"]:
        show(f"All events before the first damage are in {data['recovered']}.")
    elif data["state"] == "damaged" and any(each["whole"] for each in data["studies"]):
        again = f"bestk doctor {shlex.quote(data['file'])} --recover OUT"
        show(f"`{again}` writes what counts to a new file.")
