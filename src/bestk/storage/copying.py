"""Copies of whole storages, from any address to any other: backups, and what they are for."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path

from bestk.errors import InputError, StorageError
from bestk.output import check_new, draft_of
from bestk.storage import files
from bestk.storage.addresses import Address, KeptStorage, file_at, open_storage
from bestk.storage.backup import backup
from bestk.storage.events import ExclusiveStorage

BATCH = 10_000  # events copied at a time


def copy(address: Address, to: Address) -> int:
    """Copy all logs to a new file, or a database that has none of their names; how many events.

    Others may write meanwhile: of each study what was there at one moment is copied. What is there
    already is never changed, and a copy that fails leaves nothing behind.
    """
    source, target = file_at(address), file_at(to)
    if source is not None and target is not None:
        return backup(source, target)
    if source is not None and not source.exists():
        raise InputError(f"{source} was refused: there is no such file")
    if target is not None:
        check_new(target)
    with closing(open_storage(address, read_only=True)) as opened:
        if target is not None:
            return _copy_to_file(opened, target)
        with closing(open_storage(to)) as copied:
            return _copy(opened, copied)


def _copy_to_file(source: KeptStorage, target: Path) -> int:
    """Copy to a new file, which has its name once it is whole and on the disk."""
    files.is_free(files.whereabouts(target), target)  # refuses what a lost file has left
    draft = draft_of(target)
    try:
        with closing(open_storage(draft)) as copied:
            events = _copy(source, copied)
        with draft.open("r+b") as written:
            os.fsync(written.fileno())
        if not files.place(draft, target):
            raise InputError(f"{target} was refused: another process made it at this moment")
    except OSError as error:
        raise StorageError(f"{source.path} was not copied to {target}: {error.strerror}") from error
    finally:
        files.discard(draft)
    return events


def _copy(source: KeptStorage, target: KeptStorage) -> int:
    counts: dict[str, int] = {}
    if not source.studies():
        raise InputError(f"{source.path} was refused: there is no study in it yet")
    alone = target.alone() if isinstance(target, ExclusiveStorage) else nullcontext()
    with alone:
        there = set(target.studies())
        for name in source.studies():
            if name in there:
                raise InputError(f"{target.path} was refused: there is a study {name!r} already")
            events, counts[name] = source.read(name), 0
            while batch := list(islice(events, BATCH)):
                target.append(name, batch)
                counts[name] += len(batch)
    for name, count in counts.items():  # reading compares the checksums
        if sum(1 for _ in target.read(name)) != count:
            raise StorageError(f"{source.path} was not copied: the copy of {name} is not whole")
    return sum(counts.values())
