"""Event logs: the records, the two-method protocol, and its two implementations."""

from bestk.storage.events import Event, Storage
from bestk.storage.memory import MemoryStorage
from bestk.storage.sqlite import SQLiteStorage

__all__ = ["Event", "MemoryStorage", "SQLiteStorage", "Storage"]
