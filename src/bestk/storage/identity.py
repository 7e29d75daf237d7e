"""Is the file that is open still the one that has its name?

SQLite goes on writing to a file that was deleted or replaced: what is told to it is acknowledged,
and gone. The same happens to the write-ahead file when this process loses its locks, which is what
opening and closing the file by other means does, a copy for instance: another process then takes
itself for the last one, and removes it.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import time
import weakref
from contextlib import suppress
from pathlib import Path

SETTLED = 0.1  # seconds: the clocks of file systems that tell fractions of a second are finer
SWAPPED = (
    "{} was refused: {} while it was open; the last events told to it may not be in the file. Open"
    " the study in a new process and look; to copy a file that is open, use `bestk backup`"
)
Identity = tuple[int, int] | None  # device and inode


class Watch:
    """The file and its write-ahead file, as they were when the connection was made.

    As long as their folder has not changed they cannot have been swapped. To look at the folder
    costs a fifth of looking at both files.
    """

    def __init__(self, path: Path) -> None:
        self._names = str(path), f"{path}-wal"
        self._file, self._wal = map(_identity, self._names)
        self._settled: int | None = None  # when the folder last changed, if that was a while ago
        self._folder: int | None = None
        with suppress(OSError):  # some systems open no folders
            self._folder = os.open(path.parent, os.O_RDONLY)
        _watches.add(self)

    def close(self) -> None:
        """Let the folder go."""
        folder, self._folder = self._folder, None
        _watches.discard(self)
        if folder is not None:
            os.close(folder)

    def give_up(self, connection: sqlite3.Connection) -> None:
        """Let all go, but never close the connection.

        Closing moves pages into a file that others may have written to since.
        """
        _given_up.add(self._file)
        self.close()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def is_stale(self, file: Identity) -> bool:
        """Whether a connection to that file writes where nobody else reads."""
        # one that another thread has closed meanwhile has left the set before its files changed
        return file == self._file and self._compared() is not None and self in _watches

    def is_in_the_way(self) -> bool:
        """Whether to close the connection could harm what others have put in its place."""
        return self._compared() is not None and any(map(_identity, self._names))

    def swapped(self) -> str | None:
        """What has happened to them; None if they are the same still."""
        changed = 0 if self._folder is None else os.fstat(self._folder).st_ctime_ns
        if changed and changed == self._settled:
            return None
        before = (time.time() - SETTLED) * 1e9
        what = self._compared()
        is_fine = changed % 1_000_000_000 != 0  # tells fractions of seconds
        self._settled = changed if what is None and is_fine and changed < before else None
        return what

    def _compared(self) -> str | None:
        file, wal = map(_identity, self._names)
        if file != self._file:
            return "it was removed" if file is None else "another file was put in its place"
        if self._wal is None:  # SQLite makes it when it first needs it
            self._wal = wal
        if wal == self._wal:
            return None
        what = "removed" if wal is None else "replaced"
        return (
            f"its write-ahead file was {what}, as happens after a process that has it open has"
            " copied it or opened it by other means,"
        )


def _identity(name: str) -> Identity:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_watches: weakref.WeakSet[Watch] = weakref.WeakSet()  # of connections that are open
_given_up: set[Identity] = set()  # files whose connections are never closed


def stale(path: Path) -> str | None:
    """Why this process cannot open a file: SQLite would share what it has of a swapped one."""
    file = _identity(str(path))
    if file is not None and (file in _given_up or any(w.is_stale(file) for w in list(_watches))):
        return (
            "files beside it were swapped while this process had it open, so that this process"
            " cannot read it any more; open it in a new one"
        )
    return None
