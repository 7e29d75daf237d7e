"""A copy of a study's file that is whole, made while others may be writing to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from bestk.addresses import recoverable
from bestk.errors import InputError, StorageError
from bestk.output import check_new, draft_of
from bestk.storage import files
from bestk.storage.doctor import Examination
from bestk.storage.sqlite import PATIENCE


def backup(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> int:
    """Copy a file as it is at this moment, and check the copy; how many events are in it.

    SQLite makes the copy, so that writers are neither disturbed nor cut in half. What is there
    already is never overwritten.
    """
    source, target = Path(path), Path(to)
    file = files.whereabouts(source)
    check_new(target)
    files.is_free(files.whereabouts(target), target)  # refuses what a lost file has left
    try:
        files.check(file, source, PATIENCE)
    except sqlite3.Error as error:
        raise StorageError(f"{source} was refused: {error}; try again") from error
    draft = draft_of(target)
    try:
        with (
            closing(files.open_to_read(file, PATIENCE)) as connection,
            closing(sqlite3.connect(draft)) as copied,
        ):
            connection.backup(copied)
        with draft.open("r+b") as written:
            os.fsync(written.fileno())
        with Examination(draft) as found:
            if found.state != "healthy":
                raise StorageError(f"{source} was not copied: it is damaged; {recoverable(source)}")
            events = sum(study.whole for study in found.studies)
        if not files.place(draft, target):
            raise InputError(f"{to} was refused: another process has just created it")
    except sqlite3.Error as error:
        why, _ = files.explain(error, PATIENCE)
        raise StorageError(f"{source} was not copied: {why} ({error}); no copy is left") from error
    except OSError as error:
        raise StorageError(f"{source} was not copied to {to}: {error.strerror}") from error
    finally:
        files.discard(draft)
    return events
