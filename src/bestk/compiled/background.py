"""A process that compiles a program while this one goes on, and ends with it at the latest.

`python -m bestk.compiled.background NAME ...` is that process. It holds the reading end of a pipe
whose writing end is ours alone: when we end, however we end, it reads the end of the file and is
gone.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from contextlib import suppress

from bestk.compiled import cache
from bestk.compiled.programs import Program

LOWEST = 19  # the priority of a process that shall not be in the way


class Compilation:
    """A program being compiled elsewhere."""

    def __init__(self, program: Program) -> None:
        command = [sys.executable, "-m", __name__, pickle.dumps(program).hex()]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "BESTK_CACHE_DIR": str(cache.folder().parent),
        }
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # an interrupt on the terminal is for the program in front
        )
        # at the end of the program, or when nobody waits for it any more
        self._end = weakref.finalize(self, _end, self._process)

    def is_running(self) -> bool:
        """Whether it is still at it."""
        return self._process.poll() is None

    def end(self) -> None:
        """Stop it."""
        self._end()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _watch() -> None:
    """End with the process that started this one."""
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """Compile the program that is named, quietly."""
    threading.Thread(target=_watch, daemon=True).start()
    with suppress(OSError):
        os.nice(LOWEST)
    program: Program = pickle.loads(bytes.fromhex(sys.argv[1]))
    program.compile()


if __name__ == "__main__":
    main()
