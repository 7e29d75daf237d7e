"""Opening a study that is there already, for everything that only looks at one."""

from __future__ import annotations

import os
from pathlib import Path

from bestk.errors import InputError, UnknownName
from bestk.storage import SQLiteStorage
from bestk.study.study import Study


def open_study(path: str | os.PathLike[str], name: str | None = None) -> Study:
    """The study of that name in a file; the name may be left out where the file holds only one."""
    if not Path(path).is_file():
        raise InputError(f"{path} was refused: there is no such file")
    storage = SQLiteStorage(path)
    names = storage.studies()
    if not names:
        raise InputError(f"{path} was refused: there is no study in it yet")
    if name is None:
        if len(names) > 1:
            raise InputError(f"which study of {path}? Name one of {', '.join(names)}")
        name = names[0]
    if name not in names:
        raise UnknownName("study", name, names)
    return Study(name, storage=storage)
