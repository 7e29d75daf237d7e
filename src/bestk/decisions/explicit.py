"""Feasible sets written out one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from bestk.arguments import integer
from bestk.decisions.base import CompiledOracle, Extent, NumberedArms, Structure, require_choice
from bestk.decisions.labels import items
from bestk.errors import InputError
from bestk.kernels.types import EXPLICIT


@dataclass(frozen=True)
class ExplicitSets(NumberedArms, CompiledOracle):
    """The given sets of arm numbers; n_arms is the largest number plus one unless given."""

    sets: Sequence[Iterable[int]]
    n_arms: int = None  # type: ignore[assignment]  # an integer once built

    kind: ClassVar[str] = "explicit"
    width_source: ClassVar[str] = (
        "upper bound: the largest symmetric difference of two sets, for pairwise differences are "
        "an exchange class (Chen et al. 2014, Section 3.1)"
    )

    def __post_init__(self) -> None:
        sets = tuple(_read_set(members) for members in items(self.sets, "sets"))
        if not sets:
            raise InputError("an empty class was refused: give at least two sets")
        for members, following in pairwise(sorted(sets)):
            if members == following:
                raise InputError(f"set {members} was refused: it is given twice")
        used = 1 + max((arm for members in sets for arm in members), default=-1)
        n_arms = used if self.n_arms is None else integer(self.n_arms, "n_arms")
        if n_arms < max(used, 1):
            raise InputError(f"n_arms={n_arms} was refused: the sets name {used} arms")
        object.__setattr__(self, "sets", sets)
        object.__setattr__(self, "n_arms", n_arms)
        require_choice(self)

    @cached_property
    def structure(self) -> Structure:
        """A row a set: its size, then its arms."""
        sets = [tuple(members) for members in self.sets]
        table = np.zeros((len(sets), 1 + max(len(members) for members in sets)), np.int64)
        for row, members in zip(table, sets, strict=True):
            row[: 1 + len(members)] = (len(members), *members)
        return Structure(EXPLICIT, self.n_arms, table)

    @cached_property
    def extent(self) -> Extent:
        """As many sets as were given."""
        sizes = [len(tuple(members)) for members in self.sets]
        return Extent(min(sizes), max(sizes), n_sets=len(sizes))

    @cached_property
    def width(self) -> int:
        """The largest symmetric difference of two sets."""
        table = np.zeros((len(self.sets), self.n_arms))
        for row, members in zip(table, self.sets, strict=True):
            row[list(members)] = 1.0
        sizes = table.sum(axis=1)
        # |A| + |B| - 2 |A and B|, row by row: all pairs at once may not fit into memory
        return int(
            max((sizes + sizes[i] - 2 * (table @ table[i])).max() for i in range(len(sizes)))
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        return {"class": self.kind, "sets": [list(s) for s in self.sets], "n_arms": self.n_arms}


def _read_set(members: object) -> tuple[int, ...]:
    arms = sorted(integer(arm, "arm") for arm in items(members, "the arms of a set"))
    if arms and arms[0] < 0:
        raise InputError(f"arm {arms[0]} was refused: arms are numbered from 0")
    for arm, following in pairwise(arms):
        if arm == following:
            raise InputError(f"set {tuple(arms)} was refused: it names arm {arm} twice")
    return tuple(arms)
