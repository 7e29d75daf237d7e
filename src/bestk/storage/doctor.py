"""What can still be read of a file, damaged or not; the file itself is never changed.

Only events before the first damage to their study are recovered: later ones may depend on what is
missing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NoReturn

from bestk.errors import StorageError
from bestk.output import check_new
from bestk.storage import files, schema, wal
from bestk.storage.events import Event
from bestk.storage.mend import put_in_order
from bestk.storage.sqlite import PATIENCE, SQLiteStorage
from bestk.storage.survey import Found, survey

BATCH = 10_000  # events copied at a time


class Examination:
    """A file as far as it can be read; a `Storage` of each study's events before its first damage.

    `state` is one of healthy, damaged, newer (of a later bestk), other (a database, not ours), text
    (no database at all) and empty; `findings` say what is wrong, `notes` what else was seen. Close
    it after use.
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
        self.notes = _notes(file)
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
        for is_mended in (False, True):
            copied = files.copy(file)
            self._resources.callback(files.remove, copied.parent)
            if is_mended:
                put_in_order(copied)
            try:
                connection = files.connect(copied, "mode=rw", 0.0)
                self._keep(connection, None)
                studies = survey(connection)
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
        """The events of a study from number `start` on, up to its first damage."""
        for found in self.studies:
            if found.name == study and self._connection is not None:
                yield from _events(self._connection, found, start)

    def recover(self, out: str | os.PathLike[str]) -> None:
        """Write all that counts to a new file."""
        target = Path(out)
        check_new(target)
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
            files.discard(target)
            raise


def _events(connection: sqlite3.Connection, found: Found, start: int) -> Iterator[Event]:
    if found.whole <= start:
        return iter(())  # its table need not even have the columns
    query = schema.WINDOW.format(found.number)
    return map(Event._make, connection.execute(query, (start, found.whole - start)))


def _notes(file: Path) -> list[str]:
    """What is no damage, but may have cost the last events."""
    beside = files.beside(file, "-wal")
    found = wal.rest(beside)
    if found is None:
        return []
    note = (
        f"{beside.name} is there: a process has the file open, or did not live to close it; if the"
        " end of that file was lost, so were the last events"
    )
    return [note, found] if found else [note]
