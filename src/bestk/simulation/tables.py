"""Finished tables of scores, from a file: a row for each arm, a column for each item."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TextIO

import numpy as np

from bestk.errors import InputError
from bestk.kernels.types import FloatArray
from bestk.simulation.pools import read_array


def read_table(path: Path, array: str | None = None) -> tuple[list[str], FloatArray]:
    """The names of the arms and their scores.

    A CSV file has a header with the names of the items, and in its first column those of the arms.
    An .npz file has an array, whose rows are numbered from 0.
    """
    if path.suffix.lower() != ".csv":
        scores = read_array(path, array)
        if scores.ndim != 2 or scores.dtype.kind not in "biuf":
            raise InputError(
                f"{path} was refused: an array with a row for each arm and a column for each item"
                f" is needed, not {scores.dtype} of shape {scores.shape}"
            )
        return [str(arm) for arm in range(len(scores))], scores.astype(np.float64)
    if array is not None:
        raise InputError("--array goes with an .npz file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _parse(path, file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {path}: {why}") from error


def _parse(path: Path, file: TextIO) -> tuple[list[str], FloatArray]:
    rows = csv.reader(file, strict=True)
    items = next(rows, [])[1:]
    found: dict[str, list[float]] = {}
    for row in rows:
        if not row:
            continue
        name, cells = row[0], row[1:]
        where = f"{path}, line {rows.line_num}"
        if len(cells) != len(items):
            raise InputError(
                f"{where}: {len(cells)} scores were refused: the header has {len(items)}"
            )
        if name in found:
            raise InputError(f"{where}: arm {name!r} was refused: it has a row already")
        found[name] = [_score(where, item, cell) for item, cell in zip(items, cells, strict=True)]
    if not found or not items:
        raise InputError(f"{path} was refused: it has no scores")
    return list(found), np.array(list(found.values()))


def _score(where: str, item: str, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        what = f"{cell!r} is no score" if cell.strip() else "the score is missing"
        raise InputError(f"{where}, item {item!r}: {what}; a replay needs every one") from None
