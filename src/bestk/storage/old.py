"""Files of version 1, which have no checksums: reading them, and bringing them up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from math import isfinite
from operator import itemgetter
from typing import Any

from bestk.storage import checksums, schema
from bestk.storage import events as ev

CHUNK = 2000  # rows copied at a time
KINDS = frozenset(range(ev.CREATED, ev.RETRIED + 1))
Row = tuple[Any, ...]

_kind, _key, _reward = itemgetter(0), itemgetter(1), itemgetter(3)


class Damaged(Exception):
    """Events of an old file are not what was written."""


def check(rows: list[Row], start: int) -> None:
    """Notice damage that SQLite does not; the seventh column is the number of the event."""
    last = start + len(rows)
    events = f"of the events {start + 1} to {last}"
    try:
        "".join(map(_key, rows))
        if rows and rows[-1][6] != last:
            raise Damaged(f"{events} some are missing")
        if not KINDS.issuperset(map(_kind, rows)):
            raise Damaged(f"{events} one is of no known kind")
        if not isfinite(sum(map(_reward, rows))):
            raise Damaged(f"{events} one has no number for a reward")
    except TypeError as error:
        raise Damaged(f"{events} one is not what was written") from error


def upgrade(connection: sqlite3.Connection) -> None:
    """Give every event its checksum and every study its mark; in a transaction of the caller's."""
    if schema.version(connection) != schema.OLD:
        return  # another process was quicker
    connection.execute(schema.MARKS)
    for number, name in connection.execute("SELECT id, name FROM studies").fetchall():
        connection.execute(f"ALTER TABLE log_{number} RENAME TO old_{number}")
        connection.execute(schema.LOG.format(number))
        connection.executemany(schema.INSERT.format(number), _checked(connection, number, name))
        connection.execute(f"DROP TABLE old_{number}")
        connection.execute(
            f"INSERT INTO marks SELECT {number}, coalesce(max(seq), 0) FROM log_{number}"
        )
    connection.execute(f"PRAGMA user_version = {schema.VERSION}")


def _checked(connection: sqlite3.Connection, number: int, name: str) -> Iterator[Row]:
    """Every event of a study, with its number and its checksum."""
    total, seq = checksums.begin(name), 0
    query = schema.SELECT.format(number, "seq").replace("log_", "old_")
    while rows := connection.execute(query, (seq, CHUNK)).fetchall():
        check(rows, seq)
        found = checksums.numbered(seq, total, (row[:6] for row in rows))
        yield from found
        seq, total = found[-1][0], found[-1][-1]
