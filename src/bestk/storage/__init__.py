"""Event logs: the records, the two-method protocol with its options, and two implementations."""

from bestk.storage.events import (
    ClosingStorage,
    CountingStorage,
    Event,
    ExclusiveStorage,
    ListingStorage,
    Storage,
)
from bestk.storage.memory import MemoryStorage
from bestk.storage.sqlite import SQLiteStorage

__all__ = [
    "ClosingStorage",
    "CountingStorage",
    "Event",
    "ExclusiveStorage",
    "ListingStorage",
    "MemoryStorage",
    "SQLiteStorage",
    "Storage",
]
