"""What can still be read of a file, damaged or not; the file itself is never changed.

Events count up to the first loss of their study, for those after it may depend on what is missing.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import NoReturn

from bestk.errors import InputError, StorageError
from bestk.storage import events as ev
from bestk.storage import files, wal
from bestk.storage.events import Event
from bestk.storage.sqlite import KINDS, PATIENCE, SELECT, SEQ, Row, SQLiteStorage

REACH = 10_000_000  # events that damage may hide at once
BATCH = 10_000  # events copied at a time
ANSWERS = (
    ev.TOLD,
    ev.FORGOTTEN,
    ev.EXPIRED,
    ev.FAILED,
    ev.REISSUED,
)  # to a pull that was asked for
TYPES = (int, str, int, float, str, float, int)  # of the columns


@dataclass(frozen=True)
class Found:
    """What can be read of one study."""

    name: str
    number: int  # of its table
    readable: int  # events
    whole: int  # events before the first loss
    loss: str | None  # what is wrong there


class Examination:
    """A file as far as it can be read; a `Storage` of the events before every study's first loss.

    `state` is one of healthy, damaged, newer (of a later bestk), other (a database, not ours), text
    (no database at all) and empty; `findings` say what was seen. Close it after use.
    """

    def __init__(self, path: str | os.PathLike[str], patience: float = PATIENCE) -> None:
        self.path = Path(path)
        self._resources = ExitStack()
        self._connection: sqlite3.Connection | None = None
        self.studies: tuple[Found, ...] = ()
        file = files.whereabouts(self.path)
        look = self._look(file, patience)
        if look.name in ("missing", "folder", "unreadable"):
            raise StorageError(f"{self.path} was refused: {look.why}")
        self.state, self.version = look.name, look.version
        self.findings = [look.why] if look.why else []
        try:
            if look.name == "healthy":
                self._examine(file, patience)
            elif look.name == "damaged":
                self._mend(file)
        except BaseException:
            self.close()
            raise

    def _look(self, file: Path, patience: float) -> files.State:
        try:
            return files.look(file, patience)
        except sqlite3.Error as error:
            raise StorageError(f"{self.path} was refused: {error}; try again") from error

    def close(self) -> None:
        """Close the file, and remove what had to be copied."""
        self._resources.close()

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _examine(self, file: Path, patience: float) -> None:
        """Read the file where it is."""
        try:
            connection, folder = files.open_to_read(file, patience)
            self._keep(connection, folder)
            self.studies = _survey(connection)
            self._connection = connection
            for (complaint,) in connection.execute("PRAGMA quick_check(5)"):
                if complaint != "ok":
                    self.findings.append("SQLite finds: " + complaint.replace("\n", "; "))
        except sqlite3.Error as error:
            self.findings.append(f"SQLite refuses to read it: {error}")
            if not self.studies:
                self._mend(file)
        if self.findings or any(found.loss for found in self.studies):
            self.state = "damaged"

    def _mend(self, file: Path) -> None:
        """Read a copy: as SQLite sees it, or mended if that adds to it."""
        for is_mended in (False, True):
            copied = files.copy(file)
            self._resources.callback(files.remove, copied.parent)
            if is_mended:
                _put_in_order(copied)
            try:
                connection = files.connect(copied, "mode=rw", 0.0)
                self._keep(connection, None)
                studies = _survey(connection)
            except sqlite3.Error:
                continue
            if self._adds(connection, studies):
                self._connection, self.studies = connection, studies
        if not self.studies:
            self.findings.append("no event can be read")

    def _adds(self, connection: sqlite3.Connection, studies: Sequence[Found]) -> bool:
        """Whether another view has all events that this one has, and more."""
        for found in self.studies:
            others = (other for other in studies if other.number == found.number)
            other = next(others, None)
            if other is None or other.whole < found.whole:
                return False
            pairs = zip(self.read(found.name), _events(connection, other, 0), strict=False)
            if any(one != two for one, two in pairs):
                return False
        whole = sum(found.whole for found in self.studies)
        return not self.studies or sum(found.whole for found in studies) > whole

    def _keep(self, connection: sqlite3.Connection, folder: Path | None) -> None:
        self._resources.callback(files.remove, folder)
        self._resources.enter_context(closing(connection))

    # --- the storage ------------------------------------------------------------------------------

    def append(self, study: str, events: Sequence[Event]) -> NoReturn:
        """Nothing is ever added."""
        raise StorageError(
            f"{len(events)} events of {study} were refused: {self.path} is only read"
        )

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, up to its first loss."""
        for found in self.studies:
            if found.name == study and self._connection is not None:
                yield from _events(self._connection, found, start)

    def recover(self, out: str | os.PathLike[str]) -> None:
        """Write all that counts to a new file."""
        target = Path(out)
        if target.exists() or target.is_symlink():
            raise InputError(f"{out} was refused: it is there already, and would be overwritten")
        try:
            storage = SQLiteStorage(target)
            for found in self.studies:
                batch: list[Event] = []
                for event in self.read(found.name):
                    batch.append(event)
                    if len(batch) == BATCH:
                        storage.append(found.name, batch)
                        batch = []
                if batch:
                    storage.append(found.name, batch)
            storage.close()
        except BaseException:
            for name in (target, *(files.beside(target, side) for side in ("-wal", "-shm"))):
                name.unlink(missing_ok=True)
            raise


