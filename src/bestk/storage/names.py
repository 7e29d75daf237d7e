"""Names of logs: those of studies, and those that are reserved.

A server keeps what it knows beside the studies (tokens, settings of pages) in the same storage, in
logs with reserved names, as events of kinds from `events.RESERVED` on: every storage has them, and
a copy of it too.
"""

from __future__ import annotations

from bestk.storage.events import ListingStorage

PREFIX = "bestk:"  # of reserved names


def is_reserved(name: str) -> bool:
    """Whether a log of that name is no study; no study may be called so."""
    return name.startswith(PREFIX)


def names_of_studies(storage: ListingStorage) -> list[str]:
    """Those of all studies in a storage, oldest first, for people: reserved ones are left out."""
    return [name for name in storage.studies() if not (isinstance(name, str) and is_reserved(name))]
