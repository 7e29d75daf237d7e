"""A log in an SQLite file, in WAL mode: it survives the death of the process after every append.

A commit hands its pages to the operating system, which writes them whatever becomes of the process.
With `durability="full"` SQLite also waits for the disk (fsync), so that an append survives a power
cut. Several processes may append to one file at once: SQLite puts them in order.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from bestk.errors import StorageError
from bestk.storage.events import Event

APPLICATION = 0x62657374  # "best", in the header of every file of ours
VERSION = 1  # of the schema; a newer file is refused
PATIENCE = 30.0  # seconds to wait for another process's commit
CHUNK = 50_000  # rows fetched at a time

# A table for each study, so that its only key is the order of its events.
STUDIES = "CREATE TABLE studies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
LOG = (
    "CREATE TABLE log_{0} (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL,"
    " arm INTEGER NOT NULL, reward REAL NOT NULL, data TEXT NOT NULL, at REAL NOT NULL)"
)
INSERT = "INSERT INTO log_{0} (kind, key, arm, reward, data, at) VALUES (?, ?, ?, ?, ?, ?)"
SELECT = "SELECT kind, key, arm, reward, data, at FROM log_{0} WHERE seq > ? ORDER BY seq"


class SQLiteStorage:
    """Logs of any number of studies in one file."""

    def __init__(self, path: str | os.PathLike[str], durability: str = "process") -> None:
        if durability not in ("process", "full"):
            raise StorageError(
                f"durability '{durability}' was refused: it is 'process' (survives the death of the"
                " process) or 'full' (survives a power cut too)"
            )
        self.path = Path(path)
        self.durability = durability
        self._local = threading.local()
        self._numbers: dict[str, int] = {}  # of the studies' tables
        self._connect()

    def _connect(self) -> sqlite3.Connection:
        """This thread's connection; a forked child opens its own."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None and self._local.process == os.getpid():
            return connection
        try:
            connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, cached_statements=16
            )
            self._prepare(connection)
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error
        self._local.connection, self._local.process = connection, os.getpid()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        header = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and header != APPLICATION:
            raise StorageError(f"{self.path} was refused: it is a database, but no study of bestk")
        if version > VERSION:
            raise StorageError(
                f"{self.path} was refused: it was written by a newer bestk (format {version}, this"
                f" one reads {VERSION}); nothing was changed"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        level = "FULL" if self.durability == "full" else "NORMAL"
        connection.execute(f"PRAGMA synchronous = {level}")
        if not tables:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    connection.execute(STUDIES)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("COMMIT")
            except sqlite3.Error:
                connection.execute("ROLLBACK")
                raise

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return."""
        connection = self._connect()
        try:
            number = self._numbers.get(study)
            if len(events) == 1 and number is not None:
                connection.execute(INSERT.format(number), events[0])  # commits by itself
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                if number is None:
                    number = self._number(connection, study, create=True)
                connection.executemany(INSERT.format(number), events)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, in log order."""
        connection = self._connect()
        try:
            number = self._number(connection, study, create=False)
            if number is None:
                return
            rows = connection.execute(SELECT.format(number), (start,))  # seq counts from 1
            while chunk := rows.fetchmany(CHUNK):
                yield from map(Event._make, chunk)
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error

    def _number(self, connection: sqlite3.Connection, study: str, create: bool) -> int | None:
        """The number of a study's table; None if there is none."""
        if study in self._numbers:
            return self._numbers[study]
        row = connection.execute("SELECT id FROM studies WHERE name = ?", (study,)).fetchone()
        if row is None and create:
            connection.execute("INSERT INTO studies (name) VALUES (?)", (study,))
            made = int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])
            connection.execute(LOG.format(made))
            return made  # not remembered before it is committed
        if row is not None:
            self._numbers[study] = int(row[0])
        return None if row is None else int(row[0])

    def studies(self) -> list[str]:
        """The names of all studies in the file, oldest first."""
        try:
            rows = self._connect().execute("SELECT name FROM studies ORDER BY id")
            return [row[0] for row in rows]
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error


def _explain(path: Path, error: sqlite3.Error) -> StorageError:
    """What went wrong, in words a person can act on."""
    text = str(error)
    if "locked" in text or "busy" in text:
        why = f"another process has kept it locked for {PATIENCE:.0f} seconds; try again"
    elif "readonly" in text or "read-only" in text:
        why = "the file or its folder is read-only; give write permission or copy it elsewhere"
    elif "full" in text:
        why = "the disk is full; free some space and run the same command again"
    elif "malformed" in text or "not a database" in text or "corrupt" in text:
        why = f"it is damaged; `bestk doctor {path}` says what can be recovered"
    elif "unable to open" in text:
        why = "it cannot be opened; is the folder there, and yours to write?"
    else:
        why = text
    return StorageError(f"{path} was refused: {why} ({text}); nothing told before is lost")
