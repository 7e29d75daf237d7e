"""A reader of a study's log in Postgres of its own: plain SQL, in a read-only transaction.

It reads plain tables only, as `log.LogFile` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bestk.addresses import PostgresAddress
from bestk.errors import InputError, MissingPackageError, StorageError
from bestk.verification.log import CHUNK, RESERVED, Row

VERSION = 1  # of the tables that are understood here
TYPES = {
    "bestk_studies": {"id": "int4", "name": "text"},
    "bestk_log": {
        "study": "int4", "seq": "int8", "kind": "int8", "key": "text", "arm": "int8",
        "reward": "float8", "data": "text", "at": "float8",
    },
}  # fmt: skip
OBJECTIONS = """
SELECT CASE WHEN relkind <> 'r' THEN 'it is no plain table' WHEN relrowsecurity THEN
'it hides rows from some' WHEN relhasrules THEN 'it has rules' WHEN relhassubclass THEN
'it has parts' END FROM pg_class WHERE oid = to_regclass(%s)
"""
PLAIN = """
SELECT attname, typname FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
WHERE attrelid = to_regclass(%s) AND attnotnull AND attgenerated = '' AND NOT attisdropped
"""


class LogDatabase:
    """The logs in one database, as they are at one moment."""

    def __init__(self, address: PostgresAddress) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MissingPackageError("a postgresql:// address", "psycopg", "postgres") from error
        self.path, self._error = address, psycopg.Error
        try:
            self._connection: Any = psycopg.connect(address.url, client_encoding="UTF8")
        except psycopg.Error as error:
            text = "no address"
            if isinstance(error, psycopg.OperationalError):
                text = " ".join(str(error).split())
            raise StorageError(f"{address} was refused: it cannot be reached ({text})") from None
        try:
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._connection.read_only = True
            self._numbers = self._read_tables()
        except BaseException:
            self.close()
            raise

    def _read_tables(self) -> dict[str, int]:
        if self._rows("SELECT to_regclass('bestk_format')::text") == [(None,)]:
            raise InputError(f"{self.path} was refused: it holds no study of bestk")
        versions = self._rows("SELECT version FROM bestk_format")
        if len(versions) != 1 or versions[0][0] != VERSION:
            raise StorageError(
                f"{self.path} was refused: its format is {versions}, this bestk reads {VERSION}"
            )
        for table, types in TYPES.items():
            for (objection,) in self._rows(OBJECTIONS, (table,)) or [("it is not there",)]:
                if objection is not None:
                    raise InputError(f"{self.path} was refused: of {table}, {objection}")
            found = dict(self._rows(PLAIN, (table,)))
            if not types.items() <= found.items():
                raise InputError(
                    f"{self.path} was refused: its table {table} has not the plain columns"
                    f" {', '.join(types)}"
                )
        rows = self._rows("SELECT name, id FROM bestk_studies ORDER BY id")
        if len({name for name, _ in rows}) < len(rows):
            raise InputError(f"{self.path} was refused: it names a study twice")
        return dict(rows)

    @property
    def studies(self) -> list[str]:
        """The names of the studies in the database."""
        return [name for name in self._numbers if not name.startswith(RESERVED)]

    def count(self, study: str) -> int:
        """How many events a study has."""
        ((many,),) = self._rows(
            "SELECT count(*) FROM bestk_log WHERE study = %s", (self._numbers[study],)
        )
        return int(many)

    def span(self, study: str, many: int) -> tuple[int, int]:
        """The numbers of the first and the last of the first so many events."""
        query = (
            "SELECT min(seq), max(seq) FROM (SELECT seq FROM bestk_log WHERE study = %s"
            " ORDER BY seq LIMIT %s) first"
        )
        ((lowest, highest),) = self._rows(query, (self._numbers[study], many))
        return lowest, highest

    def odd(self, study: str, many: int) -> int | None:  # noqa: ARG002 - as of a file
        """No column can hold a value of another type."""
        return None

    def events(self, study: str, many: int) -> Iterator[list[Row]]:
        """The first so many events of a study, in order, in pieces."""
        query = (
            "SELECT kind, key, arm, reward, data, at FROM bestk_log WHERE study = %s AND seq > %s"
            " ORDER BY seq LIMIT %s"
        )
        for start in range(0, many, CHUNK):
            yield self._rows(query, (self._numbers[study], start, min(CHUNK, many - start)))

    def _rows(self, query: str, given: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return list(self._connection.execute(query, given, binary=True).fetchall())
        except self._error as error:
            raise StorageError(f"{self.path} was refused: it cannot be read ({error})") from None

    def close(self) -> None:
        """Let the database go."""
        self._connection.close()
