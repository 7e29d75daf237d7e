"""A log in an SQLite file, in WAL mode: it survives the death of the process after every append.

A commit hands its pages to the operating system, which writes them whatever becomes of the process.
With `durability="full"` SQLite also waits for the disk (fsync), so that an append survives a power
cut. Several processes may append to one file at once: SQLite puts them in order.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

from bestk.errors import StorageError
from bestk.storage import events as ev
from bestk.storage import files
from bestk.storage.events import Event

PATIENCE = 30.0  # seconds to wait for another process's commit
FEW, MANY = 256, 2000  # rows fetched first, and then at a time
CHECKPOINT = 4000  # pages in the write-ahead file before they are moved: each time costs two fsyncs
KINDS = frozenset(range(ev.CREATED, ev.REISSUED + 1))
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # no table: the last

# A table for each study, so that its only key is the order of its events, 1 to n without a gap.
LOG = (
    "CREATE TABLE log_{0} (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL,"
    " arm INTEGER NOT NULL, reward REAL NOT NULL, data TEXT NOT NULL, at REAL NOT NULL)"
)
INSERT = "INSERT INTO log_{0} (kind, key, arm, reward, data, at) VALUES (?, ?, ?, ?, ?, ?)"
COLUMNS = "SELECT kind, key, arm, reward, data, at"
SELECT = COLUMNS + ", seq FROM log_{0} WHERE seq > ? ORDER BY seq LIMIT ?"
WINDOW = COLUMNS + " FROM log_{0} WHERE seq > ?1 AND seq <= ?1 + ?2 ORDER BY seq"
LAST = "SELECT at, seq FROM log_{0} ORDER BY seq DESC LIMIT 1"
SEQ = 6  # column of SELECT
Row = tuple[Any, ...]

_kind, _key, _reward = itemgetter(0), itemgetter(1), itemgetter(3)
_event = cast("Callable[[Row], Event]", partial(tuple.__new__, Event))  # faster than Event._make


class Statements(NamedTuple):
    """Of one study's table."""

    insert: str
    select: str
    window: str
    last: str


