"""Running commands: each in a process group of its own, timed, and leaving nothing behind."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from bestk.errors import InputError

COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # of terminals
READ = 1 << 24  # bytes: of a longer output the end is read
NOT_FOUND, NOT_RUNNABLE = 127, 126  # the codes of the shell
LAST_WORDS = 200  # characters of the line that a failed command ends with
PATIENCE = 5.0  # seconds for killed processes to go

_lock = threading.Condition()
_running: set[subprocess.Popen[bytes]] = set()  # none of them reaped yet: their ids are theirs
_ending: set[subprocess.Popen[bytes]] = set()  # killed, about to be reaped
_closed = False


class Finished(NamedTuple):
    """What came of a command; a code below 0 is the signal that ended it."""

    code: int
    output: str
    errors: str
    seconds: float  # wall time from before the start to the end of the process
    timed_out: bool


def how_it_failed(done: Finished, limit: float | None = None) -> str:
    """How a command ended that did not end well, and the last line of what it said of it.

    That is of its complaint, or else of its output. `limit` is the one that a late one exceeded.
    """
    if done.timed_out and limit is not None:
        how = f"no end within {limit:g} seconds"
    elif done.code >= 0:
        how = f"exit code {done.code}"
    else:
        try:
            how = f"ended by {signal.Signals(-done.code).name}"
        except ValueError:  # real-time signals have no names
            how = f"ended by signal {-done.code}"
    for text in (done.errors, done.output):
        if lines := text.strip().splitlines():  # without what would steer a terminal
            plain = "".join(c for c in COLOURS.sub("", lines[-1]) if c.isprintable())
            return f"{how}: {plain.strip()[-LAST_WORDS:]}"
    return how


def split(command: str | Sequence[str]) -> list[str]:
    """The arguments of a command line, by the quoting rules of the shell."""
    if not isinstance(command, str):
        return list(command)
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"command {command!r} was refused: {error}") from error


def run_command(
    command: str | Sequence[str],
    *,
    shell: bool = False,
    timeout: float | None = None,
    capture: bool = True,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    given: str | None = None,
) -> Finished:
    """Run a command to its end, or for `timeout` seconds, and time it.

    A text is split like a command line, or handed to `sh` with `shell`. It reads `given` as its
    standard input, or none; `env` is added to the environment. When it ends, whatever it left
    running in its process group is killed: what is meant to stay must start a session of its own. A
    command that cannot be started ends with code 127 (not found) or 126, as in a shell.
    `capture=False` throws its output away.
    """
    if shell:
        line = command if isinstance(command, str) else shlex.join(command)
        arguments = ["/bin/sh", "-c", line]
    else:
        arguments = split(command)
    if not arguments:
        raise InputError("an empty command was refused")
    with ExitStack() as stack:
        # files, not pipes: a pipe ends only when the last process that inherited it has gone
        kept = [stack.enter_context(TemporaryFile()) for _ in range(2)] if capture else []
        environment, stdin = None if env is None else {**os.environ, **env}, None
        if given is not None:
            stdin = stack.enter_context(TemporaryFile())
            stdin.write(given.encode("utf-8", "backslashreplace"))
            stdin.seek(0)
        try:
            code, seconds, timed_out = _run(arguments, kept, cwd, environment, timeout, stdin)
        except (OSError, ValueError) as error:  # ValueError: a null character
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
            why = getattr(error, "strerror", None) or str(error)
            what = getattr(error, "filename", None) or arguments[0]
            return Finished(code, "", f"{what}: {why}", 0.0, False)
        output, errors = map(_text, kept) if capture else ("", "")
        return Finished(code, output, errors, seconds, timed_out)


def _run(
    arguments: list[str],
    kept: Sequence[IO[bytes]],  # the files of its output and its complaints, or none
    cwd: str | os.PathLike[str] | None,
    env: dict[str, str] | None,
    timeout: float | None,
    stdin: IO[bytes] | None,
) -> tuple[int, float, bool]:
    output, errors = kept or (subprocess.DEVNULL,) * 2
    with _lock:  # so that whoever kills all sees this one too
        if _closed:
            raise OSError("the program is ending")
        started = time.perf_counter()
        process = subprocess.Popen(
            arguments, stdin=stdin or subprocess.DEVNULL, stdout=output, stderr=errors, cwd=cwd,
            env=env, start_new_session=True,
        )  # fmt: skip
        _running.add(process)
    late = threading.Event()
    timer = None
    try:
        if timeout is not None and timeout < threading.TIMEOUT_MAX:  # beyond it: 292 years
            timer = threading.Timer(timeout, _cut, (process, late))
            timer.daemon = True
            timer.start()
        _await_end(process)
        seconds = time.perf_counter() - started
    finally:
        if timer is not None:
            timer.cancel()
        with _lock:
            _kill(process)
            _running.discard(process)
            _ending.add(process)
        process.wait()
        with _lock:
            _ending.discard(process)
            _lock.notify_all()
    return process.returncode, seconds, late.is_set()


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """Until it ends, without reaping it where that can be had: until then its id is not reused.

    `Popen.wait` with a timeout would poll, up to 50 ms late, and spoil the time.
    """
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def _cut(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    with _lock:
        if process in _running:
            late.set()
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill its group, the lock held; nothing happens if all of it has gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _text(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - READ))
    return file.read().decode(errors="replace")


def kill_running() -> None:
    """Kill every command that still runs, with all its children, and see them go."""
    with _lock:
        for process in _running:
            _kill(process)
        _lock.wait_for(lambda: not _running and not _ending, PATIENCE)


@atexit.register
def _close() -> None:
    """No command outlives the program, and none starts while it ends."""
    global _closed  # noqa: PLW0603 - the process ends once
    _closed = True
    kill_running()


def heed_signals() -> None:
    """Let SIGTERM and SIGHUP end the program as Ctrl-C does, so that its commands end too.

    They run in sessions of their own, which a closing terminal does not reach.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # ignored ones stay so: nohup
            signal.signal(number, signal.default_int_handler)
