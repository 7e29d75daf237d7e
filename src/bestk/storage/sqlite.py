"""A log in an SQLite file, in WAL mode: it survives the death of the process after every append.

A commit hands its pages to the operating system, which writes them whatever becomes of the process.
With `durability="full"` SQLite also waits for the disk (fsync), so that an append survives a power
cut. Several processes may append to one file at once: SQLite puts them in order. Every event has a
checksum, which is compared whenever it is read (`checksums.py`).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any, cast

from bestk.addresses import recoverable
from bestk.errors import StorageError
from bestk.storage import checksums, columns, files, forks, old, schema
from bestk.storage.events import Columns, Event
from bestk.storage.identity import SWAPPED, Watch
from bestk.storage.schema import Statements

PATIENCE = 30.0  # seconds to wait for another process's commit
FEW, MANY = 256, 2000  # rows fetched first, and then at a time
CHECKPOINT = 4000  # pages in the write-ahead file before they are moved: each time costs two fsyncs
MARKED = 100  # events after which their number is noted: each time costs a page
TAKEN = (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID)
Row = tuple[Any, ...]

_new = cast("Callable[[type[Event], Row], Event]", tuple.__new__)  # faster than Event._make


class _Guarded:
    """One thread at a time; what goes wrong is said in words a person can act on."""

    __slots__ = ("_storage",)  # a class: a generator costs two microseconds at every event

    def __init__(self, storage: SQLiteStorage) -> None:
        self._storage = storage

    def __enter__(self) -> None:
        self._storage._lock.acquire()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self._storage._explain(error)
        finally:
            self._storage._lock.release()


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
        self._forget()
        self._version = schema.VERSION
        self._unmarked: set[int] = set()  # tables with events of ours that no mark covers yet
        self._lost: str | None = None  # why nothing more may be told
        self._is_alone = False  # in a transaction of `alone`
        self._connection: sqlite3.Connection | None = None
        self._watch: Watch | None = None  # of one that may write
        self._is_new = not read_only and files.is_free(self._file, self.path)
        if not self._is_new:
            with _Guarded(self):
                self._connect()
        forks.guard(self, self._lock, forks.STORAGE, SQLiteStorage._let_go)

    # --- connecting -------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if self._lost is not None:
            raise StorageError(self._lost)
        if self._is_new:
            files.make(self._file, self.path)
            self._is_new = False
        files.check(self._file, self.path, self.patience)
        if self.read_only:
            connection = files.open_to_read(self._file, self.patience)
        elif files.is_writable(self._file):
            connection = files.connect(self._file, "mode=rw", self.patience)
        else:
            raise StorageError(
                f"{self.path} was refused: the file or its folder is read-only; give write"
                " permission, or copy it elsewhere; nothing was changed"
            )
        self._forget()  # it may be another file by now
        try:
            connection.execute("SELECT count(*) FROM studies").fetchone()
            self._version = schema.version(connection)
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
            else:
                connection.execute("PRAGMA journal_mode = WAL")
                level = "FULL" if self.durability == "full" else "NORMAL"
                connection.execute(f"PRAGMA synchronous = {level}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
        except BaseException:
            connection.close()
            raise
        watch = None if self.read_only else Watch(self._file)
        self._connection, self._watch, self._unmarked = connection, watch, set()
        self._close = weakref.finalize(
            self, files.close, connection, self._lock, watch, self._unmarked
        )
        return connection

    def _forget(self) -> None:
        """What was known of the file."""
        self._statements: dict[str, Statements] = {}
        self._marks: dict[str, int] = {}  # so many events of a study there must be
        self._ends: dict[str, tuple[int, int]] = {}  # the last event seen: number and checksum

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

    def _let_go(self) -> None:
        """Close, in a forked child, what belongs to its parent: the child opens its own."""
        self._unmarked.clear()
        self.close()

    # --- appending --------------------------------------------------------------------------------

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return."""
        if self.read_only:
            raise StorageError(f"{self.path} was opened read-only: nothing can be added to it")
        with _Guarded(self):
            connection = self._connection or self._connect()
            if self._is_alone:
                self._insert(connection, study, events)
                return
            if len(events) != 1 or not self._append_one(connection, study, events[0]):
                with self._transaction(connection):
                    self._insert(connection, study, events)
            self._require_the_same()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else appends meanwhile, and what is appended is so all or none, at the end."""
        with _Guarded(self):
            with self._transaction(self._connection or self._connect()):
                self._is_alone = True
                try:
                    yield
                finally:
                    self._is_alone = False
            self._require_the_same()

    def _append_one(self, connection: sqlite3.Connection, study: str, event: Event) -> bool:
        """Add an event behind the last one known; False if that takes a transaction."""
        statements, end = self._statements.get(study), self._ends.get(study)
        if statements is None or end is None or connection.in_transaction:
            return False
        seq = end[0] + 1
        if seq % MARKED == 0:
            return False
        row = checksums.plain(event)
        total = checksums.after(end[1], row)
        try:
            connection.execute(statements.insert, (seq, *row, total))  # commits by itself
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode in TAKEN:  # another process was quicker
                return False
            raise
        self._ends[study] = seq, total
        self._unmarked.add(statements.number)
        return True

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        """All or nothing; an old file is brought up to date first."""
        if connection.in_transaction:  # left by an interrupt
            connection.execute("ROLLBACK")
        before = self._version
        try:
            connection.execute("BEGIN IMMEDIATE")
            if before == schema.OLD:
                old.upgrade(connection)
                self._version = schema.VERSION
                self._forget()
            yield
            connection.execute("COMMIT")
        except BaseException:
            self._version = before
            self._forget()
            if self._connection is connection and connection.in_transaction:
                connection.execute("ROLLBACK")  # SQLite may have done it
            raise

    def _insert(self, connection: sqlite3.Connection, study: str, events: Sequence[Event]) -> None:
        """Add events, in a transaction."""
        statements = self._find(connection, study)
        if statements is None:
            number = schema.begin_study(connection, study)
            statements = schema.statements(number, schema.VERSION)
        last = connection.execute(statements.last).fetchone()
        start, total = (last[1], last[2]) if last else (0, checksums.begin(study))
        if start < self._marks.get(study, 0):
            raise self._cut(study, start)
        rows = checksums.numbered(start, total, events)
        connection.executemany(statements.insert, rows)
        seq, *_, total = rows[-1] if rows else (start, total)
        self._ends[study] = seq, total
        if start == 0 or start // MARKED != seq // MARKED:
            connection.execute(schema.MARK, (statements.number, seq))
        else:
            self._unmarked.add(statements.number)

    def _require_the_same(self) -> None:
        """Raise if what was told went to a file that is no longer there."""
        what = None if self._watch is None else self._watch.swapped()
        if what is not None and self._watch is not None and self._connection is not None:
            self._watch.give_up(self._connection)
            self._close.detach()
            self._connection = None
            self._lost = SWAPPED.format(self.path, what)
            raise StorageError(self._lost)

    # --- reading ----------------------------------------------------------------------------------

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, in log order, each as it was written."""
        rows = self._fetch(study, start, FEW)
        events = map(_new, repeat(Event), rows)
        if len(rows) < FEW:
            return events
        return chain(events, chain.from_iterable(self._chunks(study, start + FEW)))

    def _chunks(self, study: str, start: int) -> Iterator[Iterator[Event]]:
        while rows := self._fetch(study, start, MANY):
            yield map(_new, repeat(Event), rows)
            start += len(rows)

    def columns(self, study: str, start: int) -> Iterator[Columns]:
        """Pulls from event number `start` on that were asked for alone and told at once."""
        many = columns.FEW
        while (found := self._pairs(study, start, many)) is not None:
            yield found
            start, many = start + 2 * many, min(2 * many, columns.MANY)

    def _pairs(self, study: str, start: int, many: int) -> Columns | None:
        """So many of these, compared with their checksums; of what is damaged `read` says what."""
        with _Guarded(self):
            connection, statements = self._prepared(study)
            if connection is None or statements is None or self._version == schema.OLD:
                return None
            found = columns.fetch(connection, statements.number, start, many)
            seq, total = start + 2 * many, self._before(connection, study, start)
            stored = schema.checksum(connection, statements, seq)
            if found is None or columns.after(total, found) != stored:
                return None
            self._ends[study] = max(self._ends.get(study, (0, 0)), (seq, stored))
            return found

    def _prepared(self, study: str) -> tuple[sqlite3.Connection | None, Statements | None]:
        """A connection, and the statements for a study, as far as there are any."""
        connection = self._connection or self._reading()
        if connection is None:
            return None, None
        if self._version == schema.OLD and schema.version(connection) != schema.OLD:
            self._version = schema.VERSION  # another process has brought it up to date
            self._forget()
        return connection, self._statements.get(study) or self._find(connection, study)

    def _fetch(self, study: str, start: int, most: int) -> list[Row]:
        """The next rows, up to so many, compared with their checksums."""
        with _Guarded(self):
            connection, statements = self._prepared(study)
            if connection is None or statements is None:
                return []
            if self._version != schema.OLD:
                return self._checked(connection, study, start, most)
            rows = connection.execute(statements.select, (start, most)).fetchall()
            old.check(rows, start)
            return [row[:6] for row in rows]

    def _checked(
        self, connection: sqlite3.Connection, study: str, start: int, most: int
    ) -> list[Row]:
        statements = self._statements[study]
        rows: list[Row]
        if most == FEW:  # checksums come along: one query is quicker than two
            found = connection.execute(statements.select, (start, most)).fetchall()
            rows, stored = [row[:6] for row in found], found[-1][6] if found else 0
        else:
            rows = connection.execute(statements.window, (start, most)).fetchall()
            stored = schema.checksum(connection, statements, start + len(rows))
        seq = start + len(rows)
        if len(rows) < most and seq < self._marks[study]:
            raise self._cut(study, seq)
        if rows and (len(rows) > 1 or self._ends.get(study) != (seq, stored)):  # else just written
            total = self._before(connection, study, start)
            if checksums.after_all(total, rows) != stored:
                full = connection.execute(statements.select, (start, len(rows))).fetchall()
                sound = checksums.damaged(total, full)
                number = seq if sound is None else start + sound + 1
                raise self._damaged(f"event {number} of {study} is not what was written")
            if seq >= self._ends.get(study, (0, 0))[0]:
                self._ends[study] = seq, stored
        return rows

    def _before(self, connection: sqlite3.Connection, study: str, start: int) -> int:
        """The checksum that the event after number `start` is chained to."""
        if start == 0:
            return checksums.begin(study)
        seq, total = self._ends.get(study, (0, 0))
        return (
            total if seq == start else schema.checksum(connection, self._statements[study], start)
        )

    def _explain(self, error: BaseException) -> None:
        """Raise in its place what a person can act on."""
        if isinstance(error, sqlite3.Error):
            why, is_damaged = files.explain(error, self.patience)
            if is_damaged:
                raise self._damaged(f"it is damaged ({error})") from error
            raise StorageError(
                f"{self.path} was refused: {why} ({error}); nothing told before is lost"
            ) from error
        if isinstance(error, old.Damaged):
            raise self._damaged(str(error)) from error
        if isinstance(error, UnicodeEncodeError):
            raise StorageError(f"{error.object!r} was refused: a file cannot hold it") from error

    def _cut(self, study: str, last: int) -> StorageError:
        mark = self._marks[study]
        return self._damaged(f"of {study} the events {last + 1} to {mark} at least are missing")

    def _damaged(self, what: str) -> StorageError:
        self._unmarked.clear()
        self.close()
        return StorageError(f"{self.path} was refused: {what}; {recoverable(self.path)}")

    def _find(self, connection: sqlite3.Connection, study: str) -> Statements | None:
        """The statements for a study; None if the file has no such study."""
        found = schema.find(connection, study, self._version)
        if found is None:
            return None
        number, self._marks[study] = found
        self._statements[study] = schema.statements(number, self._version)
        return self._statements[study]

    def studies(self) -> list[str]:
        """The names of all studies in the file, oldest first."""
        with _Guarded(self):
            connection = self._reading()
            rows = connection.execute("SELECT name FROM studies ORDER BY id") if connection else ()
            return [row[0] for row in rows]

    def last_activity(self, study: str) -> float | None:
        """When the last event was written, in seconds since 1970."""
        with _Guarded(self):
            connection = self._reading()
            statements = self._find(connection, study) if connection is not None else None
            if connection is None or statements is None:
                return None
            row = connection.execute(statements.last).fetchone()
            return row[0] if row else None

    def appended(self, study: str) -> int:
        """The number of the event that this object appended or read last; 0 if there is none."""
        return self._ends.get(study, (0, 0))[0]
