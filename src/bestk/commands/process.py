"""Running commands: each in a process group of its own, timed, and leaving nothing behind."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Literal, NamedTuple

from bestk.commands.spawn import Process, Usage, await_end, spawn
from bestk.errors import InputError

Output = Literal["keep", "null", "pipe", "inherit"] | Path

COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # of terminals
READ = 1 << 24  # bytes: of a longer output the end is read
NOT_FOUND, NOT_RUNNABLE = 127, 126  # the codes of the shell
CHUNK = 1 << 16  # bytes that are read from a pipe at a time
LAST_WORDS = 200  # characters of the line that a failed command ends with
PATIENCE = 5.0  # seconds for killed processes to go
HEED = 0.2  # seconds of one wait: an interrupt that comes just before one does not end it

_lock = threading.Condition()
_running: set[Process] = set()  # none of them reaped yet: their ids are theirs
_ending: set[Process] = set()  # killed, about to be reaped
_closed = False


class Finished(NamedTuple):
    """What came of a command; a code below 0 is the signal that ended it."""

    code: int
    output: str
    errors: str
    seconds: float  # wall time from before the start to the end of the process
    timed_out: bool
    usage: Usage | None = None  # None if it could not be started


class Claim:
    """A run of a command that can be given up, whether its process is there yet or not."""

    def __init__(self) -> None:
        self.process: Process | None = None
        self.is_given_up = False

    def give_up(self) -> None:
        """Kill its process; none is started any more."""
        with _lock:
            self.is_given_up = True
            if self.process in _running:
                self.process.kill()


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
    output: Output = "keep",
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    given: str | Path | None = None,
) -> Finished:
    """Run a command to its end, or for `timeout` seconds, and time it.

    A text is split like a command line, or handed to `sh` with `shell`. It reads `given` as its
    standard input, a text or a file, or none; `env` is added to the environment. When it ends,
    whatever it left running in its process group is killed: what is meant to stay must start a
    session of its own. A command that cannot be started ends with code 127 (not found) or 126, as
    in a shell.

    `output` says what becomes of its standard output: kept ("keep"), thrown away ("null"), read
    through a pipe and thrown away ("pipe"), left to ours ("inherit", its complaints too), or
    written to a file. Complaints are kept.
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
        kept = [stack.enter_context(TemporaryFile()) for _ in range(2)]
        environment = None if env is None else {**os.environ, **env}
        stdin = stack.enter_context(_input(given))
        files = (stdin.fileno(), *_outputs(stack, output, kept))
        try:
            done = _undisturbed(partial(_run, arguments, files, cwd, environment, timeout))
        except (OSError, ValueError) as error:  # ValueError: a null character
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
            why = getattr(error, "strerror", None) or str(error)
            what = getattr(error, "filename", None) or arguments[0]
            return Finished(code, "", f"{what}: {why}", 0.0, False)
        printed, errors = map(_text, kept)
        return done._replace(output=printed, errors=errors)


def _input(given: str | Path | None) -> IO[bytes]:
    """What a command reads: a text, a file, or nothing."""
    if not isinstance(given, str):
        return Path(given or os.devnull).open("rb")
    file = TemporaryFile()  # noqa: SIM115 - the caller's context closes it
    file.write(given.encode("utf-8", "backslashreplace"))
    file.seek(0)
    return file


def _outputs(stack: ExitStack, output: Output, kept: Sequence[IO[bytes]]) -> tuple[int, int]:
    """The files of what it prints and complains, by where its output is to go."""
    printed, errors = kept
    if output == "inherit":
        return 1, 2
    if output == "pipe":
        return stack.enter_context(_drained()), errors.fileno()
    if output == "keep":
        return printed.fileno(), errors.fileno()
    target = os.devnull if output == "null" else output
    return stack.enter_context(Path(target).open("wb")).fileno(), errors.fileno()


@contextmanager
def _drained() -> Iterator[int]:
    """The end of a pipe, whose other end a thread reads, as long as anybody writes."""
    read, write = os.pipe()

    def drain() -> None:
        with open(read, "rb", buffering=0) as file:
            while file.read(CHUNK):
                pass

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    try:
        yield write
    finally:
        os.close(write)


def _undisturbed(run: Callable[[Claim], Finished]) -> Finished:
    """Run it where no interrupt can come between a process and the note that it is there.

    An interrupt is raised between any two steps of the main thread, so a thread does it instead.
    """
    claim = Claim()
    if threading.current_thread() is not threading.main_thread():
        return run(claim)
    found: list[Finished | BaseException] = []
    running = threading.Lock()  # not `Thread.join`: after an interrupt that believes in any end
    running.acquire()

    def work() -> None:
        try:
            found.append(run(claim))
        except BaseException as error:
            found.append(error)
        finally:
            running.release()

    try:
        threading.Thread(target=work, daemon=True).start()
        while not found:
            running.acquire(timeout=HEED)
    except BaseException:
        claim.give_up()
        if not found:
            running.acquire(timeout=PATIENCE)
        raise
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _run(
    arguments: list[str],
    files: tuple[int, int, int],
    cwd: str | os.PathLike[str] | None,
    env: dict[str, str] | None,
    timeout: float | None,
    claim: Claim,
) -> Finished:
    with _lock:  # so that whoever kills all sees this one too
        if _closed or claim.is_given_up:
            raise OSError("the program is ending")
        process = claim.process = spawn(arguments, files, cwd, env)
        _running.add(process)

    def cut() -> None:
        with _lock:
            if process in _running:
                process.kill()

    try:
        seconds, is_late = await_end(process, timeout, cut)
    finally:
        with _lock:
            process.kill()
            _running.discard(process)
            _ending.add(process)
        code, usage = process.reap()
        with _lock:
            _ending.discard(process)
            _lock.notify_all()
    return Finished(code, "", "", seconds, is_late, usage)


def _text(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - READ))
    return file.read().decode(errors="replace")


def kill_running() -> None:
    """Kill every command that still runs, with all its children, and see them go."""
    with _lock:
        for process in _running:
            process.kill()
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
