"""A reader of a study's log of its own: plain SQL, and the file is never written to.

It reads plain tables only. A view or a virtual table in place of one, or a computed column, could
show other events each time it is asked.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from json.encoder import encode_basestring_ascii as quote
from pathlib import Path
from typing import Any

from bestk.errors import InputError, StorageError

APPLICATION = 0x62657374  # "best", in the header of a file of bestk
VERSION = 2  # of the tables that are understood here
CHUNK = 20_000  # rows fetched at a time
RESERVED = "bestk:"  # how names of logs begin that are no studies

Row = tuple[int, str, int, float, str, float]  # kind, key, arm, reward, data, at
COLUMNS = {
    "seq": "integer", "kind": "integer", "key": "text", "arm": "integer", "reward": "real",
    "data": "text", "at": "real",
}  # fmt: skip

CREATED, ASKED, TOLD, FORGOTTEN, EXPIRED, FAILED, OBSERVED, ADDED, WITHDRAWN, STOPPED = range(10)
REISSUED, RETRIED = 10, 11


def line(row: Row) -> bytes:
    """An event as bytes that depend on nothing else: a JSON array and a line feed, in ASCII.

    Numbers as Python writes them: the shortest digits that give the same double again.
    """
    kind, key, arm, reward, data, at = row
    return f"[{kind},{quote(key)},{arm},{reward!r},{quote(data)},{at!r}]\n".encode("ascii")


class LogFile:
    """The logs in one SQLite file, opened read-only."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"{path} was refused: there is no such file")
        try:
            self._connection = self._connect()
            try:
                self._connection.execute("BEGIN")  # all that is read is of one moment
                self._tables = self._read_tables()
            except BaseException:
                self.close()
                raise
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _connect(self) -> sqlite3.Connection:
        uri = self.path.resolve().as_uri()
        connection = sqlite3.connect(f"{uri}?mode=ro", uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            unsaved = Path(f"{self.path}-wal")
            if unsaved.exists() and unsaved.stat().st_size > 0:
                raise
            # in a folder that is read-only, where SQLite cannot share a file with writers
            connection = sqlite3.connect(f"{uri}?immutable=1", uri=True)
        return connection

    def _read_tables(self) -> dict[str, int]:
        header = self._number("PRAGMA application_id")
        version = self._number("PRAGMA user_version")
        if header != APPLICATION:
            raise InputError(f"{self.path} was refused: it holds no study of bestk")
        if version > VERSION:
            raise StorageError(
                f"{self.path} was refused: it was written by a newer bestk (format {version}, this"
                f" one reads {VERSION})"
            )
        self._check_schema()
        self._check_table("studies", ("id", "name"))
        rows = self._connection.execute("SELECT name, id FROM studies ORDER BY id").fetchall()
        if len({name for name, _ in rows}) < len(rows):
            raise InputError(f"{self.path} was refused: it names a study twice")
        return {str(name): int(number) for name, number in rows}

    def _check_schema(self) -> None:
        """Refuse what bestk never makes; views and virtual tables have no pages of their own."""
        kinds = "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger')"
        virtual = "SELECT 'virtual table', name FROM sqlite_master WHERE type = 'table'"
        query = f"{kinds} UNION ALL {virtual} AND rootpage = 0"
        for kind, name in self._connection.execute(query):
            raise InputError(f"{self.path} was refused: it holds the {kind} {name!r}")

    def _check_table(self, table: str, columns: tuple[str, ...]) -> None:
        """Refuse a table without these columns, plain ones, the first of them its key."""
        query = "SELECT name, pk, hidden FROM pragma_table_xinfo(?)"
        found = {
            name: (pk, hidden) for name, pk, hidden in self._connection.execute(query, (table,))
        }
        if any(found.get(name) != (int(name == columns[0]), 0) for name in columns):
            raise InputError(
                f"{self.path} was refused: its table {table} has not the plain columns"
                f" {', '.join(columns)}"
            )

    def _number(self, query: str) -> int:
        return int(self._connection.execute(query).fetchone()[0])

    def _unreadable(self, error: sqlite3.Error) -> StorageError:
        return StorageError(f"{self.path} was refused: it cannot be read ({error})")

    @property
    def studies(self) -> list[str]:
        """The names of the studies in the file; those with reserved names are other logs."""
        return [name for name in self._tables if not name.startswith(RESERVED)]

    def count(self, study: str) -> int:
        """How many events a study has."""
        ((many,),) = self._rows(f"SELECT count(*) FROM log_{self._tables[study]}")
        return int(many)

    def span(self, study: str, many: int) -> tuple[int, int]:
        """The numbers of the first and the last of the first so many events."""
        first = f"SELECT seq FROM log_{self._tables[study]} ORDER BY seq LIMIT {int(many)}"
        ((lowest, highest),) = self._rows(f"SELECT min(seq), max(seq) FROM ({first})")
        return lowest, highest

    def odd(self, study: str, many: int) -> int | None:
        """The first event with a value of a wrong type: SQLite lets any column hold any."""
        table = f"log_{self._tables[study]}"
        self._check_table(table, tuple(COLUMNS))
        wrong = " OR ".join(f"typeof({name}) <> '{kind}'" for name, kind in COLUMNS.items())
        first = f"SELECT * FROM {table} ORDER BY seq LIMIT {int(many)}"
        found = self._rows(f"SELECT seq FROM ({first}) WHERE {wrong} LIMIT 1")
        return found[0][0] if found else None

    def events(self, study: str, many: int) -> Iterator[list[Row]]:
        """The first so many events of a study, in order, in pieces."""
        columns = ", ".join(list(COLUMNS)[1:])
        query = f"SELECT {columns} FROM log_{self._tables[study]} ORDER BY seq LIMIT ?"
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(query, (many,))
                while chunk := cursor.fetchmany(CHUNK):
                    yield chunk
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _rows(self, query: str) -> list[Any]:
        try:
            return self._connection.execute(query).fetchall()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def close(self) -> None:
        """Let the file go."""
        with suppress(sqlite3.Error):
            self._connection.close()