class SQLiteStorage:
    """Logs of any number of studies in one file.

    With `read_only` the file must be there, and nothing about it is changed; it may then be in a
    folder that cannot be written to. `patience` is how long to wait for a lock, in seconds.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        durability: str = "process",
        *,
        read_only: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        if durability not in ("process", "full"):
            raise StorageError(
                f"durability '{durability}' was refused: it is 'process' (survives the death of the"
                " process) or 'full' (survives a power cut too)"
            )
        self.path = Path(path)
        self.durability, self.read_only, self.patience = durability, read_only, patience
        self._file = files.whereabouts(self.path)
        self._lock = threading.RLock()  # one connection, used by one thread at a time
        self._statements: dict[str, Statements] = {}
        self._connection: sqlite3.Connection | None = None
        self._is_new = not read_only and files.is_free(self._file, self.path)
        if not self._is_new:
            try:
                self._connect()
            except sqlite3.Error as error:
                raise self._explain(error) from error
        with _registry:
            _storages.add(self)

    # --- connecting -------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if self._is_new:
            files.make(self._file, self.path)
            self._is_new = False
        files.check(self._file, self.path, self.patience)
        if not self.read_only and not files.is_writable(self._file):
            raise StorageError(
                f"{self.path} was refused: the file or its folder is read-only; give write"
                " permission, or copy it elsewhere; nothing was changed"
            )
        folder = None
        if self.read_only:
            connection, folder = files.open_to_read(self._file, self.patience)
        else:
            connection = files.connect(self._file, "mode=rw", self.patience)
        self._connection = connection
        self._close = weakref.finalize(self, _close, connection, self._lock, folder)
        try:
            self._prepare(connection)
        except BaseException:
            self.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM studies").fetchone()
        if self.read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
            level = "FULL" if self.durability == "full" else "NORMAL"
            connection.execute(f"PRAGMA synchronous = {level}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")

    def _reading(self) -> sqlite3.Connection | None:
        """A connection; None while the file is yet to be made, which the first append does."""
        if self._is_new and not self._file.exists():
            return None
        return self._connection or self._connect()

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        with self._lock:
            if self._connection is not None:
                self._connection = None
                self._close()

    # --- the log ----------------------------------------------------------------------------------

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return."""
        if self.read_only:
            raise StorageError(f"{self.path} was opened to be read: nothing can be added to it")
        with self._lock:
            try:
                connection = self._connection or self._connect()
                statements = self._statements.get(study)
                if len(events) == 1 and statements is not None and not connection.in_transaction:
                    connection.execute(statements.insert, tuple(events[0]))  # commits by itself
                else:
                    self._append_many(connection, study, events)
            except sqlite3.Error as error:
                raise self._explain(error) from error
            except UnicodeEncodeError as error:
                raise StorageError(
                    f"{error.object!r} was refused: a file cannot hold it"
                ) from error

    def _append_many(
        self, connection: sqlite3.Connection, study: str, events: Sequence[Event]
    ) -> None:
        if connection.in_transaction:  # left by an interrupt
            connection.execute("ROLLBACK")
        try:
            connection.execute("BEGIN IMMEDIATE")
            statements = self._find(connection, study)
            if statements is None:
                made = connection.execute("INSERT INTO studies (name) VALUES (?)", (study,))
                connection.execute(LOG.format(made.lastrowid))
                statements = _statements(made.lastrowid or 0)  # looked up again once committed
            connection.executemany(statements.insert, map(tuple, events))  # plain: bound faster
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite may have done it
                connection.execute("ROLLBACK")
            raise

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, in log order."""
        rows = self._fetch(study, start, FEW)
        if len(rows) == 1:
            return iter((_event(rows[0][:SEQ]),))
        events = (_event(row[:SEQ]) for row in rows)
        if len(rows) < FEW:
            return events
        return chain(events, chain.from_iterable(self._chunks(study, start + FEW)))

    def _chunks(self, study: str, start: int) -> Iterator[Iterator[Event]]:
        while len(rows := self._fetch(study, start, MANY, whole=True)) == MANY:  # without a gap
            yield map(_event, rows)
            start += MANY
        while rows := self._fetch(study, start, MANY):
            yield (_event(row[:SEQ]) for row in rows)
            start += len(rows)

    def _fetch(self, study: str, start: int, most: int, whole: bool = False) -> list[Row]:
        """The next rows: up to so many, or those of the next so many numbers."""
        with self._lock:
            try:
                connection = self._connection or self._reading()
                statements = self._statements.get(study) or self._find(connection, study)
                if connection is None or statements is None:
                    return []
                query = statements.window if whole else statements.select
                rows: list[Row] = connection.execute(query, (start, most)).fetchall()
            except sqlite3.Error as error:
                raise self._explain(error) from error
        if rows and not whole and rows[-1][SEQ] != start + len(rows):
            raise self._damaged("some are missing", start, rows[-1][SEQ])
        if len(rows) > 1:  # a single one was written just now
            self._check(rows, start)
        return rows

    def _check(self, rows: list[Row], start: int) -> None:
        """Notice damage that SQLite does not."""
        last = start + len(rows)
        try:
            "".join(map(_key, rows))
            if not KINDS.issuperset(map(_kind, rows)):
                raise self._damaged("one is of no known kind", start, last)
            if not isfinite(sum(map(_reward, rows))):
                raise self._damaged("one has no number for a reward", start, last)
        except TypeError as error:
            raise self._damaged("one is not what was written", start, last) from error

    def _damaged(self, what: str, start: int, last: int) -> StorageError:
        self.close()
        return StorageError(
            f"{self.path} was refused: of the events {start + 1} to {last} {what};"
            f" `bestk doctor {self.path}` says what can be recovered"
        )

    def _find(self, connection: sqlite3.Connection | None, study: str) -> Statements | None:
        """The statements for a study; None if the file has no such study."""
        if connection is None:
            return None
        row = connection.execute("SELECT id FROM studies WHERE name = ?", (study,)).fetchone()
        if row is None:
            return None
        self._statements[study] = _statements(row[0])
        return self._statements[study]

    def studies(self) -> list[str]:
        """The names of all studies in the file, oldest first."""
        with self._lock:
            try:
                connection = self._reading()
                if connection is None:
                    return []
                rows = connection.execute("SELECT name FROM studies ORDER BY id").fetchall()
            except sqlite3.Error as error:
                raise self._explain(error) from error
        return [row[0] for row in rows]

    def last_activity(self, study: str) -> float | None:
        """When the last event was written, in seconds since 1970."""
        row = self._last(study)
        return row[0] if row else None

    def length(self, study: str) -> int:
        """How many events there are."""
        row = self._last(study)
        return row[1] if row else 0

    def _last(self, study: str) -> Row | None:
        with self._lock:
            try:
                connection = self._reading()
                statements = self._statements.get(study) or self._find(connection, study)
                if connection is None or statements is None:
                    return None
                row: Row | None = connection.execute(statements.last).fetchone()
            except sqlite3.Error as error:
                raise self._explain(error) from error
        return row

    def _explain(self, error: sqlite3.Error) -> StorageError:
        """What went wrong, in words a person can act on."""
        code = files.code(error)
        kept = "nothing told before is lost"
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            why = f"another process has kept it locked for {self.patience:g} seconds; try again"
        elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            why = "the file or its folder is read-only; give write permission or copy it elsewhere"
        elif code == sqlite3.SQLITE_FULL:
            why = "the disk is full; free some space and run the same command again"
        elif code == sqlite3.SQLITE_IOERR:
            why = "the disk does not take or give data; is there space, and is the disk sound?"
        elif code == sqlite3.SQLITE_CANTOPEN:
            why = "it cannot be opened; is the folder there, and yours to write?"
        elif code in DAMAGE or "decode" in str(error):
            why, kept = "it is damaged", f"`bestk doctor {self.path}` says what can be recovered"
            self.close()
        else:
            why = "SQLite does not take it"
        return StorageError(f"{self.path} was refused: {why} ({error}); {kept}")


def _statements(number: int) -> Statements:
    return Statements(*(text.format(number) for text in (INSERT, SELECT, WINDOW, LAST)))


def _close(connection: sqlite3.Connection, lock: threading.RLock, folder: Path | None) -> None:
    with lock:
        connection.close()
    files.remove(folder)


# A connection must not be carried into a forked child: its locks belong to the parent. So no fork
# happens in the middle of a transaction, and the child closes what it inherited, to open its own.

_storages: weakref.WeakSet[SQLiteStorage] = weakref.WeakSet()
_registry = threading.Lock()
_held: list[SQLiteStorage] = []


def _before_fork() -> None:
    _registry.acquire()
    _held.extend(_storages)
    for storage in _held:
        storage._lock.acquire()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _registry.release()


def _in_child() -> None:
    inherited = list(_held)
    _after_fork()
    for storage in inherited:
        storage.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
