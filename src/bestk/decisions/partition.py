"""The best arms of every group."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bestk.arguments import integer
from bestk.decisions.base import CompiledOracle, NumberedArms, Structure, require_choice
from bestk.decisions.labels import items, label, number, thaw
from bestk.errors import InputError
from bestk.kernels.types import PARTITION


@dataclass(frozen=True)
class PartitionMatroid(NumberedArms, CompiledOracle):
    """Exactly `capacity` arms of every group: the bases of a partition matroid.

    groups[i] is the group of arm i; capacities map every group to its capacity, or list them for
    the groups 0, 1, 2, ...
    """

    groups: Sequence[Hashable]
    capacities: Mapping[Hashable, int] | Sequence[int] = field(hash=False)  # a dict once built

    kind: ClassVar[str] = "partition"
    width: ClassVar[int] = 2
    width_source: ClassVar[str] = "exact: bases of a matroid (Chen et al. 2014, Section 3.1)"

    def __post_init__(self) -> None:
        groups = tuple(label(group, "group") for group in items(self.groups, "groups"))
        if not groups:
            raise InputError("an empty class was refused: there are no arms")
        given = self.capacities
        if not isinstance(given, Mapping):
            given = dict(enumerate(items(given, "capacities")))
        for group in given:
            if group not in groups:
                raise InputError(f"capacity of group {group!r} was refused: no arm is in it")
        capacities = {}
        for group in dict.fromkeys(groups):
            if group not in given:
                raise InputError(f"group {group!r} was refused: it has no capacity")
            capacity, size = integer(given[group], "capacity"), groups.count(group)
            if not 0 <= capacity <= size:
                raise InputError(
                    f"capacity {capacity} of group {group!r} was refused: it must be 0 to {size}, "
                    "the number of its arms"
                )
            capacities[group] = capacity
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "capacities", capacities)
        require_choice(self)

    @property
    def n_arms(self) -> int:
        """How many arms all groups have."""
        return len(self.groups)

    @property
    def _capacities(self) -> dict[Hashable, int]:
        assert isinstance(self.capacities, dict)
        return self.capacities

    @cached_property
    def structure(self) -> Structure:
        """The group of every arm and the capacity of every group."""
        numbers = number(self.groups)
        table = np.zeros((2, self.n_arms), np.int64)
        table[0] = [numbers[group] for group in self.groups]
        table[1, : len(numbers)] = list(self._capacities.values())
        return Structure(PARTITION, self.n_arms, table, n_nodes=len(numbers))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; capacities as pairs, for JSON has texts as keys only."""
        return {
            "class": self.kind,
            "groups": [thaw(group) for group in self.groups],
            "capacities": [[thaw(group), many] for group, many in self._capacities.items()],
        }
