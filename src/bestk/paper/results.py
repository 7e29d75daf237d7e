"""results.csv: one row per point, appended whole as soon as it is known, read back to resume."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from bestk.errors import InputError, ResultsFileError
from bestk.output import refusal
from bestk.paper.statistics import Estimate

Key = tuple[object, ...]
Begins = tuple[str, str, float | None, int, int | None, str, str | None]  # panel to variant


@dataclass(frozen=True)
class Row:
    """One policy at one point of one panel."""

    panel: str
    instance: str
    alpha: float | None
    arms: int
    k: int | None
    policy: str
    variant: str | None
    mean: float
    sem: float
    runs: int
    wrong: int
    unfinished: int
    seed: int

    @property
    def samples(self) -> Estimate:
        """Their mean, with its standard error."""
        return Estimate(self.mean, self.sem)

    @property
    def key(self) -> Key:
        """What identifies a row in the file."""
        return key_of(astuple(self)[:7])


def key_of(begins: Begins) -> Key:
    """What identifies a row that begins like this."""
    panel, instance, alpha, arms, k, policy, variant = begins
    if k is None:  # a combinatorial instance; alpha is its gap
        return panel, instance, alpha, policy, variant
    return panel, arms, policy


Rows = Mapping[Key, Row]  # the rows of the paper's panels by (panel, arms, policy)

HEADER = tuple(field.name for field in fields(Row))
_EMPTY = ("alpha", "k", "variant")  # cells that may be
_KINDS: dict[str, Callable[[str], Any]] = dict.fromkeys(("alpha", "mean", "sem"), float)
_KINDS |= dict.fromkeys(("arms", "k", "runs", "wrong", "unfinished", "seed"), int)


def _line(cells: tuple[object, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow("" if cell is None else cell for cell in cells)
    return text.getvalue()


def _parse(cells: list[str]) -> Row:
    values: list[Any] = [
        _KINDS.get(name, str)(cell) if cell or name not in _EMPTY else None
        for name, cell in zip(HEADER, cells, strict=True)
    ]
    row = Row(*values)
    if not (math.isfinite(row.mean) and math.isfinite(row.sem)):
        raise ValueError("not finite")
    return row


class ResultsFile:
    """The rows of a reproduction on disk. A row is written in one piece, so that an interrupted
    run leaves whole rows; a file that holds anything else is refused and left as it is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Key, Row] = {}
        try:
            found = path.exists() and path.stat().st_size > 0
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        if found:
            self._read()
        else:
            self._write(_line(HEADER))

    def _read(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ResultsFileError(f"cannot read {self.path}: {error}") from error
        lines = text.splitlines()
        if lines[0] != ",".join(HEADER):
            raise ResultsFileError(
                f"{self.path} is not a results file of `bestk reproduce` (its first line is not the"
                " expected header); it was left as it is: choose another --out"
            )
        for number, line in enumerate(lines[1:], 2):
            try:
                row = _parse(next(csv.reader([line])))
                if number == len(lines) and not text.endswith("\n"):
                    raise ValueError("no line end")
            except (ValueError, StopIteration):
                raise ResultsFileError(
                    f"{self.path}, line {number} is half-written or damaged: '{line[:60]}'. The"
                    f" file was left as it is; delete that line and run the same command again,"
                    f" which keeps the {len(self.rows)} rows before it"
                ) from None
            self.rows[row.key] = row

    def _write(self, line: str) -> None:
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)
        except OSError as error:
            raise refusal(self.path, error) from error

    def append(self, row: Row) -> None:
        """Keep a row, handed to the system when this returns."""
        self._write(_line(astuple(row)))
        self.rows[row.key] = row
