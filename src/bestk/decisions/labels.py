"""Reading what users write: labels of nodes and groups, lists of edges."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bestk.arguments import shown
from bestk.errors import InputError

Edge = tuple[Hashable, Hashable]


def label(value: object, what: str) -> Hashable:
    """A hashable label, or a refusal that names `what`."""
    try:
        hash(value)
    except TypeError:
        raise InputError(f"{what} {shown(value)} was refused: it must be hashable") from None
    return value


def items(values: object, what: str) -> list[Any]:
    """The members of any iterable but a text."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} {shown(values)} were refused: give a sequence")
    return list(values)


def read_arms(arms: object) -> tuple[Hashable, ...]:
    """The labels of arms, in the order of any iterable; a text has an arm for each character."""
    if not isinstance(arms, Iterable):
        raise InputError(f"arms={shown(arms)} were refused: give a sequence of labels")
    return tuple(label(each, "arm") for each in arms)


def read_pairs(answers: object) -> Iterator[tuple[Any, Any]]:
    """Pairs of a pull and its reward, in the order of any iterable."""
    try:
        given = iter(answers)  # type: ignore[call-overload]  # a TypeError is the answer
    except TypeError:
        raise InputError(
            f"answers {shown(answers)} were refused: give pairs of pull and reward"
        ) from None
    for each in given:
        try:
            pull, reward = each
        except (TypeError, ValueError):
            raise InputError(
                f"answer {shown(each)} was refused: it must be a pair of pull and reward"
            ) from None
        yield pull, reward


def read_edges(edges: object, directed: bool, bipartite: bool = False) -> tuple[Edge, ...]:
    """Edges as pairs of nodes, without self loops and duplicates.

    `bipartite`: left and right nodes are named apart, so that (1, 1) joins two nodes.
    """
    pairs: list[Edge] = []
    seen: set[Hashable] = set()
    for edge in items(edges, "edges"):
        ends = [label(node, "node") for node in items(edge, "the ends of an edge")]
        if len(ends) != 2:
            raise InputError(f"edge {edge!r} was refused: an edge is a pair of nodes")
        pair = (ends[0], ends[1])
        if pair[0] == pair[1] and not bipartite:
            raise InputError(f"edge {pair!r} was refused: it is a self loop")
        key: Hashable = pair if directed or bipartite else frozenset(pair)
        if key in seen:
            raise InputError(f"edge {pair!r} was refused: it is given twice")
        seen.add(key)
        pairs.append(pair)
    if not pairs:
        raise InputError("a graph without edges was refused: edges are the arms")
    return tuple(pairs)


def number(labels: Iterable[Hashable]) -> dict[Hashable, int]:
    """Labels numbered in the order in which they are met."""
    return {each: place for place, each in enumerate(dict.fromkeys(labels))}


def freeze(value: Any) -> Any:
    """A label read from JSON: lists become the tuples they were."""
    return tuple(freeze(each) for each in value) if isinstance(value, list | tuple) else value


def thaw(value: Any) -> Any:
    """A label as JSON writes it: tuples become lists."""
    if isinstance(value, tuple):
        return [thaw(each) for each in value]
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InputError(f"label {value!r} was refused: numbers must be finite to be written")
    if plain is None or isinstance(plain, str | int | float):
        return plain
    raise InputError(
        f"label {value!r} was refused: a class is written with labels that are texts, numbers or "
        "tuples of them"
    )


def thaw_edges(edges: Sequence[Edge]) -> list[list[Any]]:
    """Edges as JSON writes them."""
    return [[thaw(u), thaw(v)] for u, v in edges]


class EdgeArms:
    """A class whose arms are the edges of a graph."""

    edges: Sequence[Edge]

    @property
    def n_arms(self) -> int:
        """How many edges the graph has."""
        return len(self.edges)

    @property
    def names(self) -> tuple[Edge, ...]:
        """The edges."""
        return tuple(self.edges)
