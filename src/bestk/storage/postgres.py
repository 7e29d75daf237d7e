"""Logs in a Postgres database: many machines append to one study.

An append is one transaction, durable when it returns. A connection that is lost is opened again,
and if it went while a commit was on its way, the log is asked whether that happened before anything
is sent again: every batch carries a number of its own (`batch`), and the place where it went, or
would have gone, is known. Looking is done under the lock of the study's row, so that whatever the
lost session was doing has ended, or can no longer succeed (`postgres_schema.NEXT` appends behind
one known event or not at all).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from secrets import randbits
from typing import TYPE_CHECKING, Any, TypeVar

from bestk.addresses import Address, PostgresAddress, read_address
from bestk.errors import StorageError
from bestk.storage import checksums, forks
from bestk.storage import postgres_schema as schema
from bestk.storage.events import Columns, Event
from bestk.storage.postgres_columns import pairs
from bestk.storage.postgres_connection import PATIENCE, Server, driver, is_lost, leave

if TYPE_CHECKING:
    import psycopg

FEW, MANY = 256, 5000  # rows fetched first, and then at a time
Batch = tuple[Event, ...]
T = TypeVar("T")


class _Sent:
    """A batch on its way: its number, and where its first event went or would have gone."""

    def __init__(self) -> None:
        self.batch = randbits(63)
        self.study = ""
        self.place: int | None = None


class _Block(_Sent):
    """What was seen and appended in a block of `alone`, to do it once more on a new connection."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: dict[str, int] = {}  # of the logs that were read or appended to, before it
        self.appended: list[tuple[str, Batch]] = []
        self.is_ending = self.is_done = False


