"""What can still be read of a file, damaged or not; the file itself is never changed.

Only events before the first damage to their study are recovered: later ones may depend on what is
missing.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import NoReturn

from bestk.errors import StorageError
from bestk.output import check_new
from bestk.storage import files, schema, wal
from bestk.storage.events import Event, Storage
from bestk.storage.sqlite import PATIENCE, SQLiteStorage
from bestk.storage.survey import Found, survey

BATCH = 10_000  # events copied at a time


class Examination(ExitStack):
    """A file as far as it can be read; a `Storage` of each study's events before its first damage.

    `state` is one of healthy, damaged, newer (of a later bestk), other (a database, not ours), text
    (no database at all) and empty; `findings` say what is wrong, `notes` what else was seen. Close
    it after use.
    """

    def __init__(self, path: str | os.PathLike[str], patience: float = PATIENCE) -> None:
        super().__init__()
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        self.studies: tuple[Found, ...] = ()
        file = files.whereabouts(self.path)
        try:
            look = files.look(file, patience)
        except sqlite3.Error as error:
            raise StorageError(f"{self.path} was refused: {error}; try again") from error
        if look.name in ("missing", "folder", "unreadable"):
            raise StorageError(f"{self.path} was refused: {look.why}")
        self.state, self.version = look.name, look.version
        self.findings = [look.why] if look.why else []
        self.notes = _notes(files.beside(file, "-wal"))
        try:
            if look.name == "healthy":
                self._examine(file, patience)
            elif look.name == "damaged":
                self._mend(file)
        except BaseException:
            self.close()
            raise

    def _examine(self, file: Path, patience: float) -> None:
        """Read the file where it is."""
        try:
            connection = self.enter_context(closing(files.open_to_read(file, patience)))
            self.studies = survey(connection)
            self._connection = connection
            for (complaint,) in connection.execute("PRAGMA quick_check(5)"):
                if complaint != "ok":
                    self.findings.append("SQLite finds: " + complaint.replace("\n", "; "))
        except sqlite3.Error as error:
            self.findings.append(f"SQLite refuses to read it: {error}")
            if not self.studies:
                self._mend(file)
        if self.findings or any(found.loss or found.note for found in self.studies):
            self.state = "damaged"

    def _mend(self, file: Path) -> None:
        """Read a copy: as SQLite sees it, or mended if that adds to it."""
        for prepare in (None, _put_in_order):
            connection = self.enter_context(closing(files.open_copy(file, 0.0, prepare)))
            try:
                studies = survey(connection)
            except sqlite3.Error:
                continue
            if self._adds(connection, studies):
                self._connection, self.studies = connection, studies
        if not self.studies:
            self.findings.append("no event can be read")

    def _adds(self, connection: sqlite3.Connection, studies: Sequence[Found]) -> bool:
        """Whether another view has all events that this one has, and more."""
        others = {other.number: other for other in studies}
        for found in self.studies:
            other = others.get(found.number)
            if other is None or other.whole < found.whole:
                return False
            pairs = zip(self.read(found.name), _events(connection, other, 0), strict=False)
            if any(one != two for one, two in pairs):
                return False
        whole = sum(found.whole for found in self.studies)
        return not self.studies or sum(found.whole for found in studies) > whole

    # --- the storage ------------------------------------------------------------------------------

    def append(self, study: str, events: Sequence[Event]) -> NoReturn:
        """Nothing is ever added."""
        raise StorageError(
            f"{len(events)} events of {study} were refused: {self.path} is only read"
        )

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, up to its first damage."""
        for found in self.studies:
            if found.name == study and self._connection is not None:
                yield from _events(self._connection, found, start)

    def recover(self, out: str | os.PathLike[str]) -> None:
        """Write all that counts to a new file."""
        recover(self, self.studies, out)


def recover(source: Storage, studies: Sequence[Found], out: str | os.PathLike[str]) -> None:
    """Write all that counts to a new file."""
    target = Path(out)
    check_new(target)
    try:
        with closing(SQLiteStorage(target)) as storage:
            for found in studies:
                events = source.read(found.name)
                while batch := list(islice(events, BATCH)):
                    storage.append(found.name, batch)
    except BaseException:
        files.discard(target)
        raise


def _events(connection: sqlite3.Connection, found: Found, start: int) -> Iterator[Event]:
    if found.whole <= start:
        return iter(())  # its table need not even have the columns
    query = schema.WINDOW.format(found.number)
    return map(Event._make, connection.execute(query, (start, found.whole - start)))


def _notes(beside: Path) -> list[str]:
    """What is no damage, but may have cost the last events."""
    found = wal.rest(beside)
    if found is None:
        return []
    note = (
        f"{beside.name} is there: a process has the file open, or did not live to close it; if the"
        " end of that file was lost, so were the last events"
    )
    return [note, found] if found else [note]


def _put_in_order(path: Path) -> None:
    """Make a copy as readable as it can be made: write-ahead file, first bytes, length."""
    beside = files.beside(path, "-wal")
    found, pages = wal.read(beside), 0
    fresh = path.with_name("fresh.db")
    files.make(fresh, fresh)
    with path.open("r+b") as file:
        if found is not None and found.committed:  # move every sound page
            for frame in found.frames[: found.committed]:
                if not frame.is_damaged:
                    file.seek((frame.page - 1) * wal.PAGE)
                    file.write(frame.content)
            pages = found.frames[found.committed - 1].size
            file.truncate(pages * wal.PAGE)
        file.seek(0)
        header = bytearray(file.read(files.HEADER))
        if not header.startswith(files.MAGIC) or len(header) < files.HEADER:
            header = bytearray(fresh.read_bytes()[: files.HEADER])
        size = pages or file.seek(0, os.SEEK_END) // wal.PAGE
        header[28:32] = struct.pack(">I", size)
        header[92:96] = header[24:28]  # the length just written counts
        file.seek(0)
        file.write(header)
    beside.unlink(missing_ok=True)
