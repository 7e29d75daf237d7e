"""A log in memory: for studies that need not outlive the process."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bestk.storage import forks
from bestk.storage.events import Event


class MemoryStorage:
    """Logs as lists; threads may share it."""

    def __init__(self) -> None:
        self._logs: defaultdict[str, list[Event]] = defaultdict(list)
        self._lock = threading.RLock()
        forks.guard(self, self._lock, forks.STORAGE)

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log."""
        with self._lock:
            self._logs[study].extend(events)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else appends meanwhile."""
        with self._lock:
            yield

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on."""
        return iter(self._logs[study][start:])

    def appended(self, study: str) -> int:
        """The number of the last event, which was appended here like all of them."""
        return len(self._logs[study])
