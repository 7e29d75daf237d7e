"""Tokens: who may do what. Shown once when they are created, kept hashed, revocable.

A token is `bestk_ID_SECRET`. The secret has 256 random bits, so that its SHA-256 can be kept as it
is: slow, salted hashes protect secrets that people choose, of which there are few enough to try;
of these there are 2^256, and a fast hash lets a server check one at every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from bestk.errors import InputError, UnknownName
from bestk.server.records import CREATED, REVOKED, TOKENS, Record
from bestk.storage import Storage

PREFIX = "bestk"
ABILITIES = {
    "view": frozenset({"view"}),
    "rate": frozenset({"rate"}),
    "work": frozenset({"view", "rate", "work"}),
    "admin": frozenset({"view", "rate", "work", "admin"}),
}
ROLES = tuple(ABILITIES)
_DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|h|d|w|y)\s*")
LONGEST = 100 * 365 * 86400.0  # seconds: what outlives us all is said by leaving --expires out
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


@dataclass(frozen=True)
class Token:
    """One that was created; the secret is not here, only its hash."""

    id: str
    role: str
    hash: str
    study: str | None = None  # the only one that it is for
    created: float = 0.0  # seconds since 1970, as is the next
    expires: float | None = None
    note: str = ""

    def is_expired(self, now: float | None = None) -> bool:
        """Whether its time is over."""
        return self.expires is not None and (time.time() if now is None else now) >= self.expires

    def allows(self, ability: str, study: str | None) -> bool:
        """Whether it is for that, of that study; None: of all of them."""
        return ability in ABILITIES[self.role] and self.study in (None, study)


EVERYONE = Token("0", "admin", "")  # who asks where there are no tokens


def seconds_of(text: str) -> float:
    """A duration such as 30d, 12h or 45m."""
    found = _DURATION.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0.0 < seconds <= LONGEST:
        raise InputError(
            f"--expires {text} was refused: give a number with s, m, h, d, w or y, such as 30d, of"
            " at most a hundred years"
        )
    return seconds


class Tokens:
    """The tokens of a storage: looked up in memory, and read anew when something was written."""

    def __init__(self, storage: Storage) -> None:
        self._record, self._where = Record(storage, TOKENS), getattr(storage, "path", "memory")
        self._known: dict[str, Token] = {}
        self._were_any = False

    def read(self) -> None:
        """Take note of tokens that were created or revoked meanwhile, by whichever process."""
        for kind, id_, data in self._record.news():
            if kind == CREATED:
                self._known[id_] = Token(**data)
                self._were_any = True
            elif kind == REVOKED:
                self._known.pop(id_, None)

    def all(self) -> list[Token]:
        """Those that were not revoked, oldest first."""
        self.read()
        return list(self._known.values())

    @property
    def are_wanted(self) -> bool:
        """Whether there are any, or were: then nobody is let in without one.

        To revoke the last one must not open the doors.
        """
        return self._were_any

    def create(
        self, role: str, study: str | None = None, expires: float | None = None, note: str = ""
    ) -> tuple[Token, str]:
        """A new one, and the text that is shown once; it expires after so many seconds."""
        if role not in ABILITIES:
            raise UnknownName("role", role, ROLES)
        if study == "":  # as of a variable of the shell that is not set
            raise InputError(
                "--study '' was refused: name a study, or leave it out for all of them"
            )
        id_, secret, now = secrets.token_hex(4), secrets.token_urlsafe(32), time.time()
        until = None if expires is None else now + expires
        token = Token(id_, role, _hash(secret), study, now, until, note)
        self._record.write(CREATED, id_, asdict(token))
        self.read()
        return token, f"{PREFIX}_{id_}_{secret}"

    def revoke(self, id_: str) -> None:
        """Let one be of no use any more."""
        self.read()
        if not self._known:
            raise InputError(f"token {id_!r} was refused: there are no tokens in {self._where}")
        if id_ not in self._known:
            raise UnknownName("token", id_, self._known)
        self._record.write(REVOKED, id_)
        self.read()

    def find(self, text: str) -> Token | None:
        """The token that a text is; None for anything else. As long as it is not revoked."""
        prefix, _, rest = text.partition("_")
        id_, _, secret = rest.partition("_")
        token = self._known.get(id_)
        stored = token.hash if token is not None else _hash("")
        alike = hmac.compare_digest(_hash(secret), stored)  # in constant time
        if prefix != PREFIX or token is None or not alike or token.is_expired():
            return None
        return token

    def is_valid(self, token: Token) -> bool:
        """Whether one that was found before still is."""
        if token is EVERYONE:
            return not self._were_any
        return self._known.get(token.id) == token and not token.is_expired()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def described(token: Token, moment: Callable[[float | None], str | None]) -> dict[str, Any]:
    """What is told of a token, which its hash is no part of."""
    return {
        "id": token.id,
        "role": token.role,
        "study": token.study,
        "created": moment(token.created),
        "expires": moment(token.expires),
        "expired": token.is_expired(),
        "note": token.note,
    }
