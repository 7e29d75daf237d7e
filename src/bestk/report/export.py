"""Every observation of a study as CSV or JSON: what `bestk export` and the server write."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import TextIO

from bestk.report.cells import label_cell, text_cell
from bestk.report.text import iso
from bestk.storage.addresses import KeptStorage
from bestk.study.reading import Observation, has_items, observations

FORMATS = ("csv", "json", "jsonl")


def write_observations(storage: KeptStorage, name: str, format: str, stream: TextIO) -> None:
    """Write those of a study in a format of `FORMATS`, in the order in which they were told."""
    rows, fields = observations(storage, name), list(Observation._fields)
    if not has_items(storage, name):
        fields.remove("item")
    if format == "csv":
        _write_csv(rows, fields, stream)
        return
    first, between, last = ("[", ",\n", "]\n") if format == "json" else ("", "", "")
    end = "\n" if format == "jsonl" else ""
    stream.write(first)
    for i, row in enumerate(rows):
        data = {field: getattr(row, field) for field in fields}
        data |= {"asked": iso(row.asked), "told": iso(row.told)}
        stream.write(between * (i > 0) + json.dumps(data, allow_nan=False) + end)
    stream.write(last)


def _write_csv(rows: Iterable[Observation], fields: list[str], stream: TextIO) -> None:
    writer = csv.writer(stream)
    writer.writerow(fields)
    for seq, pull, arm, reward, asked, told, kind, extra, item in rows:
        cells = seq, text_cell(pull), label_cell(arm), reward, iso(asked), iso(told), kind
        beside = None if extra is None else json.dumps(extra)
        writer.writerow((*cells, beside, item)[: len(fields)])
