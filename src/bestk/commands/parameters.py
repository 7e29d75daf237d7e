"""Parameters of commands: `{VAR}` in a command stands for one value after the other.

What hyperfine calls a scan and a list; several of them make every combination.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import product, zip_longest
from operator import itemgetter
from typing import NamedTuple

from bestk.errors import InputError

MOST = 10_000  # values of a scan; arbitrary, far more commands than anybody races


class Variant(NamedTuple):
    """A command with its values filled in; `number` is that of the command as it was given."""

    text: str
    number: int
    parameters: dict[str, str]


def scan(low: str, high: str, step: str | None = None) -> list[str]:
    """From low to high in steps (by default 1), written as hyperfine writes them: 0, 0.5, 1.0."""
    try:
        start, end, width = (Decimal(text) for text in (low, high, step or "1"))
    except InvalidOperation:
        given = f"{low} {high}" + (f" in steps of {step}" if step else "")
        raise InputError(f"the scan {given} was refused: its ends must be numbers") from None
    if not (start.is_finite() and end.is_finite() and width.is_finite() and width > 0):
        raise InputError(f"the scan from {low} to {high} was refused: steps must be above 0")
    if end < start:
        raise InputError(f"the scan from {low} to {high} was refused: it ends before it begins")
    many = int((end - start) / width) + 1
    if many > MOST:
        raise InputError(
            f"the scan from {low} to {high} was refused: it has {many:,} values, more than {MOST:,}"
        )
    return [f"{start + place * width if place else start:f}" for place in range(many)]


def values(text: str) -> list[str]:
    r"""The values of a list, between commas; `\,` is a comma."""
    found, escaped = [""], False
    for letter in text:
        if escaped:
            found[-1] += letter if letter in ",\\" else f"\\{letter}"
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == ",":
            found.append("")
        else:
            found[-1] += letter
    if escaped:
        found[-1] += "\\"
    return found


def read_parameters(
    scans: Iterable[Sequence[str]], steps: Sequence[str], lists: Iterable[Sequence[str]]
) -> dict[str, list[str]]:
    """The values of every parameter: (name, low, high) of scans, (name, values) of lists.

    Of the steps there is none, one for all scans, or one for each.
    """
    scans, found = list(scans), dict[str, list[str]]()
    if len(steps) not in (0, 1, len(scans)) or (steps and not scans):
        raise InputError(
            f"{len(steps)} step sizes were refused: give one for all {len(scans)} scans, or one"
            " for each"
        )
    each: list[str | None] = [*steps] * (len(scans) if len(steps) == 1 else 1)
    given = [
        (name, scan(low, high, step))
        for (name, low, high), step in zip(scans, each or [None] * len(scans), strict=True)
    ]
    for name, own in [*given, *((name, values(text)) for name, text in lists)]:
        if name in found:
            raise InputError(f"the parameter {name} was refused: it is given twice")
        found[name] = own
    return found


def fill(text: str, parameters: Mapping[str, str]) -> str:
    """A command with the values in place of `{VAR}`; other braces stay."""
    for name, value in parameters.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def expand(
    commands: Sequence[str],
    parameters: Mapping[str, Sequence[str]],
    prepare: Sequence[str] = (),
) -> list[Variant]:
    """Every command with every combination of the values of its `{VAR}`, in hyperfine's order.

    For each combination, the first parameter changing first, the commands in turn. A `{VAR}` of a
    command may be in what prepares its runs, a text for each command or none. What sets it up comes
    too early to tell commands apart whose runs alternate.
    """
    texts = [f"{command}\0{more}" for command, more in zip_longest(commands, prepare, fillvalue="")]
    own = [[name for name in parameters if f"{{{name}}}" in text] for text in texts]
    for name in parameters:
        if not any(name in names for names in own):
            raise InputError(
                f"the parameter {name} was refused: no command has {{{name}}}, nor what prepares it"
            )
    backwards, found = list(parameters)[::-1], list[tuple[list[int], Variant]]()
    for number, (command, names) in enumerate(zip(commands, own, strict=True)):
        for places in product(*(range(len(parameters[name])) for name in names)):
            at = dict(zip(names, places, strict=True))
            given = {name: parameters[name][place] for name, place in at.items()}
            first = [at.get(name, 0) for name in backwards]  # the combination that needs it first
            found.append(([*first, number], Variant(fill(command, given), number, given)))
    return [variant for _, variant in sorted(found, key=itemgetter(0))]


def label(template: str, variant: Variant) -> str:
    """The name of a command, values filled in; those without a place in it stand behind."""
    more = [f"{k}={v}" for k, v in variant.parameters.items() if f"{{{k}}}" not in template]
    text = fill(template, variant.parameters)
    return f"{text} ({', '.join(more)})" if more else text
