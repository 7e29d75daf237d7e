"""The `bestk` command: the commands put together, errors turned into one paragraph."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bestk import __version__
from bestk.cli.backup import backup
from bestk.cli.certify import certify
from bestk.cli.compile import compile_
from bestk.cli.console import note
from bestk.cli.doctor import doctor
from bestk.cli.export import export
from bestk.cli.init import init
from bestk.cli.listing import list_
from bestk.cli.plan import PlanCommand, plan
from bestk.cli.policies import policies
from bestk.cli.race import race
from bestk.cli.report import report
from bestk.cli.reproduce import reproduce
from bestk.cli.run import run
from bestk.cli.simulate import simulate
from bestk.cli.status import status
from bestk.cli.verify import verify
from bestk.errors import BestkError
from bestk.report.text import printable


class Commands(TyperGroup):
    """The commands; what is wrong with a command line is said without steering the terminal."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        with _printable_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest, and run the command."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of Click or of Typer's own copy of it, whose names have no type
        if hasattr(error, "format_message") and hasattr(error, "message"):
            vars(error)["message"] = printable(error.message)
        raise


app = typer.Typer(
    name="bestk",
    cls=Commands,
    help="Find the K best of N noisy options, with a guarantee, in as few samples as possible.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_debug = False


def _guard(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what a command raises into one readable paragraph and an exit code."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except BestkError as error:
            _fail(str(error), 2)
        except KeyboardInterrupt:
            _fail("interrupted", 130)
        except MemoryError:
            _fail("what was asked for was refused: there is not enough memory for it", 2)
        except BrokenPipeError:  # the reader of our output has gone, as in `bestk ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except ConnectionError as error:  # a cluster that has gone
            _fail(f"unexpected {type(error).__name__}: {error} (--debug shows where)", 1)
        except OSError as error:  # a file or folder that the system does not let us use
            where = error.filename if error.filename is not None else "the file"
            _fail(f"{where} was refused: {error.strerror or error}", 2)
        except Exception as error:
            _fail(f"unexpected {type(error).__name__}: {error} (--debug shows where)", 1)

    return guarded


def _fail(message: str, code: int) -> None:
    if _debug:
        traceback.print_exc()
    note(f"bestk: {message}")
    raise typer.Exit(code)


for _command in (
    run,
    init,
    race,
    simulate,
    reproduce,
    policies,
    certify,
    verify,
    status,
    report,
    export,
    doctor,
    backup,
):
    app.command()(_guard(_command))
app.command(cls=PlanCommand)(_guard(plan))
app.command("list")(_guard(list_))
app.command("compile")(_guard(compile_))


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bestk {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option(help="Show a traceback when something fails.")] = False,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    global _debug  # noqa: PLW0603 - the one switch of the process
    _debug = debug


def main() -> None:
    """Entry point: exit codes 0 done, 2 bad input, 130 interrupted, 1 anything else.

    And 3 where `run`, `race` or `certify` end without a certificate; 1 is also the answer no of
    `verify` and `doctor`.
    """
    for stream in (sys.stdout, sys.stderr):  # a terminal need not know every letter of a name
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
