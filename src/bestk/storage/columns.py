"""Pulls asked for alone and told at once, read as columns: what makes a long log open quickly.

SQLite puts the two events of such a pull together and says of each only what the other does not;
the checksums are those of `checksums.py`, over the same bytes.
"""

from __future__ import annotations

import sqlite3
from itertools import chain, repeat
from zlib import crc32

import numpy as np

from bestk.storage.checksums import MASK, OFFSET
from bestk.storage.events import ALONE, ASKED, TOLD, Columns

FEW, MANY = 64, 1000  # pulls fetched first, and at most, at a time
PAIRS = f"""
SELECT a.key, a.arm, b.reward, a.at, b.at FROM log_{{0}} a JOIN log_{{0}} b ON b.seq = a.seq + 1
WHERE a.seq > ?1 AND a.seq <= ?1 + 2 * ?2 AND (a.seq - ?1) % 2 AND a.key = b.key
AND a.kind = {ASKED} AND a.data = '{ALONE}' AND a.reward = 0
AND b.kind = {TOLD} AND b.data = '' AND b.arm = -1 ORDER BY a.seq
"""
NUMBERS = np.dtype(
    [("kind", "<i8"), ("key", "<u4"), ("arm", "<i8"), ("reward", "<f8"), ("data", "<u4"),
     ("at", "<f8")]
)  # fmt: skip
TYPES = (str, int, float, float, float)


def fetch(connection: sqlite3.Connection, number: int, start: int, many: int) -> Columns | None:
    """So many such pulls from the event after number `start` on; None if not all are such."""
    rows = connection.execute(PAIRS.format(number), (start, many)).fetchall()
    if not rows or len(rows) < many:
        return None
    columns = Columns(*zip(*rows, strict=True))
    if any({type_} != set(map(type, column)) for type_, column in zip(TYPES, columns, strict=True)):
        return None
    return columns


def after(total: int, columns: Columns) -> int:
    """The checksum of the last event, if that before the first has the checksum `total`."""
    texts, numbers = divmod(total + OFFSET, MASK + 1)
    rows = np.zeros((len(columns.keys), 2), NUMBERS)
    rows["kind"], rows["key"] = (ASKED, TOLD), np.array(list(map(len, columns.keys)))[:, None]
    asked, told = rows[:, 0], rows[:, 1]
    asked["arm"], told["arm"] = columns.arms, -1
    told["reward"], asked["data"] = columns.rewards, len(ALONE)
    asked["at"], told["at"] = columns.asked, columns.told
    text = "".join(chain.from_iterable(zip(columns.keys, repeat(ALONE), columns.keys)))
    return (crc32(text.encode(), texts) << 32 | crc32(rows.tobytes(), numbers)) - OFFSET
