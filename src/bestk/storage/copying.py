"""Copies of whole storages, from any address to any other: backups, and what they are for."""

from __future__ import annotations

from contextlib import ExitStack, closing, nullcontext
from itertools import islice

from bestk.errors import InputError, StorageError
from bestk.output import check_new
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
    with ExitStack() as stack:
        opened = stack.enter_context(closing(open_storage(address, read_only=True)))
        copied = stack.enter_context(closing(open_storage(to)))
        try:
            return _copy(opened, copied)
        except BaseException:
            if target is not None:
                copied.close()
                files.discard(target)
            raise


def _copy(source: KeptStorage, target: KeptStorage) -> int:
    counts: dict[str, int] = {}
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
