"""The command line through its real entry point, in a process of its own or, quicker, in this."""

import io
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from typer.main import get_command

from bestk.cli.main import app

COMMANDS = get_command(app)  # as `app` makes it for every call
BESTK = str(Path(sys.executable).with_name("bestk"))


ALONE = ("run", "race")  # commands that heed signals and end what they have started


def process(*args, **settings):
    """The command in a process of its own, as users run it."""
    return subprocess.run([BESTK, *args], capture_output=True, text=True, check=False, **settings)


def bestk(*args, **settings):
    """The command, in this process if it may be: starting another takes a second."""
    return process(*args, **settings) if settings or args[0] in ALONE else call(*args)


def call(*args):
    """The command in this process."""
    out, err, code = io.StringIO(newline=""), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            COMMANDS([str(arg) for arg in args])
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess(args, code or 0, out.getvalue(), err.getvalue())


def good(*args):
    """What a run without complaints prints."""
    done = bestk(*args)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@contextmanager
def start(*args):
    """A run that can be interrupted; what is left of it at the end of the block is killed."""
    with subprocess.Popen(
        [BESTK, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - no threads here
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def _heed_interrupts():
    """Tests may run in the background of a shell, whose children ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process):
    """Interrupt it; its last words on standard error."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    return err
