"""The tables of a study's file, and what can be seen to be wrong with them at a glance.

A table for each study, `log_<id>`, so that its only key is the order of its events, 1 to n without
a gap. `marks` holds for each study a number of events that are certainly there: nothing else would
notice that the last ones are gone. Files of version 1 have neither marks nor checksums.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

VERSION = 2  # a newer file is refused
OLD = 1  # read as it is, and brought up to date by the first append
STUDIES = "CREATE TABLE studies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
MARKS = "CREATE TABLE marks (id INTEGER PRIMARY KEY, length INTEGER NOT NULL)"
OLD_LOG = (
    "CREATE TABLE log_{0} (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL,"
    " arm INTEGER NOT NULL, reward REAL NOT NULL, data TEXT NOT NULL, at REAL NOT NULL)"
)
LOG = OLD_LOG[:-1] + ", checksum INTEGER NOT NULL)"

COLUMNS = "kind, key, arm, reward, data, at"
INSERT = f"INSERT INTO log_{{0}} (seq, {COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
SELECT = f"SELECT {COLUMNS}, {{1}} FROM log_{{0}} WHERE seq > ? ORDER BY seq LIMIT ?"
WINDOW = f"SELECT {COLUMNS} FROM log_{{0}} WHERE seq > ? ORDER BY seq LIMIT ?"
CHECKSUM = "SELECT {1} FROM log_{0} WHERE seq = ?"
LAST = "SELECT at, seq, {1} FROM log_{0} ORDER BY seq DESC LIMIT 1"
MARK = "UPDATE marks SET length = ?2 WHERE id = ?1 AND length < ?2"
MARK_ALL = (
    "UPDATE marks SET length = max(length, (SELECT coalesce(max(seq), 0) FROM log_{0}))"
    " WHERE id = {0}"
)


class Statements(NamedTuple):
    """Of one study's table; in an old file the number of an event is read for its checksum."""

    number: int
    insert: str
    select: str
    window: str
    checksum: str
    last: str


def statements(number: int, version: int) -> Statements:
    """Those of the study with that number."""
    column = "seq" if version == OLD else "checksum"
    texts = (INSERT, SELECT, WINDOW, CHECKSUM, LAST)
    return Statements(number, *(text.format(number, column) for text in texts))


def version(connection: sqlite3.Connection) -> int:
    """Of the file, as it says itself."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def find(connection: sqlite3.Connection, study: str, version: int) -> tuple[int, int] | None:
    """The number of a study's table, and how many events there must be; old files do not say."""
    length = "0" if version == OLD else "(SELECT length FROM marks WHERE marks.id = studies.id)"
    query = f"SELECT id, coalesce({length}, 0) FROM studies WHERE name = ?"
    row: tuple[int, int] | None = connection.execute(query, (study,)).fetchone()
    return row


def begin_study(connection: sqlite3.Connection, name: str) -> int:
    """The number of a new study, which has no events yet."""
    number = connection.execute("INSERT INTO studies (name) VALUES (?)", (name,)).lastrowid or 0
    connection.execute(LOG.format(number))
    connection.execute("INSERT INTO marks VALUES (?, 0)", (number,))
    return number


def complaint(connection: sqlite3.Connection) -> str | None:
    """What is wrong with the tables; None if they are those that were made."""
    connection.execute("BEGIN")  # one view of all of them, whoever writes
    try:
        format_ = version(connection)
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type='table'"))
        studies = connection.execute("SELECT id, name FROM studies").fetchall()
        marks = None
        if format_ != OLD and tables.get("marks") == MARKS:
            marks = {row[0] for row in connection.execute("SELECT id FROM marks")}
    finally:
        connection.execute("ROLLBACK")
    if format_ != OLD and marks != {row[0] for row in studies}:
        return "the table of the lengths of its studies is damaged"
    if not all(isinstance(name, str) for _, name in studies):
        return "the name of a study is damaged"
    log = OLD_LOG if format_ == OLD else LOG
    made = {f"log_{row[0]}": log.format(row[0]) for row in studies}
    found = {name: sql for name, sql in tables.items() if name.startswith("log_")}
    return None if made == found else "the tables of its studies are not those that were made"


def checksum(connection: sqlite3.Connection, statements: Statements, seq: int) -> int:
    """That of an event, as it is stored; 0 if there is none."""
    row = connection.execute(statements.checksum, (seq,)).fetchone()
    return row[0] if row and isinstance(row[0], int) else 0
