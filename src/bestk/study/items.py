"""The items of an evaluation: which they are, and in which order every arm scores them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestk.arguments import shown
from bestk.errors import InputError, UnknownName
from bestk.kernels import finite, rng
from bestk.kernels.types import NodeArray

FIRST = 16  # places of an order that are drawn at once, or more; arbitrary
TARGETS = ("items", "population")  # whose means are compared


@dataclass(frozen=True)
class ItemSet:
    """What a study remembers of its items."""

    count: int
    digest: str
    target: str

    @classmethod
    def of(cls, items: Sequence[Any], target: str) -> ItemSet:
        """The list that an evaluation is begun with."""
        if target not in TARGETS:
            raise UnknownName("target", target, TARGETS)
        return cls(len(items), digest(items), target)


def read_items(items: Iterable[Any]) -> tuple[Any, ...]:
    """The items as given, keyed by their position; one that is listed twice counts twice."""
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InputError(f"items={shown(items)} were refused: give a list of items")
    found = tuple(items)
    if not found:
        raise InputError("items were refused: the list is empty")
    return found


def digest(items: Sequence[Any]) -> str:
    """A fingerprint of the list, to notice one that has changed.

    Items that JSON cannot hold count as their text, so that it should say what they are.
    """
    hashed = hashlib.sha256()
    for item in items:
        try:
            text = json.dumps(item, sort_keys=True)
        except (TypeError, ValueError):
            text = f"{type(item).__qualname__} {item}"
        hashed.update(text.encode("utf-8", "backslashreplace") + b"\n")
    return hashed.hexdigest()


class Orders:
    """Of every arm, the order in which it scores the items: drawn from the seed, place by place.

    The policy's own state draws the same (`kernels/finite.py`); here are also the places that were
    asked for and do not count yet.
    """

    def __init__(self, n_items: int, seed: int) -> None:
        self._n_items, self._seed = n_items, seed
        self._rows: dict[int, NodeArray] = {}
        self._drawn: dict[int, int] = {}  # places of each order

    def item(self, arm: int, number: int) -> int:
        """The position of the item that is number-th for that arm, both counted from 0."""
        row = self._rows.get(arm)
        if row is None:
            row = self._rows[arm] = np.arange(self._n_items, dtype=np.int32)
        drawn = self._drawn.get(arm, 0)
        if drawn <= number:  # as many again as are drawn: coins are cheap together
            end = min(max(2 * drawn, number + 1, FIRST), self._n_items)
            places = np.arange(drawn, end)
            coins = rng.uniform(self._seed, 0, np.full(places.size, arm), places, rng.ORDER)
            for place, coin in zip(places.tolist(), coins.tolist(), strict=True):
                finite.swap_in(row, place, coin)
            self._drawn[arm] = end
        return int(row[number])
