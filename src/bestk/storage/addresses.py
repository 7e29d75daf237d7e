"""From an address to its storage; whatever takes the file of a study takes an address."""

from __future__ import annotations

from typing import Protocol

from bestk.addresses import Address, PostgresAddress, file_at, read_address
from bestk.storage.events import ClosingStorage, CountingStorage, ListingStorage
from bestk.storage.sqlite import SQLiteStorage

__all__ = ["Address", "KeptStorage", "PostgresAddress", "file_at", "open_storage", "read_address"]

IMPATIENT, REST = 1.0, 1.0  # seconds; arbitrary


class KeptStorage(ListingStorage, CountingStorage, ClosingStorage, Protocol):
    """A storage that has an address."""

    @property
    def path(self) -> Address:
        """Where it is, as people may see it."""
        ...

    def last_activity(self, study: str) -> float | None:
        """When the last event was written, in seconds since 1970."""
        ...


def open_storage(
    address: Address,
    *,
    read_only: bool = False,
    durability: str = "process",
    is_impatient: bool = False,
) -> KeptStorage:
    """The storage at an address.

    With `read_only` it must be there, and nothing about it is changed. `durability` is what an
    append survives on return: the death of the process, or ("full") a power cut too; that of a
    database is for its server to say. With `is_impatient` a lock is waited for a second, and a
    database that is away not at all, nor tried again for a second: for those who keep others
    waiting.
    """
    read = read_address(address)
    waits = {"patience": IMPATIENT} if is_impatient else {}
    if isinstance(read, PostgresAddress):
        from bestk.storage.postgres import PostgresStorage

        rests = {"rest": REST} if is_impatient else {}
        return PostgresStorage(read, read_only=read_only, **waits, **rests)
    return SQLiteStorage(read, durability, read_only=read_only, **waits)