class PostgresStorage:
    """Logs of any number of studies in one database; its tables are made by the first append.

    `patience` is how long to wait for a lock, or for a server that went away, in seconds. With
    `read_only` nothing can be appended, and the role needs no right but SELECT.
    """

    def __init__(
        self, address: Address, *, read_only: bool = False, patience: float = PATIENCE
    ) -> None:
        read = read_address(address)
        if not isinstance(read, PostgresAddress):
            raise StorageError(f"{read} was refused: it is no postgresql:// address")
        self.path, self.read_only = read, read_only
        self._server = Server(read, read_only, patience)
        self._lock = threading.RLock()  # one connection, used by one thread at a time
        self._connection: psycopg.Connection | None = None
        self._version: int | None = None
        self._block: _Block | None = None
        self._forget()
        forks.guard(self, self._lock, forks.STORAGE, PostgresStorage._let_go)
        self._insist(lambda _: None)  # what is wrong with the address shows at once

    # --- connecting -------------------------------------------------------------------------------

    def _connect(self) -> psycopg.Connection:
        connection = self._server.connect()
        try:
            version = schema.version(connection)
            schema.check(version, self.path)
        except BaseException:
            connection.close()
            raise
        self._connection, self._version = connection, version
        self._closing = weakref.finalize(self, connection.close)
        return connection

    def _forget(self) -> None:
        """What was known of the database."""
        self._version = None
        self._ids: dict[str, int] = {}
        self._lengths: dict[str, int] = {}  # so many events of a study there must be
        self._ends: dict[str, tuple[int, int]] = {}  # the last event seen: number and checksum

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._lock:
            if self._connection is not None:
                self._closing()
            self._connection = None

    def _let_go(self) -> None:
        """In a forked child: the connection is the parent's."""
        if self._connection is not None:
            leave(self._connection)
        self._connection = None
        self._server = Server(self.path, self.read_only, self._server.patience)

    def _insist(self, work: Callable[[psycopg.Connection], T]) -> T:
        """Do it, on a new connection if the one there is is lost; errors in words."""
        psycopg = driver()
        with self._lock:
            lost = 0
            while True:
                connection = self._connection
                try:
                    if connection is None:
                        connection = self._connect()
                        if self._block is not None:
                            self._resume(connection, self._block)
                    return work(connection)
                except UnicodeEncodeError as error:
                    raise StorageError(
                        f"{error.object!r} was refused: a database cannot hold it"
                    ) from None
                except psycopg.Error as error:
                    if not is_lost(error, self._connection):
                        raise self._server.explain(error) from None
                    self.close()
                    lost += 1
                    if lost > 100:  # arbitrary: every time the server was there again
                        raise self._server.explain(error) from None

    # --- appending --------------------------------------------------------------------------------

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return."""
        if self.read_only:
            raise StorageError(f"{self.path} was opened to be read: nothing can be added to it")
        batch = tuple(events)
        with self._lock:
            block = self._block
            if block is not None:
                self._insist(lambda connection: self._append_alone(connection, block, study, batch))
                return
            sent = _Sent()
            self._insist(lambda connection: self._append(connection, study, batch, sent))

    def _append(
        self, connection: psycopg.Connection, study: str, batch: Batch, sent: _Sent
    ) -> None:
        if sent.place is None and len(batch) == 1 and self._next(connection, study, batch, sent):
            return
        if self._version != schema.VERSION:
            schema.prepare(connection, self.path)
            self._version = schema.VERSION
        with connection.transaction():
            number, length, total = self._locked(connection, study)
            if sent.place is not None and self._is_there(connection, number, sent):
                end = sent.place + len(batch) - 1
                self._ids[study] = number
                self._ends[study] = end, self._checksum(connection, number, end)
                return
            sent.place = length + 1
            last = self._insert(connection, number, length, total, batch, sent.batch)
        self._ids[study], self._ends[study] = number, last  # after the commit

    def _next(self, connection: psycopg.Connection, study: str, batch: Batch, sent: _Sent) -> bool:
        """Add an event behind the last one known, in one statement; False if it is not the last."""
        number, end = self._ids.get(study), self._ends.get(study)
        if number is None or end is None or self._version != schema.VERSION:
            return False
        seq, total = end
        row = checksums.plain(batch[0])
        after = checksums.after(total, row)
        sent.place = seq + 1
        head = (after, number, seq, total, schema.VERSION)
        done = connection.execute(schema.NEXT, (*head, sent.batch, *row))
        if done.rowcount != 1:
            sent.place = None  # certainly not there: another was quicker
            return False
        self._ends[study] = seq + 1, after
        return True

    def _locked(self, connection: psycopg.Connection, study: str) -> tuple[int, int, int]:
        """A study's number, length and last checksum; nobody else appends in this transaction."""
        found = connection.execute(schema.LOCKED, (study,)).fetchone()
        if found is None and study not in self._ends:
            first = checksums.begin(study)
            connection.execute(schema.BEGIN, (study, schema.VERSION, first))
            found = connection.execute(schema.LOCKED, (study,)).fetchone()
        number, length, total, version = found or (0, 0, 0, schema.VERSION)
        schema.check(version, self.path)
        if length < max(self._lengths.get(study, 0), self._ends.get(study, (0, 0))[0]):
            raise self._cut(study, length)
        return number, length, total

    def _insert(
        self,
        connection: psycopg.Connection,
        number: int,
        length: int,
        total: int,
        batch: Batch,
        mark: int,
    ) -> tuple[int, int]:
        """Add events to a study that is locked; the last one's number and checksum."""
        if not batch:
            return length, total
        rows = checksums.numbered(length, total, batch)
        with connection.cursor() as cursor, cursor.copy(schema.COPY) as copy:
            copy.set_types(schema.TYPES)
            for row in rows:
                copy.write_row((number, mark, *row))
        seq, total = rows[-1][0], rows[-1][-1]
        connection.execute(schema.HEAD, (seq, total, number))
        return seq, total

    def _is_there(self, connection: psycopg.Connection, number: int, sent: _Sent) -> bool:
        row = connection.execute(schema.BATCH, (number, sent.place)).fetchone()
        return row is not None and row[0] == sent.batch

    # --- alone ------------------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else appends meanwhile, and what is appended is so all or none, at the end."""
        if self.read_only:
            raise StorageError(f"{self.path} was opened to be read: nothing can be added to it")
        with self._lock:
            block = _Block()
            self._insist(self._begin)
            self._block = block
            try:
                yield
                block.is_ending = True
                self._insist(lambda connection: self._end(connection, block))
            except BaseException:
                self._forget()
                if self._connection is not None:
                    self.close()  # which rolls back
                raise
            finally:
                self._block = None

    def _begin(self, connection: psycopg.Connection) -> None:
        if self._version != schema.VERSION:
            schema.prepare(connection, self.path)
            self._version = schema.VERSION
        connection.execute("BEGIN", prepare=False)
        connection.execute(schema.ALONE, prepare=False)

    def _end(self, connection: psycopg.Connection, block: _Block) -> None:
        connection.execute("ROLLBACK" if block.is_done else "COMMIT", prepare=False)

    def _append_alone(
        self, connection: psycopg.Connection, block: _Block, study: str, batch: Batch
    ) -> None:
        number, length, total = self._locked(connection, study)
        block.lengths.setdefault(study, length)
        if block.place is None and batch:
            block.study, block.place = study, length + 1
        self._ends[study] = self._insert(connection, number, length, total, batch, block.batch)
        block.appended.append((study, batch))

    def _resume(self, connection: psycopg.Connection, block: _Block) -> None:
        """Bring a new connection to where the block was; refuse if others came in between."""
        self._begin(connection)
        for study in block.lengths:
            self._ends.pop(study, None)
        if block.is_ending and block.place is not None:
            found = connection.execute(schema.FIND, (block.study,)).fetchone()
            if found is not None and self._is_there(connection, found[0], block):
                block.is_done = True  # it was committed
                for study in block.lengths:
                    found = connection.execute(schema.FIND, (study,)).fetchone()
                    if found is not None:
                        self._ends[study] = found[1], found[2]
                return
        for study, length in block.lengths.items():
            found = connection.execute(schema.FIND, (study,)).fetchone()
            if (found[1] if found else 0) != length:
                raise StorageError(
                    f"{self.path} was refused: the connection was lost, and others have appended to"
                    f" {study} since; nothing of this was appended: try again"
                )
        appended, block.appended = block.appended, []
        for study, batch in appended:
            self._append_alone(connection, block, study, batch)

    # --- reading ----------------------------------------------------------------------------------

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, in log order, each as it was written."""
        events = self._fetch(study, start, FEW)
        if len(events) < FEW:
            return iter(events)
        return chain(events, chain.from_iterable(self._chunks(study, start + FEW)))

    def _chunks(self, study: str, start: int) -> Iterator[list[Event]]:
        while events := self._fetch(study, start, MANY):
            yield events
            start += len(events)

    def _fetch(self, study: str, start: int, most: int) -> list[Event]:
        """The next events, up to so many, compared with their checksums."""
        return self._insist(lambda connection: self._checked(connection, study, start, most))

    def _checked(
        self, connection: psycopg.Connection, study: str, start: int, most: int
    ) -> list[Event]:
        number = self._find(connection, study)
        if number is None:
            return []
        query = connection.execute(schema.SELECT, (number, start, most), binary=True)
        rows: list[Any] = query.fetchall()
        seq = start + len(rows)
        if len(rows) < most and seq < self._lengths.get(study, 0):
            raise self._cut(study, seq)
        if not rows:
            return []
        events, stored = [Event._make(row[:6]) for row in rows], rows[-1][6]
        total = self._before(connection, study, number, start)
        if rows[-1][7] != seq or checksums.after_all(total, events) != stored:
            sound = checksums.damaged(total, rows)
            bad = seq if sound is None else start + sound + 1
            raise StorageError(
                f"{self.path} was refused: event {bad} of {study} is not what was written;"
                f" `bestk doctor {self.path}` says what can be recovered"
            )
        if seq >= self._ends.get(study, (0, 0))[0]:
            self._ends[study] = seq, stored
        return events

    def _find(self, connection: psycopg.Connection, study: str) -> int | None:
        """The number of a study; None if there is no such study."""
        block = self._block
        if study in self._ids and (block is None or study in block.lengths):
            return self._ids[study]
        if self._version is None:
            self._version = schema.version(connection)
            schema.check(self._version, self.path)
            if self._version is None:
                return None
        found = connection.execute(schema.FIND, (study,)).fetchone()
        if block is not None:
            block.lengths.setdefault(study, found[1] if found else 0)
        if found is None:
            return None
        schema.check(found[3], self.path)
        self._lengths[study] = found[1]
        if block is None or not block.appended:  # else it may not be committed
            self._ids[study] = found[0]
        return int(found[0])

    def _before(self, connection: psycopg.Connection, study: str, number: int, start: int) -> int:
        """The checksum that the event after number `start` is chained to."""
        if start == 0:
            return checksums.begin(study)
        seq, total = self._ends.get(study, (0, 0))
        return total if seq == start else self._checksum(connection, number, start)

    def _checksum(self, connection: psycopg.Connection, number: int, seq: int) -> int:
        row = connection.execute(schema.CHECKSUM, (number, seq)).fetchone()
        return row[0] if row else 0

    def columns(self, study: str, start: int) -> Iterator[Columns]:
        """Pulls from event number `start` on that were asked for alone and told at once."""
        return pairs(lambda work: self._insist(lambda c: self._of(c, study, work)), start)

    def _of(self, connection: psycopg.Connection, study: str, work: Any) -> Any:
        """Work on a study: the connection, its number, and the checksum before an event."""
        number = self._find(connection, study)
        if number is None:
            return None
        found = work(connection, number, lambda at: self._before(connection, study, number, at))
        if found is not None:
            columns, seq, stored = found
            self._ends[study] = max(self._ends.get(study, (0, 0)), (seq, stored))
            return columns
        return None

    def _cut(self, study: str, last: int) -> StorageError:
        least = max(self._lengths.get(study, 0), self._ends.get(study, (0, 0))[0])
        return StorageError(
            f"{self.path} was refused: of {study} the events {last + 1} to {least} at least are"
            " missing, which were there before; was it restored from an older backup?"
        )

    def studies(self) -> list[str]:
        """The names of all studies in the database, oldest first."""

        def work(connection: psycopg.Connection) -> list[str]:
            self._version = self._version or schema.version(connection)
            if self._version is None:
                return []
            rows = connection.execute("SELECT name FROM bestk_studies ORDER BY id").fetchall()
            return [row[0] for row in rows]

        return self._insist(work)

    @property
    def version(self) -> int | None:
        """Of the tables; None while there are none."""
        return self._insist(schema.version)

    def rows(self, study: str, start: int = 0) -> tuple[int, int, Iterator[tuple[Any, ...]]]:
        """A study's number, its length, and its rows as they are, whatever they hold."""

        def find(connection: psycopg.Connection) -> tuple[int, int]:
            found = connection.execute(schema.FIND, (study,)).fetchone()
            return (found[0], found[1]) if found else (0, 0)

        number, length = self._insist(find)

        def chunks(at: int) -> Iterator[list[tuple[Any, ...]]]:
            given = [number, at, MANY]
            while rows := self._insist(
                lambda connection: connection.execute(schema.SELECT, given, binary=True).fetchall()
            ):
                yield rows
                given[1] = rows[-1][7]

        return number, length, chain.from_iterable(chunks(start))

    def last_activity(self, study: str) -> float | None:
        """When the last event was written, in seconds since 1970."""

        def work(connection: psycopg.Connection) -> float | None:
            row = connection.execute(schema.LAST, (study,)).fetchone()
            return None if row is None else row[0]

        return self._insist(work)

    def appended(self, study: str) -> int:
        """The number of the event that this object appended or read last; 0 if there is none."""
        return self._ends.get(study, (0, 0))[0]
