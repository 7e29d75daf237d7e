"""From an address to its storage: the name of a file, or `postgresql://` and so on.

Whatever takes the file of a study takes an address. Passwords in it are used to connect and never
shown: the text of a `PostgresAddress` has none, so that messages, reports and file names made from
it cannot either.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from bestk.errors import StorageError
from bestk.storage.events import ClosingStorage, CountingStorage, ListingStorage
from bestk.storage.sqlite import SQLiteStorage

Address = str | os.PathLike[str]
SCHEMES = ("postgresql", "postgres")
SECRETS = ("password", "sslpassword")  # parameters of libpq
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class KeptStorage(ListingStorage, CountingStorage, ClosingStorage, Protocol):
    """A storage that has an address."""

    @property
    def path(self) -> Address:
        """Where it is, as people may see it."""
        ...

    def last_activity(self, study: str) -> float | None:
        """When the last event was written, in seconds since 1970."""
        ...


class PostgresAddress(str):
    """The address of a Postgres database, without passwords; `url` is the whole of it.

    It is read as libpq reads it (PostgreSQL's manual, "Connection URIs").
    """

    url: str

    def __new__(cls, url: str) -> PostgresAddress:
        """Refuse an address of which it is not clear where a password ends."""
        scheme, _, rest = url.partition("://")
        before = re.match("[^@/]*@", rest)
        user = before[0][:-1].partition(":")[0] if before else ""
        place, mark, query = rest[before.end() if before else 0 :].partition("?")
        if "@" in place or "#" in rest:
            raise StorageError(
                f"the {scheme}:// address was refused: in a name or password write %40 for @, %2F"
                " for /, %23 for #, and so on"
            )
        kept = [each for each in query.split("&") if unquote(each.partition("=")[0]) not in SECRETS]
        shown = f"{scheme}://" + f"{user}@" * bool(user) + place
        self = super().__new__(cls, shown + mark * any(kept) + "&".join(kept))
        self.url = url
        return self

    def __getnewargs__(self) -> tuple[str]:
        return (self.url,)


def read_address(given: Address) -> Address:
    """An address that may be shown: a `PostgresAddress`, or what was given, which names a file."""
    if not isinstance(given, str) or isinstance(given, PostgresAddress):
        return given
    found = _scheme.match(given)
    if found is None:
        return given
    if found[1] not in SCHEMES:
        raise StorageError(
            f"the {found[1]}:// address was refused: a study is kept in a file or at a"
            " postgresql:// address"
        )
    return PostgresAddress(given)


def file_at(address: Address) -> Path | None:
    """The file that an address names; None if it names none."""
    read = read_address(address)
    return None if isinstance(read, PostgresAddress) else Path(read)


def open_storage(
    address: Address, *, read_only: bool = False, durability: str = "process"
) -> KeptStorage:
    """The storage at an address.

    With `read_only` it must be there, and nothing about it is changed. `durability` is what an
    append survives on return: the death of the process, or ("full") a power cut too; that of a
    database is for its server to say.
    """
    read = read_address(address)
    if isinstance(read, PostgresAddress):
        raise StorageError(f"{read} was refused: Postgres is not there yet")
    return SQLiteStorage(read, durability, read_only=read_only)
