"""Pulls asked for alone and told at once, from Postgres as columns (`columns.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, LiteralString

from bestk.storage import columns
from bestk.storage.events import ALONE, ASKED, TOLD, Columns

FEW, MANY = 512, 16_384  # pulls fetched first, and at most, at a time
PAIRS: LiteralString = """
SELECT key, arm, reward, asked, at, checksum FROM (
    SELECT seq, key, reward, at, checksum, kind, data, arm AS own, lag(key) OVER w AS before,
    lag(arm) OVER w AS arm, lag(at) OVER w AS asked, lag(kind) OVER w AS kind_before,
    lag(data) OVER w AS data_before, lag(reward) OVER w AS reward_before
    FROM bestk_log WHERE study = %s AND seq > %s AND seq <= %s WINDOW w AS (ORDER BY seq)
) events WHERE (seq - %s) %% 2 = 0 AND key = before AND kind_before = %s AND data_before = %s
AND reward_before = 0 AND kind = %s AND data = '' AND own = -1 ORDER BY seq
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
        given = (number, start, start + 2 * many, start, ASKED, ALONE, TOLD)
        rows = connection.execute(PAIRS, given, binary=True).fetchall()
        if len(rows) < many:
            return None
        *found, checksums = zip(*rows, strict=True)
        read = Columns(*found)
        if columns.after(before(start), read) != checksums[-1]:
            return None  # of what is damaged `read` says what
        return read, start + 2 * many, checksums[-1]

    return work
