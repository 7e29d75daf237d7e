"""The `bestk` command: the commands put together, errors turned into one paragraph."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bestk import __version__
from bestk.cli.certificates import certify, verify
from bestk.cli.compare import compare
from bestk.cli.console import note
from bestk.cli.evaluation import eval_
from bestk.cli.files import backup, doctor
from bestk.cli.loading import load_module
from bestk.cli.plan import PlanCommand, plan
from bestk.cli.policies import compile_, policies
from bestk.cli.race import race
from bestk.cli.race_options import RaceCommand
from bestk.cli.reproduce import reproduce
from bestk.cli.run import init, run
from bestk.cli.serve import serve, token
from bestk.cli.simulate import simulate
from bestk.cli.studies import export, list_, report, status
from bestk.errors import BestkError
from bestk.report.text import printable


class Commands(TyperGroup):
    """The commands; what any of them raises becomes one readable paragraph and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        try:
            return super().make_context(*args, **kwargs)
        except Exception as error:
            _escape(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Read the rest, and run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has gone, as in `bestk ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, typer.Exit) or _escape(error):
                raise
            if ctx.params["debug"]:
                traceback.print_exc()
            message, code = _explained(error)
            note(f"bestk: {message}")
            raise typer.Exit(code) from None


def _escape(error: BaseException) -> bool:
    """Whether an error is of the command line's parser; it shall not steer the terminal."""
    # of Click or of Typer's own copy of it, whose names have no type
    is_parsers = hasattr(error, "format_message") and hasattr(error, "message")
    if is_parsers:
        vars(error)["message"] = printable(vars(error)["message"])
    return is_parsers


def _explained(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if isinstance(error, BestkError):
        return str(error), 2
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if isinstance(error, MemoryError):
        return "what was asked for was refused: there is not enough memory for it", 2
    if isinstance(error, OSError) and not isinstance(error, ConnectionError):  # that: a cluster's
        where = error.filename if error.filename is not None else "the file"
        return f"{where} was refused: {error.strerror or error}", 2
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)", 1


app = typer.Typer(
    name="bestk",
    cls=Commands,
    help="Find the K best of N noisy options, with a guarantee, in as few samples as possible.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: list[Callable[..., None]] = [run, init, simulate, compare, reproduce, policies]
COMMANDS += [certify, verify, status, report, export, doctor, backup, serve]
for _command in COMMANDS:
    app.command()(_command)
app.command(cls=PlanCommand)(plan)
app.command(cls=RaceCommand)(race)
app.command("list")(list_)
app.command("eval")(eval_)
app.command("compile")(compile_)
app.add_typer(token, name="token")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bestk {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[  # noqa: ARG001 - read where errors are shown
        bool, typer.Option(help="Show a traceback when something fails.")
    ] = False,
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py|MODULE",
            help="Import this first, for the policies and instances that it registers.",
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    for each in load or ():
        load_module(each)


def main() -> None:
    """Entry point: exit codes 0 done, 2 bad input, 130 interrupted, 1 anything else.

    And 3 where `run`, `eval`, `race` or `certify` end without a certificate; 1 is also the answer
    no of `verify` and `doctor`.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):  # a terminal need not know every letter of a name
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()
