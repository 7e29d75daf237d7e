"""`bestk list`: the studies in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli.console import show, show_json
from bestk.cli.status import File
from bestk.errors import BestkError

if TYPE_CHECKING:
    from bestk.report.terminal.study import Listed
    from bestk.storage import SQLiteStorage


def list_(
    file: File,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List the studies in a file: arms, samples, state, last activity."""
    from bestk.study.reading import open_storage

    storage = open_storage(file)
    found = [_listed(storage, name) for name in storage.studies()]
    if json:
        from bestk.cli.export import iso

        show_json([{**each._asdict(), "last_activity": iso(each.last_activity)} for each in found])
        return
    from bestk.report.terminal.study import listing

    show(listing(found))


def _listed(storage: SQLiteStorage, name: str) -> Listed:
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
