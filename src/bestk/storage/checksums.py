"""Checksums of events, each chained to the one before: a change, a swap or a gap shows, and where.

Two CRC-32 (zlib's) run along the log of a study, one over the numbers of its events and one over
their texts. An event adds to the first one 40 bytes, little-endian:

    kind (8), length of key (4), arm (8), reward (8, IEEE 754), length of data (4), at (8)

and to the second its key and its data in UTF-8; lengths are in characters. Before the first event
the one over numbers is that of the study's name in UTF-8, and the one over texts is 0. The file
holds, with every event, `texts * 2**32 + numbers - 2**63`.

With two of them the bytes of thousands of events are put together by a handful of calls, and only
the last result is compared: about 0.3 microseconds an event.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any
from zlib import crc32

CODES = "qIqdId"  # of the numbers, in the order of the columns
BLOCK = 2000  # events whose numbers are packed at once
OFFSET = 1 << 63  # SQLite's integers have a sign
MASK = 0xFFFFFFFF

_one = struct.Struct("<" + CODES)
_block = struct.Struct("<" + CODES * BLOCK)
Row = Sequence[Any]  # kind, key, arm, reward, data, at; of a damaged file: anything


def plain(event: Row) -> tuple[Any, ...]:
    """The fields of an event as they will be read back: SQLite knows no negative zero."""
    kind, key, arm, reward, data, at = event
    return kind, key, arm, reward + 0.0, data, at + 0.0


def begin(study: str) -> int:
    """What the first event of a study is chained to."""
    return crc32(study.encode()) - OFFSET


def after(total: int, row: Row) -> int:
    """The checksum of the event that follows one with the checksum `total`."""
    kind, key, arm, reward, data, at = row
    texts, numbers = divmod(total + OFFSET, MASK + 1)
    numbers = crc32(_one.pack(kind, len(key), arm, reward, len(data), at), numbers)
    return (crc32((key + data).encode(), texts) << 32 | numbers) - OFFSET


def numbered(seq: int, total: int, events: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Events that follow number `seq`: each with its number before it, its checksum behind."""
    rows = []
    for number, row in enumerate(map(plain, events), seq + 1):
        total = after(total, row)
        rows.append((number, *row, total))
    return rows


def after_all(total: int, rows: Sequence[Row]) -> int | None:
    """The checksum of the last of several events, quickly; None if they cannot be events."""
    texts, numbers = divmod(total + OFFSET, MASK + 1)
    whole = len(rows) - len(rows) % BLOCK
    try:
        for start in range(0, whole, BLOCK):
            flat, text = _parts(rows[start : start + BLOCK])
            numbers, texts = crc32(_block.pack(*flat), numbers), crc32(text, texts)
        flat, text = _parts(rows[whole:])
        packed = b"".join(map(_one.pack, *(flat[i::6] for i in range(6))))
    except (TypeError, ValueError, struct.error):  # a number for a text, and the like
        return None
    return (crc32(text, texts) << 32 | crc32(packed, numbers)) - OFFSET


def _parts(rows: Sequence[Row]) -> tuple[list[Any], bytes]:
    """The numbers of events with the lengths of their texts, and the texts."""
    flat = list(chain.from_iterable(rows))
    keys, data = flat[1::6], flat[4::6]
    flat[1::6], flat[4::6] = map(len, keys), map(len, data)
    return flat, "".join(chain.from_iterable(zip(keys, data, strict=True))).encode()


def damaged(total: int, rows: Iterable[Row]) -> int | None:
    """How many of the rows (fields and checksum) are sound, if not all of them are."""
    for sound, row in enumerate(rows):
        found = after_all(total, [row[:6]])
        if found is None or found != row[6]:
            return sound
        total = found
    return None


def is_renamed(study: str, row: Row) -> bool:
    """Whether of a first event that seems damaged it is the study's name that is.

    Its texts are what was written, and its numbers, but for the time, are those of any first event.
    """
    kind, _, arm, reward, _, _, stored = row
    if (kind, arm, reward) != (0, -1, 0.0) or not isinstance(stored, int):
        return False
    return (stored + OFFSET) >> 32 == (after(begin(study), row[:6]) + OFFSET) >> 32
