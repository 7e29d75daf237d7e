"""The server's own logs: of tokens and of pages, in the same storage as the studies.

Their names begin with `bestk:`, which no study's may. Events are of kind 100 and up and hold JSON,
so that every storage has them through the two methods that every storage has.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from bestk.storage import Storage
from bestk.storage.events import Event

TOKENS, PAGES = "bestk:tokens", "bestk:pages"
CREATED, REVOKED = 100, 101  # of tokens
SETTINGS, ITEMS = 100, 101  # of pages: how people see a study, and what its items are


class Record:
    """One of these logs, read from where it was read last."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage, self._name, self._seen = storage, name, 0

    def news(self) -> Iterator[tuple[int, str, Any]]:
        """Kind, key and data of what was written since."""
        for event in self._storage.read(self._name, self._seen):
            self._seen += 1
            yield event.kind, event.key, json.loads(event.data) if event.data else None

    def write(self, kind: int, key: str, data: Any = None) -> None:
        """One more event; durable on return."""
        text = "" if data is None else json.dumps(data, allow_nan=False)
        self._storage.append(self._name, [Event(kind, key, data=text, at=time.time())])
