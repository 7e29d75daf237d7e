"""Logs in a Postgres database: many machines append to one study.

An append is one transaction, durable when it returns. A connection that is lost is opened again,
and if it went while a commit was on its way, the log is asked whether that happened before anything
is sent again: every batch carries a number of its own (`batch`), and the place where it went, or
would have gone, is known. Looking is done under the lock of the study's row, so that whatever the
lost session was doing has ended, or can no longer succeed (`postgres_schema.NEXT` appends behind
one known event or not at all).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bestk.errors import StorageError
from bestk.storage import checksums
from bestk.storage import postgres_schema as schema
from bestk.storage.events import Event
from bestk.storage.postgres_reading import Batch, Block, PostgresReader, Sent

if TYPE_CHECKING:
    import psycopg


class PostgresStorage(PostgresReader):
    """Logs of any number of studies in one database; its tables are made by the first append.

    `patience` is how long to wait for a lock, or for a server that went away, in seconds; with
    `rest` a server is not waited for, nor tried again for so many seconds at least. With
    `read_only` nothing can be appended, and the role needs no right but SELECT.
    """

    # --- appending --------------------------------------------------------------------------------

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return."""
        if self.read_only:
            raise StorageError(f"{self.path} was opened read-only: nothing can be added to it")
        batch = tuple(events)
        with self._lock:
            block = self._block
            if block is not None:
                self._insist(lambda connection: self._append_alone(connection, block, study, batch))
                block.appended.append((study, batch))
                return
            sent = Sent()
            self._insist(lambda connection: self._append(connection, study, batch, sent))

    def _append(self, connection: psycopg.Connection, study: str, batch: Batch, sent: Sent) -> None:
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

    def _next(self, connection: psycopg.Connection, study: str, batch: Batch, sent: Sent) -> bool:
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

    def _is_there(self, connection: psycopg.Connection, number: int, sent: Sent) -> bool:
        row = connection.execute(schema.BATCH, (number, sent.place)).fetchone()
        return row is not None and row[0] == sent.batch

    # --- alone ------------------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else appends meanwhile, and what is appended is so all or none, at the end."""
        if self.read_only:
            raise StorageError(f"{self.path} was opened read-only: nothing can be added to it")
        with self._lock:
            block = Block()
            try:  # from here on, lest an interrupt leaves a transaction open
                self._insist(self._begin)
                self._block = block
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
        connection.execute(schema.ALONE, prepare=False)

    def _end(self, connection: psycopg.Connection, block: Block) -> None:
        connection.execute("ROLLBACK" if block.is_done else "COMMIT", prepare=False)

    def _append_alone(
        self, connection: psycopg.Connection, block: Block, study: str, batch: Batch
    ) -> None:
        number, length, total = self._locked(connection, study)
        block.lengths.setdefault(study, length)
        if block.place is None and batch:
            block.study, block.place = study, length + 1
        self._ends[study] = self._insert(connection, number, length, total, batch, block.batch)

    def _resume(self, connection: psycopg.Connection, block: Block) -> None:
        """Bring a new connection to where the block was; refuse if others came in between."""
        self._begin(connection)
        for study in block.lengths:  # what was known of it may have been rolled back
            self._ends.pop(study, None)
            self._lengths.pop(study, None)
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
        for study, batch in block.appended:
            self._append_alone(connection, block, study, batch)
