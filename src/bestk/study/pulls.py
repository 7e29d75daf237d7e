"""Pulls, and who holds one: its name tells the process that asked for it, so that when that one
has died, and only then, the pull can be handed out again.

Two workers on one pull would void the guarantee: the faster answer would count, and how fast an
answer comes may depend on what it is. A holder is one study object in one process, known by its
token: a random part, the machine, the process and its start. A process of another machine (or
container) is taken for dead: give a lease where such processes share a study.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bestk.arguments import string

DEAD = ("Z", "X", "x")  # states of a process that has ended, though its parent has not noticed
NOBODY = "nobody"  # holds a pull that was given back
WORKER = "~"  # begins the token of a worker whose pulls a server asks for; it says when one is gone
_alive: weakref.WeakValueDictionary[str, Names] = weakref.WeakValueDictionary()  # by token


@dataclass(frozen=True, slots=True)
class Pull:
    """One sample to take: of `arm`, the index-th pull of the study; in an evaluation on `item`."""

    id: str
    arm: Hashable
    index: int
    item: Any = None  #: what the arm is to be scored on, in an evaluation
    position: int | None = None  #: of that item in the list


def key_of(pull: Pull | str) -> str:
    """The name of a pull, which may be given in its place."""
    return pull.id if isinstance(pull, Pull) else string(pull, "pull")


class Names:
    """Names for the pulls that one study object asks for; a forked child has others."""

    def __init__(self) -> None:
        self._process, self._token, self._given = 0, "", 0

    @property
    def token(self) -> str:
        """Of the holder, the first part of every name."""
        pid = os.getpid()
        if self._process != pid:
            started = _started(pid) or 0
            self._token = f"{secrets.token_hex(5)}.{_machine()}.{pid:x}.{started:x}"
            self._process, self._given = pid, 0
            _alive[self._token] = self
        return self._token

    def new(self) -> str:
        """The next name."""
        token = self.token
        self._given += 1
        return f"{token}-{self._given}"


class Requested:
    """Names for the pulls of one request to a server: the request again has the same names."""

    def __init__(self, token: str) -> None:
        self.token, self._given = token, 0

    def new(self) -> str:
        """The next name."""
        self._given += 1
        return self.name(self._given)

    def name(self, number: int) -> str:
        """The number-th name, from 1."""
        return f"{self.token}-{number}"


class Holders(dict[str, str]):
    """Who makes a pull: the one to whom it was handed over, else the one who asked for it."""

    def __missing__(self, key: str) -> str:
        return key.rpartition("-")[0]

    def hand_over(self, key: str, tokens: str) -> None:
        """From one to another, if it is still with the one from whom it was taken."""
        before, _, now = tokens.partition(" ")
        self[key] = now if now and before == self[key] else self[key]


def is_gone(token: str) -> bool:
    """Whether that holder has died: its process, or in this process its study object."""
    if token.startswith(WORKER):
        return False
    try:
        _, machine, pid, started = token.split(".")
        number, since = int(pid, 16), int(started, 16)
    except ValueError:
        return True  # NOBODY, or a name as version 0.1 gave them
    if machine != _machine():
        return True
    if number == os.getpid():
        return token not in _alive
    return _started(number) != since if since else not _exists(number)


@cache
def _machine() -> str:
    """Of this start of this machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        boot = ""
    return hashlib.sha256(f"{socket.gethostname()} {boot}".encode()).hexdigest()[:6]


def _started(pid: int) -> int | None:
    """When a process was started, in ticks; None where there is none, or nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in DEAD else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # it may be somebody else's
    return True
