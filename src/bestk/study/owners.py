"""Who holds a pull: its name tells the process that asked for it, so that when that one has died,
and only then, the pull can be handed out again.

Two workers on one pull would void the guarantee: the faster answer would count, and how fast an
answer comes may depend on what it is. A process is known by its machine, number and start. One of
another machine (or container) is taken for dead: give a lease where such processes share a study.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from functools import cache
from pathlib import Path

DEAD = ("Z", "X", "x")  # states of a process that has ended, though its parent has not noticed


class Names:
    """Names for the pulls of one study in one process; no other process gives them, a child
    neither."""

    def __init__(self) -> None:
        self._process, self._token, self._given = 0, "", 0

    def new(self) -> str:
        """The next one."""
        pid = os.getpid()
        if self._process != pid:
            started = _started(pid) or 0
            self._token = f"{secrets.token_hex(5)}.{_machine()}.{pid:x}.{started:x}"
            self._process, self._given = pid, 0
        self._given += 1
        return f"{self._token}-{self._given}"


def is_abandoned(key: str, reopened: bool) -> bool:
    """Whether the process that asked for a pull has died.

    `reopened`: the study was opened just now, and takes over what this process asked for before.
    """
    try:
        _, machine, pid, started = key.rpartition("-")[0].split(".")
        number, since = int(pid, 16), int(started, 16)
    except ValueError:
        return reopened  # a name as version 0.1 gave them
    if machine != _machine():
        return True
    if number == os.getpid():
        return reopened
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
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
