"""The items of an evaluation, from a file: JSON lines, CSV with a header, or a text per line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from bestk.errors import InputError

JSON_LINES = (".jsonl", ".ndjson")
ITEM = "item"  # the placeholder, and the prefix of those of its fields


def read_items_file(path: Path) -> tuple[Any, ...]:
    """Every item, in the order of the file; blank lines are none.

    A `.jsonl` file has a JSON value per line, a `.csv` file a header and a row per item, which
    becomes a dictionary of texts; of any other file every line is a text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"items of {path} were refused: {why}") from error
    kind = path.suffix.lower()
    if kind == ".csv":
        items = _rows(path, text)
    else:
        items = [
            _value(path, number, line) if kind in JSON_LINES else line
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip()
        ]
    if not items:
        raise InputError(f"items of {path} were refused: there are none")
    return tuple(items)


def _value(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {number} was refused: no JSON ({error})") from error


def _rows(path: Path, text: str) -> list[Any]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if len(set(header)) < len(header):
            raise InputError(f"{path} was refused: two columns have the same name")
        rows = []
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num} was refused: it has {len(row)} cells, and"
                    f" the header {len(header)}"
                )
            rows.append(dict(zip(header, row, strict=True)))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num} was refused: {error}") from error
    return rows


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def placeholders(item: Any) -> dict[str, str]:
    """What an item fills into a command: {item}, and {item.KEY} for every field of an object."""
    fields = item if isinstance(item, dict) else {}
    return {ITEM: as_text(item), **{f"{ITEM}.{key}": as_text(v) for key, v in fields.items()}}
