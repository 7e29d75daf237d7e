"""Addresses of studies: the name of a file, or `postgresql://` and so on; and of machines.

Passwords in an address are used to connect and never shown: the text of a `PostgresAddress` has
none, so that messages, reports and file names made from it cannot either.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote

from bestk.errors import StorageError

Address = str | os.PathLike[str]
SCHEMES = ("postgresql", "postgres")
SECRETS = (  # parameters of libpq
    "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
)  # fmt: skip
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_slip = re.compile(r"postgres(ql)?:|(.*\s)?password\s*=", re.IGNORECASE | re.DOTALL)


def recoverable(address: object) -> str:
    """Advice where a log is damaged, as a command that a shell takes as it stands."""
    return f"`bestk doctor {shlex.quote(str(address))}` says what can be recovered"


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
        if _slip.match(given):  # not a file's name, which would be shown
            raise StorageError(
                "the address was refused: of a database it is written postgresql://name@host/database"
            )
        return given
    if found[1].lower() in ("http", "https"):
        raise StorageError(
            f"the {found[1]}:// address was refused: this needs the log itself, in a file or at a"
            " postgresql:// address. A server's study is seen on its page: open the address in a"
            " browser; bestk.connect works on it; and who keeps it can run this there, or send a"
            " copy (`bestk backup`, `bestk export`)"
        )
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
