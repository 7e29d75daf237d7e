"""A log in memory: for studies that need not outlive the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bestk.storage import forks
from bestk.storage.events import Event


class MemoryStorage:
    """Logs as lists; threads may share it."""

    def __init__(self) -> None:
        self._logs: dict[str, list[Event]] = {}
        self._lock = threading.RLock()
        forks.guard(self, self._lock, forks.STORAGE)

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none."""
        batch = tuple(events)  # first: a sequence may raise half way
        with self._lock:
            self._logs.setdefault(study, []).extend(batch)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else appends meanwhile."""
        with self._lock:
            yield

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on."""
        return iter(self._logs.get(study, ())[start:])

    def studies(self) -> list[str]:
        """The names of all studies, oldest first."""
        with self._lock:
            return list(self._logs)

    def appended(self, study: str) -> int:
        """The number of the last event, which was appended here like all of them."""
        return len(self._logs.get(study, ()))
