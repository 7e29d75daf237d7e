"""The reward in what a command printed: its last number, or a field of its last JSON object."""

from __future__ import annotations

import json
import re
from typing import Any

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # of terminals
# What starts like a number, and not within a word (v2, gpt-5, a.5), up to where it ends
_STARTS = re.compile(
    r"(?<![\w.+\-/])(?:[-+]?\.?[0-9][\w.,:/+\-]*|[-+]?(?:nan|inf|infinity)\b)", re.IGNORECASE
)
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?(?:nan|inf|infinity)", re.IGNORECASE
)


class NoReward(Exception):
    """A command that gave no reward: the pull has failed."""


def plain(text: str) -> str:
    """Without what would steer a terminal."""
    return "".join(c for c in _COLOURS.sub("", text) if c.isprintable())


def last_number(output: str) -> float:
    """The last number of a text: digits, at most one dot, a sign, an exponent.

    What merely starts like one (12ms, 1,234, 2024-01-05) is not guessed at, nor passed over.
    """
    found = None
    for found in _STARTS.finditer(_COLOURS.sub("", output)):  # noqa: B007 - the last is wanted
        pass
    if found is None:
        raise NoReward(f"no number in the output {_end(output)}")
    text = found[0].rstrip(".,:/+-")
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
