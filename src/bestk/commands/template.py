"""Commands with {placeholders}, filled for every arm so that no value can become a command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bestk.commands.process import split
from bestk.errors import InputError

LABEL = "BESTK_ARM"  # the environment variable with the arm's name
VARIABLE = "BESTK_VALUE_"  # and, for the shell, those with the placeholders' values
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_IN_SHELL = re.compile(r"\{\{|\}\}|\{[^{}]*\}|\\.|.", re.DOTALL)


class Filled(NamedTuple):
    """A command for one arm: text for a shell, or arguments; and what it finds in `env`."""

    command: str | list[str]
    env: dict[str, str]


class Template:
    """A command with `{placeholders}`; `{{` and `}}` are braces.

    A text is split into arguments once, before anything is filled in, so that a value is part of
    one argument whatever it contains. With `shell`, a placeholder becomes a quoted variable of the
    environment: the shell never reads the value as part of the script.
    """

    def __init__(self, command: str | Sequence[str], *, shell: bool = False) -> None:
        if shell and not isinstance(command, str):
            raise InputError(
                f"command {list(command)} was refused: with shell = true it must be one text"
            )
        self.shell = shell
        self._parts = [command] if shell and isinstance(command, str) else split(command)
        if not any(part.strip() for part in self._parts):
            raise InputError("an empty command was refused")
        self.placeholders: list[str] = []
        for part in self._parts:
            for found in _BRACES.finditer(part):
                if found[0] in ("{", "}"):
                    raise InputError(
                        f"command {command!r} was refused: a single {found[0]}; write"
                        f" {found[0] * 2} for the character itself"
                    )
                if found[1] is not None and found[1] not in self.placeholders:
                    self.placeholders.append(found[1])
        self._script = self._as_script(self._parts[0]) if shell else ""

    def _as_script(self, text: str) -> str:
        """The script, placeholders replaced by variables; refuses those inside quotes."""
        script, quote = [], ""
        for found in _IN_SHELL.finditer(text):
            token = found[0]
            if token in ("{{", "}}"):
                script.append(token[0])
                continue
            if token[0] == "{":
                if quote:
                    raise InputError(
                        f"{token} inside quotes was refused: with shell = true its value is one"
                        " word as it is; write it outside of the quotes"
                    )
                script.append(f'"${{{VARIABLE}{self.placeholders.index(token[1:-1])}}}"')
                continue
            if token[1:] in ("{", "}"):
                raise InputError(f"{token} was refused: write {token[1] * 2} for the brace itself")
            script.append(token)
            if quote == "'" and token.endswith("'"):  # no escapes within single quotes
                quote = ""
            elif token in ("'", '"') and quote in ("", token):
                quote = "" if quote else token
        return "".join(script)

    def fill(self, label: str, values: Mapping[str, str]) -> Filled:
        """The command for one arm."""
        for name in self.placeholders:
            if name not in values:
                raise InputError(
                    f"{{{name}}} in the command was refused: arm {label!r} has"
                    f" {', '.join(values)}; write {{{{{name}}}}} for the braces themselves"
                )
        if self.shell:
            given = {f"{VARIABLE}{i}": values[name] for i, name in enumerate(self.placeholders)}
            return Filled(self._script, {LABEL: label, **given})

        def filled(found: re.Match[str]) -> str:
            return found[0][0] if found[1] is None else values[found[1]]

        return Filled([_BRACES.sub(filled, part) for part in self._parts], {LABEL: label})
