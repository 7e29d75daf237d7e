"""The commands of a race: how each is run, and what is run around it, untimed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bestk.arguments import flag, shown
from bestk.commands.parameters import expand, fill, label
from bestk.commands.process import Finished, Output, how_it_failed, run_command, split
from bestk.errors import ArmFailedError, InputError

Words = str | tuple[str, ...]  # a text for the shell, or arguments
QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
# for a shell; not & and ?, which are in addresses
SIGNS = re.compile(r"\|\|?|&&|>>?|<|;|\*|`|\$(?=[\w({])")
BRACES = re.compile(r"(?<!\$)\{[A-Za-z_]\w*\}")
Each = str | Sequence[str] | None  # one command for all entrants, or one for each


@dataclass(frozen=True)
class Settings:
    """What goes for every run of a race.

    `setup` runs once for every command before its first run and `cleanup` after its last, `prepare`
    before and `conclude` after each run; none of them is timed. `parameters` are the values of
    every `{VAR}` in commands and in these four. `names` are what the first commands are called
    instead of their texts.
    """

    shell: bool = False
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    setup: str | None = None
    prepare: Each = None
    conclude: Each = None
    cleanup: str | None = None
    given: Path | None = None  # standard input
    output: Output = "keep"
    ignore_failure: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Entrant:
    """One command of a race."""

    text: str  # what it is called
    words: Words
    parameters: Mapping[str, str]
    settings: Settings
    around: Mapping[str, Words]  # by stage
    hint: str = ""  # what may be wrong with it if it fails
    sign: str = ""  # what only a shell understands, and there is none
    signs: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # the same by stage: (text, sign)

    def run(self, limit: float | None) -> Finished:
        """Prepare, run, conclude."""
        self.stage("prepare")
        done = self.run_alone(limit)
        self.stage("conclude")
        return done

    def run_alone(self, limit: float | None) -> Finished:
        """What is timed, and cut at the limit."""
        settings = self.settings
        return run_command(
            self.words, shell=settings.shell, timeout=limit, output=settings.output,
            given=settings.given,
        )  # fmt: skip

    def is_good(self, done: Finished) -> bool:
        """Whether a run counts as one: it ended well, or as it ended does not matter."""
        could_start = done.usage is not None
        return done.timed_out or done.code == 0 or (self.settings.ignore_failure and could_start)

    def how_it_failed(self, done: Finished) -> str:
        """How a run failed, and what may be wrong with the command."""
        return how_it_failed(done) + (f" ({self.hint})" if self.hint else "")

    def stage(self, name: str) -> None:
        """Run what belongs around runs at that point, if there is anything."""
        if (words := self.around.get(name)) is None:
            return
        done = run_command(words, shell=self.settings.shell)
        if done.code != 0:
            what = {"prepare": "prepares the run", "conclude": "concludes the run"}
            what |= {"setup": "sets up the runs", "cleanup": "cleans up after the runs"}
            text, sign = self.signs.get(name, ("", ""))
            hint = f" ({text!r} has a {sign}: use --shell)" if sign else ""
            raise ArmFailedError(
                f"what {what[name]} of {self.text!r} failed: {how_it_failed(done)}{hint}"
            )


def read_entrants(commands: Sequence[str], settings: Settings) -> dict[str, Entrant]:
    """The commands, parameters filled in, by what they are called; refuses what cannot be run."""
    shell = flag(settings.shell, "shell")
    for text in (*commands, *settings.names):
        if not isinstance(text, str):
            raise InputError(f"command {shown(text)} was refused: it must be a text")
    if len(settings.names) > len(commands):
        raise InputError(
            f"{len(settings.names)} names were refused: there are {len(commands)} commands"
        )
    names = [*settings.names, *commands[len(settings.names) :]]
    stages = {"setup": settings.setup, "prepare": settings.prepare}
    stages |= {"conclude": settings.conclude, "cleanup": settings.cleanup}
    around = {name: _for_each(name, given, len(commands)) for name, given in stages.items()}
    found: dict[str, Entrant] = {}
    for variant in expand(commands, settings.parameters, around["prepare"]):
        number, values = variant.number, variant.parameters
        words = _words(variant.text, shell)
        texts = {name: fill(given[number], values) for name, given in around.items() if given}
        own = {name: _words(stage, shell) for name, stage in texts.items()}
        signs = {name: (stage, "" if shell else _sign(stage)) for name, stage in texts.items()}
        if any((words, own) == (other.words, other.around) for other in found.values()):
            raise InputError(  # however it is written
                f"command {variant.text!r} was refused: it is listed twice, and nothing is faster"
                " than itself"
            )
        text = label(names[number], variant)
        if text in found:
            raise InputError(
                f"the name {text!r} was refused: two commands have it; give each one of its own"
            )
        sign = "" if shell else _sign(variant.text)
        found[text] = Entrant(
            text, words, values, settings, own, _hint(variant.text, sign), sign, signs
        )
    return found


def require_begun(begun: Sequence[str], given: Iterable[str]) -> None:
    """Refuse to go on with a race without a command that it was begun with."""
    known = set(given)
    if missing := [command for command in begun if command not in known]:
        raise InputError(
            f"the commands were refused: the race was begun with {_listed(begun)}, and"
            f" {_listed(missing)} is not given; give the same, or another file"
        )


def require_ready(begun: Sequence[str], ready: Iterable[str], failed: Mapping[str, str]) -> None:
    """Refuse to go on after warm-ups with other commands than the race was begun with."""
    if lost := [command for command in begun if command in failed]:
        why = "; ".join(f"{command!r}: {failed[command]}" for command in lost)
        raise InputError(
            f"the race was refused: it was begun with a command that failed in warm-up now: {why}"
        )
    if new := [command for command in ready if command not in begun]:
        raise InputError(
            f"the race was refused: it was begun without {_listed(new)}, and the guarantee holds"
            " for what was fixed before the data; give the same commands, or another file"
        )


def _listed(commands: Iterable[str]) -> str:
    return ", ".join(map(repr, commands))


def _for_each(name: str, given: Each, many: int) -> list[str]:
    """What is run at a stage, for each command as it was given; empty if nothing is."""
    if given is None:
        return []
    each = [given] if isinstance(given, str) else list(given)
    if len(each) not in (0, 1, many):
        raise InputError(
            f"{len(each)} commands to {name} were refused: give one for all of the {many} commands,"
            " or one for each"
        )
    return each * many if len(each) == 1 else each


def _sign(text: str) -> str:
    """What of a command is for a shell, such as a pipe; without one it is a plain argument."""
    sign = SIGNS.search(QUOTED.sub("", text))
    return sign[0] if sign else ""


def _hint(text: str, sign: str) -> str:
    """What of a command only a shell understands, or looks like a parameter and is none."""
    said = [f"it has a {sign}: use --shell"] if sign else []
    if found := BRACES.search(text):
        said.append(f"{found[0]} is no parameter: give it by -L or -P")
    return "; ".join(said)


def _words(text: str, shell: bool) -> Words:
    """A command as it is run."""
    words = [text.strip()] if shell else split(text)
    if not any(words):
        raise InputError(f"command {text!r} was refused: it is empty")
    return text if shell else tuple(words)
