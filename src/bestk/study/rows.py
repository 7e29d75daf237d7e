"""What is kept of an arm when the rows of a policy's state are laid anew: its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestk.compiled.live import Machine
from bestk.kernels.types import START

# by row; a policy need not have all of them
OF_ARMS = ("counts", "origins", "sums", "means", "spread", "levels")
ORDERED = "ordered"


def kept_rows(machine: Machine) -> list[dict[str, Any]]:
    """The statistics of every row."""
    state, n_arms = machine.state, machine.spec.n_arms
    fields = {name: getattr(state, name) for name in OF_ARMS}
    fields = {name: each for name, each in fields.items() if len(each) == n_arms}
    found = [{name: each[row].copy() for name, each in fields.items()} for row in range(n_arms)]
    if machine.is_ordered:
        for row, start in enumerate(state.places[START].tolist()):
            found[row][ORDERED] = state.ordered[start : start + int(state.counts[row])].copy()
    return found


def put_back(machine: Machine, row: int, kept: dict[str, Any]) -> None:
    """Give a row the statistics that were kept; the trees do not know of them yet."""
    if ORDERED in kept:
        values = kept.pop(ORDERED)
        machine.tell_many(np.full(values.size, row), values)
    for name, value in kept.items():
        getattr(machine.state, name)[row] = value
    machine.is_stale = True
