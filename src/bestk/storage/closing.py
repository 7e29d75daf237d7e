"""Closing a connection, whoever lets go of it: the user, the end of the program, a fork."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bestk.storage import files, schema
from bestk.storage.identity import Watch


def close(
    connection: sqlite3.Connection,
    lock: threading.RLock,
    folder: Path | None,
    watch: Watch | None = None,
    unmarked: Iterable[int] = (),
) -> None:
    """Close a connection, noting how many events there are in the tables with these numbers."""
    with lock:
        if watch is not None:
            if watch.is_in_the_way():
                watch.give_up(connection)
                return
            watch.close()
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA busy_timeout = 1000")
            for number in unmarked:
                connection.execute(schema.MARK_ALL.format(number))
        connection.close()
    files.remove(folder)
