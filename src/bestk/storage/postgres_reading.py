"""Reading the logs in a Postgres database, over a connection that is opened again if it is lost."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from itertools import chain
from secrets import randbits
from typing import TYPE_CHECKING, Any, TypeVar

from bestk.addresses import Address, PostgresAddress, read_address, recoverable
from bestk.errors import StorageError
from bestk.storage import checksums, forks
from bestk.storage import postgres_schema as schema
from bestk.storage.events import Columns, Event
from bestk.storage.postgres_columns import pairs
from bestk.storage.postgres_connection import PATIENCE, Server, driver, is_idle, is_lost, leave

if TYPE_CHECKING:
    import psycopg

FEW, MANY = 256, 5000  # rows fetched first, and then at a time
Batch = tuple[Event, ...]
T = TypeVar("T")


class Sent:
    """A batch on its way: its number, and where its first event went or would have gone."""

    def __init__(self) -> None:
        self.batch = randbits(63)
        self.study = ""
        self.place: int | None = None


class Block(Sent):
    """What was seen and appended in a block of `alone`, to do it once more on a new connection."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: dict[str, int] = {}  # of the logs that were read or appended to, before it
        self.appended: list[tuple[str, Batch]] = []
        self.is_ending = self.is_done = False
        self.trouble: StorageError | None = None  # after which nothing of it is appended


class PostgresReader:
    """What is known of the logs in a database, and how more of them is read."""

    def __init__(
        self,
        address: Address,
        *,
        read_only: bool = False,
        patience: float = PATIENCE,
        rest: float = 0.0,
    ) -> None:
        read = read_address(address)
        if not isinstance(read, PostgresAddress):
            raise StorageError(f"{read} was refused: it is not a postgresql:// address")
        self.path, self.read_only = read, read_only
        self._server = Server(read, read_only, patience, rest)
        self._lock = threading.RLock()  # one connection, used by one thread at a time
        self._connection: psycopg.Connection | None = None
        self._version: int | None = None
        self._block: Block | None = None
        self._forget()
        forks.guard(self, self._lock, forks.STORAGE, PostgresReader._let_go)
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
        self._server = self._server.again()

    def _resume(self, connection: psycopg.Connection, block: Block) -> None:
        """Bring a new connection to where the block was; only who appends has one."""

    def _insist(self, work: Callable[[psycopg.Connection], T]) -> T:
        """Do it, on a new connection if the one there is is lost; errors in words."""
        with self._lock:
            block = self._block
            if block is None:
                self._leave_unfinished()
                try:
                    return self._try(work)
                except StorageError:
                    self._leave_unfinished()
                    raise
                except BaseException:  # an interrupt: no lock may stay, and psycopg is halfway
                    self.close()
                    raise
            if block.trouble is not None:
                raise block.trouble
            try:
                return self._try(work)
            except BaseException as error:  # the server has rolled back what was done before
                block.trouble = StorageError(
                    f"{self.path} was refused: nothing of what was to be appended together was, as"
                    f" a part of it failed ({error or type(error).__name__})"
                )
                raise

    def _leave_unfinished(self) -> None:
        """Close a connection in the middle of something, which the server then rolls back."""
        if self._connection is not None and not is_idle(self._connection):
            self.close()

    def _try(self, work: Callable[[psycopg.Connection], T]) -> T:
        psycopg, lost = driver(), 0
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
                f" {recoverable(self.path)}"
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
            row = connection.execute(schema.LAST, (study,), binary=True).fetchone()
            return None if row is None else row[0]

        return self._insist(work)

    def appended(self, study: str) -> int:
        """The number of the event that this object appended or read last; 0 if there is none."""
        return self._ends.get(study, (0, 0))[0]