def _events(connection: sqlite3.Connection, found: Found, start: int) -> Iterator[Event]:
    query = SELECT.format(found.number)
    for row in connection.execute(query, (start, max(0, found.whole - start))):
        yield Event._make(row[:SEQ])


def _survey(connection: sqlite3.Connection) -> tuple[Found, ...]:
    """Every study, by its table."""
    query = "SELECT CAST(substr(name, 5) AS INTEGER) FROM sqlite_master WHERE name LIKE 'log\\_%'"
    numbers = {row[0] for row in connection.execute(query + " ESCAPE '\\'")}
    names: dict[int, str] = {}
    for number in sorted(numbers):
        try:
            row = connection.execute("SELECT name FROM studies WHERE id = ?", (number,)).fetchone()
        except sqlite3.Error:
            row = None
        names[number] = row[0] if row else f"study-{number}"  # its name is lost
    return tuple(_scan(connection, number, name) for number, name in names.items())


def _scan(connection: sqlite3.Connection, number: int, name: str) -> Found:
    readable, whole, loss = 0, 0, None
    asked: set[str] = set()
    for row in _rows(connection, number):
        if isinstance(row, str):
            loss = loss or f"event {whole + 1}: {row}"
            continue
        readable += 1
        if loss is None:
            objection = _objection(row, whole + 1, asked)
            if objection is None:
                whole += 1
            else:
                loss = f"event {whole + 1}: {objection}"
    if not readable and loss is None:
        loss = "no event is there"
    return Found(name, number, readable, whole, loss)


def _rows(connection: sqlite3.Connection, number: int) -> Iterator[Row | str]:
    """Every row that can be read, in order, and a complaint in place of those that cannot."""
    query = SELECT.format(number)
    done: int | None = 0
    while done is not None:
        try:
            for row in connection.execute(query, (done, -1)):
                if row[SEQ] <= done:
                    raise sqlite3.DatabaseError("rows are out of order")
                done = row[SEQ]
                yield row
            return
        except sqlite3.Error as error:
            yield str(error)
        done = _behind(connection, query, done)


def _behind(connection: sqlite3.Connection, query: str, done: int) -> int | None:
    """The number before the next row that can be read; None if there is none.

    A damaged page hides the rows from `done` on: the first that is not hidden is found by doubling
    the distance, then halving.
    """

    def hides(number: int) -> bool:
        try:
            connection.execute(query, (number, 1)).fetchone()
        except sqlite3.Error:
            return True
        return False

    hidden, ahead = done, done + 1
    while hides(ahead):
        if ahead > done + REACH:
            return None
        hidden, ahead = ahead, 2 * ahead - done
    while ahead - hidden > 1:
        middle = (hidden + ahead) // 2
        hidden, ahead = (middle, ahead) if hides(middle) else (hidden, middle)
    row = connection.execute(query, (ahead, 1)).fetchone()
    return None if row is None else int(row[SEQ]) - 1


def _objection(row: Row, number: int, asked: set[str]) -> str | None:
    """Why a row cannot be what was written as the event of that number."""
    kind, key, _, reward, _, _, seq = row
    if seq != number:
        return "it is missing"
    if tuple(map(type, row)) != TYPES or not isfinite(reward):
        return "it is not what was written"
    if kind not in KINDS:
        return f"there is no kind {kind}"
    if number == 1 and kind != ev.CREATED:
        return "the log does not begin with the study's specification"
    if kind == ev.ASKED:
        asked.add(key)
    elif kind in ANSWERS and key not in asked:
        return f"it answers a pull that nobody asked for ({key})"
    return None


def _put_in_order(path: Path) -> None:
    """Make a copy as readable as it can be made: write-ahead file, first bytes, length."""
    pages = _moved(path)
    files.beside(path, "-wal").unlink(missing_ok=True)
    fresh = path.with_name("fresh.db")
    files.make(fresh, fresh)
    with path.open("r+b") as file:
        header = bytearray(file.read(files.HEADER))
        if not header.startswith(files.MAGIC) or len(header) < files.HEADER:
            header = bytearray(fresh.read_bytes()[: files.HEADER])
        size = file.seek(0, os.SEEK_END) // files.PAGE
        header[28:32] = struct.pack(">I", pages or size)
        header[92:96] = header[24:28]  # the length just written counts
        file.seek(0)
        file.write(header)


def _moved(path: Path) -> int | None:
    """Move every sound page of the write-ahead file; the size of the database in pages."""
    found = wal.read(files.beside(path, "-wal"))
    if found is None or not found.committed:
        return None
    with path.open("r+b") as file:
        for frame in found.frames[: found.committed]:
            if not frame.is_damaged:
                file.seek((frame.page - 1) * files.PAGE)
                file.write(frame.content)
        pages = found.frames[found.committed - 1].size
        file.truncate(pages * files.PAGE)
    return pages
