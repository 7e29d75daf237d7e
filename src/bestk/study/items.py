"""The items of an evaluation: which they are, and in which order every arm scores them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestk.arguments import array, shown
from bestk.errors import InputError, UnknownName
from bestk.kernels import finite, rng
from bestk.kernels.types import FloatArray, NodeArray
from bestk.rewards import Bounded, Rewards

FIRST = 16  # places of an order that are drawn at once, or more; arbitrary
DIGITS = 6  # of a residual that is kept; arbitrary: any fixed numbers are valid
TARGETS = ("items", "population")  # whose means are compared


@dataclass(frozen=True)
class History:
    """How hard the items were to other arms: of every item, residuals of scores and their number.

    A residual is a score, scaled to [0, 1], less the mean of its arm.
    """

    residuals: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, history: object, n_items: int, rewards: object) -> History:
        """From a table with a row for each of the other arms, NaN where a score is unknown."""
        table = array(history, "history")
        if table.ndim != 2 or table.shape[1] != n_items:
            raise InputError(
                f"a history of shape {table.shape} was refused: it needs a row for each other"
                f" arm, and a column for each of the {n_items} items"
            )
        low, high = (float(getattr(rewards, end, math.nan)) for end in ("low", "high"))
        known = ~np.isnan(table)
        outside = known & ~((low <= table) & (table <= high))
        for arm, item in np.argwhere(outside)[:1]:
            raise InputError(
                f"a history was refused: the score {table[arm, item]:g} of arm {arm} on item {item}"
                f" does not lie between {low:g} and {high:g}"
            )
        x = np.where(known, (table - low) / (high - low), 0.0)
        means = x.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        sums = np.where(known, x - means[:, None], 0.0).sum(axis=0)
        return cls(tuple(np.round(sums, DIGITS).tolist()), tuple(known.sum(axis=0).tolist()))

    def start(self, sign: float) -> FloatArray:
        """What kernels start with: `Items.start`, as the policy sees scores."""
        residuals, counts = sign * np.array(self.residuals), np.array(self.counts, np.float64)
        return np.array([residuals, counts, residuals / (counts + finite.NEIGHBOURS)])


@dataclass(frozen=True, repr=False)
class ItemSet:
    """What a study remembers of its items."""

    count: int
    digest: str
    target: str
    history: History | None = None

    @classmethod
    def of(cls, items: Sequence[Any], target: str, history: object, rewards: object) -> ItemSet:
        """The list that an evaluation is begun with; scores of other arms lie where rewards do."""
        if target not in TARGETS:
            raise UnknownName("target", target, TARGETS)
        known = None if history is None else History.of(history, len(items), rewards)
        if known is not None and target != "items":
            raise InputError(
                f"a history was refused: with target={target!r} only each arm's own scores count"
            )
        return cls(len(items), digest(items), target, known)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ItemSet:
        """Read what `to_dict` wrote."""
        known = data["history"]
        if known is not None:
            known = History(**{name: tuple(values) for name, values in known.items()})
        return cls(data["count"], data["digest"], data["target"], known)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        known = self.history
        lists = None
        if known is not None:
            lists = {"residuals": list(known.residuals), "counts": list(known.counts)}
        fields = {"count": self.count, "digest": self.digest, "target": self.target}
        return {**fields, "history": lists}

    def __str__(self) -> str:
        known = "" if self.history is None else ", with a history"
        return f"{self.count:,} items ({self.digest[:12]}, target {self.target}{known})"

    __repr__ = __str__


def read_evaluation(
    items: Iterable[Any] | None, target: str, history: object, rewards: Rewards | None
) -> tuple[tuple[Any, ...] | None, ItemSet | None]:
    """The items as given, and what a study remembers of them; nothing where there are none.

    They are keyed by their position: one that is listed twice counts twice.
    """
    if items is None:
        return None, None
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InputError(f"items={shown(items)} were refused: give a list of items")
    listed = tuple(items)
    if not listed:
        raise InputError("items were refused: the list is empty")
    return listed, ItemSet.of(listed, target, history, rewards or Bounded())


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
