"""Starting a process and seeing it end, with little between the clock and the process.

`os.posix_spawn` (POSIX.1-2017) starts a child with fewer steps than `subprocess`, which has to do
more for what it offers beyond (`benchmarks/spawn.py` says what is left). Where that is not to be
had, or a folder or an environment is asked for, `subprocess` does it.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores these; programs expect the default
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes; getrusage(2) of either system
LONGEST = 1_000_000.0  # seconds of one wait; the system counts milliseconds in 32 bits


class Usage(NamedTuple):
    """What the system says of a process that has ended, its reaped children included."""

    user: float  # seconds of processor time
    system: float
    memory: int  # the most it held, bytes; on Linux no less than we held when it was started


class Process:
    """A child that has not been reaped: until then its id, also that of its group, is its own."""

    def __init__(self, pid: int, started: float) -> None:
        self.pid = pid
        self.started = started  # by `time.perf_counter`, just before
        self._ended: tuple[int, Usage] | None = None

    def kill(self) -> None:
        """Kill it and all of its group; nothing happens if all of it has gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def reap(self) -> tuple[int, Usage]:
        """Its code, below 0 the signal that ended it, and what it used; waits for its end."""
        if self._ended is None:
            _, status, used = os.wait4(self.pid, 0)
            usage = Usage(used.ru_utime, used.ru_stime, used.ru_maxrss * RSS_UNIT)
            self._ended = os.waitstatus_to_exitcode(status), usage
        return self._ended

    def seconds(self) -> float:
        """How long it took; waits for its end, without reaping it where that can be had."""
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            self.reap()
        return time.perf_counter() - self.started


def spawn(
    arguments: list[str],
    files: tuple[int, int, int],
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Process:
    """Start a process in a session of its own, with these files as its input and outputs."""
    if cwd is None and env is None and hasattr(os, "posix_spawnp"):
        actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(files)]
        with suppress(NotImplementedError):  # a system without POSIX_SPAWN_SETSID
            started = time.perf_counter()
            pid = os.posix_spawnp(
                arguments[0], arguments, os.environ, file_actions=actions, setsid=True,
                setsigdef=RESTORED,
            )  # fmt: skip
            return Process(pid, started)
    started = time.perf_counter()
    stdin, stdout, stderr = files
    made = subprocess.Popen(
        arguments, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env,
        start_new_session=True,
    )  # fmt: skip
    made.returncode = 0  # `reap` waits for it
    return Process(made.pid, started)


def await_end(
    process: Process, timeout: float | None, cut: Callable[[], None]
) -> tuple[float, bool]:
    """Its seconds, and whether `cut` was called as it had not ended in time; does not reap it.

    `Popen.wait` with a timeout would poll, up to 50 ms late, and a timer is a thread to be started.
    """
    if timeout is None or timeout >= threading.TIMEOUT_MAX:  # beyond it: 292 years
        return process.seconds(), False
    if not hasattr(os, "pidfd_open"):  # not Linux
        return _timed(process, timeout, cut)
    file = os.pidfd_open(process.pid)
    try:
        ends = select.poll()
        ends.register(file, select.POLLIN)
        while not ends.poll(1e3 * min(LONGEST, max(0.0, _left(process, timeout)))):
            if _left(process, timeout) <= 0.0:
                cut()
                return process.seconds(), True
    finally:
        os.close(file)
    return time.perf_counter() - process.started, False


def _left(process: Process, timeout: float) -> float:
    return process.started + timeout - time.perf_counter()


def _timed(process: Process, timeout: float, cut: Callable[[], None]) -> tuple[float, bool]:
    late = threading.Event()

    def act() -> None:
        late.set()
        cut()

    timer = threading.Timer(max(0.0, _left(process, timeout)), act)
    timer.daemon = True
    timer.start()
    try:
        return process.seconds(), late.is_set()
    finally:
        timer.cancel()
