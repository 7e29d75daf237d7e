"""A pull that is a command: fill in the arm, run it, read the reward from what it printed."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestk.commands.items import placeholders
from bestk.commands.process import COLOURS, how_it_failed, run_command
from bestk.commands.template import Template

# What starts like a number, and not within a word (v2, gpt-5, a.5), up to where it ends
_STARTS = re.compile(
    r"(?<![\w.+\-/])(?:[-+]?\.?[0-9][\w.,:/+\-]*|[-+]?(?:nan|inf|infinity)\b)", re.IGNORECASE
)
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE
)


class NoReward(Exception):
    """A command that gave no reward: the pull has failed."""


@dataclass(frozen=True)
class CommandPull:
    """Called with an arm's name it returns the arm's next reward, or raises `NoReward`."""

    template: Template
    values: Mapping[str, Mapping[str, str]]  # of every arm, its placeholders'
    folder: Path  # where the command runs
    json_field: str | None = None
    timeout: float | None = None
    keeps: bool = False  # the whole JSON object, beside its field

    def __call__(self, label: str, *items: Any) -> float | tuple[float, Any]:
        """Run the command of that arm; in an evaluation on an item, its JSON as standard input."""
        own, given = self.values[label], None
        for item in items:
            own, given = {**own, **placeholders(item)}, json.dumps(item, ensure_ascii=False) + "\n"
        command, env = self.template.fill(label, own)
        finished = run_command(
            command, shell=self.template.shell, timeout=self.timeout, cwd=self.folder, env=env,
            given=given,
        )  # fmt: skip
        if finished.timed_out or finished.code:
            raise NoReward(how_it_failed(finished, self.timeout))
        if self.json_field is None:
            return last_number(finished.output)
        reward = json_number(finished.output, self.json_field)
        return (reward, _last_object(finished.output)) if self.keeps else reward


def last_number(output: str) -> float:
    """The last number of a text: digits, at most one dot, a sign, an exponent.

    What merely starts like one (12ms, 1,234, 2024-01-05) is not guessed at, nor passed over.
    """
    last = deque(_STARTS.finditer(COLOURS.sub("", output)), maxlen=1)
    if not last:
        raise NoReward(f"no number in the output {_end(output)}")
    text = last[0][0].rstrip(".,:/+-")
    if not _NUMBER.fullmatch(text):
        raise NoReward(f"the output ends with {text!r}, which is not a plain number")
    return float(text)


def json_number(output: str, field: str) -> float:
    """A field of the last JSON object that starts a line; dots lead into objects and lists."""
    value = _last_object(output)
    if value is None:
        raise NoReward(f"no JSON object in the output {_end(output)}")
    for part in field.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, TypeError, ValueError):
            raise NoReward(f"no field {field!r} in the last JSON object") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoReward(f"field {field!r} is {json.dumps(value)[:80]}, not a number")
    return value


def _last_object(output: str) -> Any:
    decoder, last, end = json.JSONDecoder(parse_int=_whole), None, 0
    for line in re.finditer(r"^[ \t]*(?=\{)", output, re.MULTILINE):
        if line.end() < end:
            continue  # inside of the one before
        try:
            last, end = decoder.raw_decode(output, line.end())
        except (ValueError, RecursionError):
            continue
    return last


def _whole(digits: str) -> int | float:
    """An integer; one of more digits than Python reads is infinite, as in other programs."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _end(output: str) -> str:
    lines = output.strip().splitlines()
    return f"(its last line: {lines[-1][-80:]!r})" if lines else "(it is empty)"
