"""Requests to a server: connections that stay open, and repeats that change nothing.

Whatever is sent may be sent again: the server knows a request, a pull and an observation by its id
and takes it once. So a request whose answer was lost is simply repeated.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import threading
import time
import warnings
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from bestk import errors
from bestk.addresses import is_loopback
from bestk.errors import BestkError, InputError, StorageError

SCHEMES = ("http", "https")
TOKEN = "BESTK_TOKEN"  # the environment variable
TIMEOUT = 20.0  # seconds for an answer; as the next five, arbitrary
PATIENCE = 60.0  # seconds in which a request is repeated: more, so that a lost answer is asked for
NEW = 5.0  # the same while nobody has answered yet: the address may be wrong
QUIET = 2.0  # seconds of trying again before it is said
FIRST, LONGEST = 0.1, 5.0  # seconds before the second attempt, and at most between two
AGAIN = (429, 502, 503, 504)  # what a repeat may mend
NOBODY = (ConnectionRefusedError, socket.gaierror)  # no program, or no machine, is there
LOG = logging.getLogger("bestk")


class Forbidden(InputError):
    """What the token is not for."""


class Missing(InputError):
    """What is not there."""


REFUSED: dict[int, type[InputError]] = {403: Forbidden, 404: Missing}


def is_server(address: object) -> bool:
    """Whether an address is that of a server."""
    return isinstance(address, str) and address.partition("://")[0].lower() in SCHEMES


class _Line:
    """An open connection of one thread, closed when nobody has it any more."""

    def __init__(self, connection: HTTPConnection) -> None:
        self.pid, self.connection = os.getpid(), connection

    def __del__(self) -> None:
        self.connection.close()


class Connection:
    """A server as one token may use it; every thread has a connection of its own."""

    def __init__(self, url: str, token: str | None = None, patience: float = PATIENCE) -> None:
        try:
            parts = urlsplit(url)
            self._where = parts.hostname or "", parts.port
        except ValueError as error:
            raise InputError(f"the address {url!r} was refused: {error}") from None
        if parts.scheme not in SCHEMES or not parts.hostname or parts.username or parts.query:
            raise InputError("the address was refused: give http://HOST:PORT or https://HOST")
        self.url, self._is_safe = url.rstrip("/"), parts.scheme == "https"
        self._base = parts.path.rstrip("/")
        self._token = os.environ.get(TOKEN) if token is None else token
        if self._token and not self._is_safe and not is_loopback(parts.hostname):
            warnings.warn(
                f"the token goes to {parts.hostname} over plain http, where others can read it;"
                " use https (docs/server.md, TLS and proxies)",
                stacklevel=3,
            )
        self._patience = patience
        self._was_heard, self._is_told = False, False  # anything yet; that nobody answers now
        self._of_thread = threading.local()

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"  # the token is not for logs

    def get(self, *path: str) -> Any:
        """What is at a path, whose parts may hold anything."""
        return self._call("GET", path, None)

    def post(self, *path: str, **data: Any) -> Any:
        """What comes of sending that."""
        try:
            body = json.dumps(data, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InputError(f"the data to send was refused: it is not JSON ({error})") from None
        return self._call("POST", path, body)

    def _call(self, method: str, path: tuple[str, ...], body: bytes | None) -> Any:
        target = f"{self._base}/" + "/".join(quote(part, safe="") for part in path)
        began, pause = time.monotonic(), FIRST
        until = began + self._patience
        while True:
            asked = 0.0
            try:
                status, text, asked = self._once(method, target, body)
                self._was_heard = True
                if status not in AGAIN:
                    self._is_told = False
                    return _read(status, text)
                trouble: BestkError = _error(status, text)
                is_silent = status != 429
            except (OSError, HTTPException) as error:
                self._drop()
                is_silent = True
                why = f"{type(error).__name__}: {error}"
                trouble = StorageError(f"{self.url} does not answer ({why})")
                if isinstance(error, NOBODY) and not self._was_heard:
                    until = min(until, began + NEW)
                    trouble = StorageError(
                        f"nothing answers at {self.url}; is `bestk serve` running there? ({why})"
                    )
            now = time.monotonic()
            if now >= until or now + asked > until:
                raise trouble
            wait = max(asked, min(pause * (0.5 + random.random()), until - now))
            if is_silent and now + wait - began >= QUIET and not self._is_told:
                self._is_told = True
                LOG.warning("bestk: %s; trying again for %.0f s", trouble, until - now)
            time.sleep(wait)
            pause = min(LONGEST, 2.0 * pause)

    def _once(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes, float]:
        """Status, body, and the seconds that the server asks to wait."""
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._open()
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        after = answer.headers.get("Retry-After", "")
        return answer.status, text, float(after) if after.isdigit() else 0.0

    def _open(self) -> HTTPConnection:
        found: _Line | None = getattr(self._of_thread, "line", None)
        if found is None or found.pid != os.getpid():  # a forked child has its own
            kind = HTTPSConnection if self._is_safe else HTTPConnection
            found = self._of_thread.line = _Line(kind(*self._where, timeout=TIMEOUT))
        return found.connection

    def _drop(self) -> None:
        self._of_thread.line = None


def _read(status: int, text: bytes) -> Any:
    if status >= 300:
        raise _error(status, text)
    try:
        return json.loads(text)
    except ValueError:
        raise StorageError("the answer was refused: it is not from a bestk server") from None


def _error(status: int, text: bytes) -> BestkError:
    """What the server said, as the error that it was there."""
    try:
        data = json.loads(text)
        name, said = str(data["error"]), str(data["message"])
    except (ValueError, KeyError, TypeError):
        return StorageError(f"the server answered {status}")
    kind = getattr(errors, name, None)
    if status in AGAIN:
        return StorageError(f"the server answered {status}: {said}")
    if status == 401:
        return InputError(
            f"no valid token: set {TOKEN} or give connect() one; `bestk token create` makes one"
        )
    if status in REFUSED:
        return REFUSED[status](said)
    plain = (errors.InputError, errors.PullError, errors.StorageError)
    if kind in plain:
        return kind(said)  # type: ignore[no-any-return]
    return InputError(said)
