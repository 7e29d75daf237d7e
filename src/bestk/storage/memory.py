"""A log in memory: for studies that need not outlive the process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bestk.storage.events import Event


class MemoryStorage:
    """Logs as lists; threads may share it."""

    def __init__(self) -> None:
        self._logs: defaultdict[str, list[Event]] = defaultdict(list)

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log."""
        self._logs[study].extend(events)  # one step under the interpreter's lock

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on."""
        return iter(self._logs[study][start:])

    def length(self, study: str) -> int:
        """How many events there are."""
        return len(self._logs[study])
