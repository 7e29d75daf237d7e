"""Reading a certificate, strictly: what is not one is refused before anything is checked.

JSON that readers may take in different ways (a key that comes twice, NaN, numbers beyond a double)
is refused: what one program verifies another must not read as something else.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, NoReturn

from bestk.errors import InputError
from bestk.verification import schema


def strict_json(text: str) -> Any:
    """A JSON text that means one thing only; a ValueError says what is wrong with another."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_double
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} comes twice in one object")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _double(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is beyond what a double holds")
    return value


def read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A certificate from a file, its shape checked."""
    if not Path(path).is_file():
        raise InputError(f"{path} was refused: there is no such file")
    try:
        data = strict_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} was refused: it is not a certificate ({error})") from error
    check_shape(data)
    return dict(data)


def check_shape(data: Any) -> None:
    """Refuse what is not laid out as a certificate of its format is."""
    written = data.get("format") if isinstance(data, dict) else None
    if type(written) is not int or written < 1:
        raise InputError(
            'not a certificate: a JSON object with a "format" of 1 or more was expected'
        )
    if written not in schema.FORMATS:
        raise InputError(
            f"the certificate was refused: it was written by a newer bestk (format {written}, this"
            f" one reads {max(schema.FORMATS)})"
        )
    try:
        schema.check(data, schema.FORMATS[written], "")
    except RecursionError:
        raise InputError("not a certificate: it is nested too deeply") from None
