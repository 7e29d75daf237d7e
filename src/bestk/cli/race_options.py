"""The options of `bestk race` that hyperfine has too, under its names and letters."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from bestk.errors import InputError

if TYPE_CHECKING:
    from bestk.commands.process import Output

JOINT = "\0"  # between the words of an option that takes several; no argument has one in it
WORDS = {  # which the parser takes as one
    "-P": ("NAME", "MIN", "MAX"),
    "--parameter-scan": ("NAME", "MIN", "MAX"),
    "-L": ("NAME", "VALUES"),
    "--parameter-list": ("NAME", "VALUES"),
}
# what hyperfine takes behind --shell
SHELLS = ("default", "sh", "bash", "dash", "fish", "ksh", "zsh")
WAYS = ("null", "pipe", "inherit")  # where output may go, beside a file


class RaceCommand(TyperCommand):
    """Takes options of several words, as in `-P NAME MIN MAX`, and `--shell none` for `-N`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, the words of such an option joined before."""
        whole, rest = [], list(args)
        while rest:
            word = rest.pop(0)
            if word == "--shell" and rest[:1] == ["none"]:
                word = f"{word}={rest.pop(0)}"
            _refuse_shell(word, rest)
            whole.append("-N" if word == "--shell=none" else word)
            if whole[-1] == "--":
                whole += rest
                break
            if names := WORDS.get(whole[-1]):
                whole.append(JOINT.join(rest[: len(names)]))
                del rest[: len(names)]
        return super().parse_args(ctx, whole)


def _refuse_shell(word: str, rest: Sequence[str]) -> None:
    """Refuse the name of a shell: behind `--shell`, which takes none, it would be a command."""
    name = word.removeprefix("--shell=")
    if word == "--shell" and rest and Path(rest[0]).name in SHELLS:
        name = rest[0]
    if name not in (word, "none"):
        raise InputError(
            f"--shell {name} was refused: --shell takes no name, commands run by /bin/sh; leave it"
            " out to run them without a shell, race \"bash -c '...'\" for another one, and write a"
            " command that is a shell before --shell"
        )


def words(given: list[str] | None, option: str) -> list[list[str]]:
    """The words of each use of such an option."""
    names = WORDS[option]
    found = [text.split(JOINT) for text in given or ()]
    for each in found:
        if len(each) != len(names):
            raise InputError(f"{option} {' '.join(each)} was refused: give {' '.join(names)}")
    return found


def read_slack(text: str) -> tuple[float, bool]:
    """A slack in seconds or in percent, and whether it is the latter: then it is a factor."""
    number = text.removesuffix("%")
    is_factor = number != text
    try:
        slack = float(Decimal(number).scaleb(-2) if is_factor else Decimal(number))
    except InvalidOperation:
        raise InputError(
            f"--epsilon {text} was refused: give seconds, or a percentage as in 10%"
        ) from None
    return slack, is_factor and slack != 0.0


def read_input(text: str | None) -> Path | None:
    """The file that commands read; none for `null`."""
    if text is None or text == "null":
        return None
    path = Path(text)
    if not path.is_file():
        raise InputError(f"--input {text} was refused: there is no such file")
    return path


def shown(output: str | None) -> str:
    """Where output goes that is to be shown."""
    if output not in (None, "inherit"):
        raise InputError(f"--show-output was refused: --output {output} says where output goes")
    return "inherit"


def read_output(text: str | None) -> Output:
    """What becomes of what commands print."""
    if text is None:
        return "keep"
    return text if text in WAYS else Path(text)  # type: ignore[return-value]


Scan = Annotated[
    list[str] | None,
    typer.Option(
        "-P", "--parameter-scan", metavar="NAME MIN MAX",
        help="Race every command with {NAME} replaced by each number from MIN to MAX; repeat it for"
        " all combinations.",
    ),
]  # fmt: skip
Step = Annotated[
    list[str] | None,
    typer.Option(
        "-D", "--parameter-step-size", metavar="DELTA",
        help="The step of --parameter-scan: one for all, or one for each.", show_default="1",
    ),
]  # fmt: skip
Listed = Annotated[
    list[str] | None,
    typer.Option(
        "-L", "--parameter-list", metavar="NAME VALUES",
        help="The same with comma-separated values.",
    ),
]  # fmt: skip
Names = Annotated[
    list[str] | None,
    typer.Option(
        "-n", "--command-name", metavar="NAME",
        help="Names of the commands, in order; may contain a {PARAMETER}.",
    ),
]  # fmt: skip
Setup = Annotated[
    str | None,
    typer.Option(
        "-s", "--setup", metavar="COMMAND", help="Run this for each command, before its first run."
    ),
]
Prepare = Annotated[
    list[str] | None,
    typer.Option(
        "-p", "--prepare", metavar="COMMAND",
        help="Run this before every run, untimed: one for all commands, or one for each.",
    ),
]  # fmt: skip
Conclude = Annotated[
    list[str] | None,
    typer.Option(metavar="COMMAND", help="Run this after every run, untimed; likewise."),
]
Cleanup = Annotated[
    str | None,
    typer.Option(
        "-c", "--cleanup", metavar="COMMAND", help="Run this for each command, after the race."
    ),
]
IgnoreFailure = Annotated[
    bool,
    typer.Option("-i", "--ignore-failure", help="Count runs that end with a nonzero exit code."),
]
Input = Annotated[
    str | None,
    typer.Option(
        "--input",
        metavar="FILE|null",
        help="Standard input of the commands.",
        show_default="null: nothing",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--output", metavar="WHERE",
        help="Where their output goes: null, pipe (read and discarded), inherit, or a file.",
        show_default="a temporary file",
    ),
]  # fmt: skip
ShowOutput = Annotated[bool, typer.Option("--show-output", help="The same as --output inherit.")]
Runs = Annotated[
    int | None,
    typer.Option(
        "-r", "--runs", min=1, help="Exactly this many counted runs of each, certain or not.",
        show_default="until it is certain",
    ),
]  # fmt: skip
MinRuns = Annotated[
    int | None,
    typer.Option("-m", "--min-runs", min=1, help="At least this many counted runs of each."),
]
Json = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Output file (overwritten): hyperfine's JSON, in seconds."),
]
Csv = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Output file (overwritten): hyperfine's CSV.")
]
Markdown = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Output file (overwritten): hyperfine's table in Markdown."),
]
