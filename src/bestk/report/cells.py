"""Names as cells of a CSV file: no spreadsheet takes them for formulas, and all can be read back.

A spreadsheet evaluates a cell that begins with = + - or @, wherever the file came from. Such a text
gets an apostrophe in front, which is how spreadsheets mark a text. So does a text that begins with
an apostrophe, or that could be read as another label: a label that is no text is written as JSON,
so that 1 is the number and '1 the text. A text that would steer a terminal is written as JSON, too:
control characters, line ends, halves of surrogate pairs.
"""

from __future__ import annotations

import json
from typing import Any

TEXT = "'"  # before a text that would be read as something else
ACTIVE = (*"=+-@", *"＝＋－＠")  # first characters that spreadsheets act upon
MARKED = (TEXT, *ACTIVE)


def text_cell(text: str) -> str:
    """A text that is always one: a command, the id of a pull."""
    return _cell(text, text.startswith('"'))


def label_cell(label: Any) -> str:
    """The label of an arm: a text, or anything else that JSON can write."""
    return _cell(label, _is_json(label)) if isinstance(label, str) else json.dumps(label)


def _cell(text: str, is_ambiguous: bool) -> str:
    if not text.isprintable():
        return json.dumps(text)
    return TEXT + text if is_ambiguous or text.startswith(MARKED) else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True  # as far as can be told
    except ValueError:
        return False
    return True
