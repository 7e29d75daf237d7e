"""How long pulls have been open, by the steady clock of this process.

The times in the log are those of other processes' clocks, which may be a day off, or be set. A
lease runs from when this process first saw the pull, so that no clock can cut one short.
"""

from __future__ import annotations

import time
from collections.abc import Iterable


class Leases:
    """Of the open pulls of a study; `lease` in seconds, None for ever."""

    def __init__(self, lease: float | None) -> None:
        self._lease = lease
        self._since: dict[str, float] = {}  # when a pull was first seen

    def see(self, key: str) -> None:
        """A pull is open now."""
        if self._lease is not None:
            self._since.setdefault(key, time.monotonic())

    def lapsed(self, open_: Iterable[str]) -> list[str]:
        """Which of all open pulls have been so for too long."""
        if self._lease is None:
            return []
        now = time.monotonic()
        self._since = {key: self._since.get(key, now) for key in open_}
        return [key for key, since in self._since.items() if now - since > self._lease]
