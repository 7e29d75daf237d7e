"""Pulls asked for alone and told at once, from Postgres as columns (`columns.py`).

The server puts each column of many events together, numbers as they are in memory (big-endian):
one row crosses the wire, and numpy reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, LiteralString

import numpy as np

from bestk.storage import columns
from bestk.storage.events import ALONE, ASKED, TOLD, Columns

FEW, MANY = 512, 16_384  # pulls fetched first, and at most, at a time
# a text cannot hide where it ends: there are as many ends as events
EVENTS: LiteralString = """
SELECT string_agg(key, ''), string_agg(int4send(char_length(key)), ''), string_agg(data || ';', ''),
    string_agg(int8send(kind), ''), string_agg(int8send(arm), ''),
    string_agg(float8send(reward), ''), string_agg(float8send(at), ''),
    (SELECT checksum FROM bestk_log WHERE study = %(study)s AND seq = %(last)s)
FROM (SELECT * FROM bestk_log WHERE study = %(study)s AND seq > %(start)s AND seq <= %(last)s
    ORDER BY seq) events
"""


def pairs(of: Callable[[Any], Columns | None], start: int) -> Iterator[Columns]:
    """Stretches of them, the longer the further; `of` does work on the study."""
    many = FEW
    while (found := of(_work(start, many))) is not None:
        yield found
        start, many = start + 2 * many, min(2 * many, MANY)


def _work(start: int, many: int) -> Callable[..., tuple[Columns, int, int] | None]:
    """So many from the event after number `start` on, compared with their checksums."""

    def work(
        connection: Any, number: int, before: Callable[[int], int]
    ) -> tuple[Columns, int, int] | None:
        last = start + 2 * many
        given = {"study": number, "start": start, "last": last}
        row = connection.execute(EVENTS, given, binary=True).fetchone()
        found = None if row[0] is None or row[-1] is None else _read(row, many)
        if found is None or columns.after(before(start), found) != row[-1]:
            return None  # of what is damaged `read` says what
        return found, last, row[-1]

    return work


def _read(row: tuple[Any, ...], many: int) -> Columns | None:
    """The columns, if all of these events are such pulls."""
    text, data = row[0], row[2]
    lengths = np.frombuffer(row[1], ">i4")
    kinds, arms = (np.frombuffer(column, ">i8") for column in row[3:5])
    rewards, at = (np.frombuffer(column, ">f8") for column in row[5:7])
    is_plain = (
        len(kinds) == 2 * many
        and data == f"{ALONE};;" * many
        and bool((kinds[0::2] == ASKED).all() and (kinds[1::2] == TOLD).all())
        and bool((arms[1::2] == -1).all() and (rewards[0::2] == 0).all())
    )
    if not is_plain:
        return None
    ends = pairwise([0, *np.cumsum(lengths).tolist()])
    keys = [text[start:end] for start, end in ends]
    if keys[0::2] != keys[1::2]:
        return None
    numbers = (column.tolist() for column in (arms[0::2], rewards[1::2], at[0::2], at[1::2]))
    return Columns(tuple(keys[0::2]), *map(tuple, numbers))
