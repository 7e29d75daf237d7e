"""The studies of a file, damaged or not: how much can be read, and up to where it counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from bestk.storage import checksums, schema
from bestk.storage import events as ev
from bestk.storage.names import is_reserved
from bestk.storage.old import KINDS, Row

REACH = 10_000_000  # events that damage may hide at once
# to a pull asked for
ANSWERS = {ev.TOLD, ev.FORGOTTEN, ev.EXPIRED, ev.FAILED, ev.REISSUED, ev.RETRIED}
TYPES = (int, str, int, float, str, float)  # of an event's columns
SELECT = schema.SELECT.replace("{1}", "{1}, seq")
STORED, SEQ = 6, 7  # columns of it
LOST_NAME = "study-{}"


@dataclass(frozen=True)
class Found:
    """What can be read of one study."""

    name: str
    number: int  # of its table
    readable: int  # events
    whole: int  # events before the first damage
    loss: str | None  # what is wrong there
    note: str | None = None  # what is wrong, but costs no event


def survey(connection: sqlite3.Connection) -> tuple[Found, ...]:
    """Every study, by its table."""
    query = "SELECT CAST(substr(name, 5) AS INTEGER) FROM sqlite_master WHERE name LIKE 'log\\_%'"
    numbers = {row[0] for row in connection.execute(query + " ESCAPE '\\'")}
    return tuple(_scan(connection, number) for number in sorted(numbers))


def _ask(connection: sqlite3.Connection, query: str, number: int) -> Any:
    """A value of a table that may be damaged, or gone."""
    try:
        row = connection.execute(query, (number,)).fetchone()
    except sqlite3.Error:
        return None
    return row[0] if row else None


def _scan(connection: sqlite3.Connection, number: int) -> Found:
    """Go through a study's events."""
    name = _ask(connection, "SELECT name FROM studies WHERE id = ?", number)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info(log_{number})")]
    log = _Log(name, number, "checksum" in columns)
    readable, loss = 0, None
    for row in _rows(connection, SELECT.format(number, log.checksum)):
        readable += not isinstance(row, str)
        if loss is None:
            objection = row if isinstance(row, str) else log.objection(row)
            loss = None if objection is None else f"event {log.whole + 1}: {objection}"
    mark = _ask(connection, "SELECT length FROM marks WHERE id = ?", number)
    if loss is None and isinstance(mark, int) and log.whole < mark:
        loss = f"the events {log.whole + 1} to {mark} at least are missing"
    if not readable and loss is None:
        loss = "no event is there"
    return Found(log.name, number, readable, log.whole, loss, log.note)


class _Log:
    """Events of a study one after the other, as long as they can be what was written."""

    def __init__(self, name: object, number: int, has_checksums: bool) -> None:
        self._is_named = isinstance(name, str)
        self.name = name if isinstance(name, str) else LOST_NAME.format(number)
        self._is_reserved = is_reserved(self.name)
        self.checksum = "checksum" if has_checksums else "seq"  # the column read for it
        self.whole = 0
        self.note: str | None = None
        self._total = checksums.begin(self.name)
        self._asked: set[str] = set()

    def objection(self, row: Row) -> str | None:
        """Why a row cannot be the next event; None if it can, and then it counts."""
        kind, key, reward = row[0], row[1], row[3]
        if row[SEQ] != self.whole + 1:
            return "it is missing"
        if tuple(map(type, row[:STORED])) != TYPES or not isfinite(reward):
            return "it is not what was written"
        if kind not in KINDS and not (self._is_reserved and kind >= ev.RESERVED):
            return f"there is no kind {kind}"
        if self.whole == 0 and kind != ev.CREATED and not self._is_reserved:
            return "the log does not begin with the study's specification"
        if self.checksum != "seq" and not self._follows(row):
            return "it is not what was written: its checksum is another"
        if kind == ev.ASKED:
            self._asked.add(key)
        elif kind in ANSWERS and key not in self._asked:
            return f"it answers a pull that nobody asked for ({key})"
        self.whole += 1
        return None

    def _follows(self, row: Row) -> bool:
        """Whether the checksum of a row is that of an event after the last one."""
        stored = row[STORED]
        if checksums.damaged(self._total, [row]) is None:
            self._total = stored
            return True
        if self.whole or not checksums.is_renamed(self.name, row[: STORED + 1]):
            return False
        if self._is_named:
            self.note = "its name, or the time when it was begun, is not what was written"
        self._total = stored  # the events after it will tell
        return True


def _rows(connection: sqlite3.Connection, query: str) -> Iterator[Row | str]:
    """Every row that can be read, in order, and a complaint in place of those that cannot."""
    done: int | None = 0
    while done is not None:
        try:
            for row in connection.execute(query, (done, -1)):
                if row[SEQ] <= done:
                    raise sqlite3.DatabaseError("rows are out of order")
                done = row[SEQ]
                yield row
            return
        except sqlite3.Error as error:
            yield str(error)
        before, done = done, _behind(connection, query, done)
        if done is not None and done <= before:
            return  # rows out of order lead nowhere


def _behind(connection: sqlite3.Connection, query: str, done: int) -> int | None:
    """The number before the next row that can be read; None if there is none.

    A damaged page hides the rows from `done` on: the first that is not hidden is found by doubling
    the distance, then halving.
    """

    def hides(number: int) -> bool:
        try:
            connection.execute(query, (number, 1)).fetchone()
        except sqlite3.Error:
            return True
        return False

    hidden, ahead = done, done + 1
    while hides(ahead):
        if ahead > done + REACH:
            return None
        hidden, ahead = ahead, 2 * ahead - done
    while ahead - hidden > 1:
        middle = (hidden + ahead) // 2
        hidden, ahead = (middle, ahead) if hides(middle) else (hidden, middle)
    row = connection.execute(query, (ahead, 1)).fetchone()
    return None if row is None else int(row[SEQ]) - 1
