"""Decision classes: what may be answered. One file a class; `TopK` is the paper's Best-K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bestk.decisions.base import DecisionClass
from bestk.decisions.explicit import ExplicitSets
from bestk.decisions.labels import freeze
from bestk.decisions.matching import BipartiteMatching
from bestk.decisions.oracle import Oracle
from bestk.decisions.partition import PartitionMatroid
from bestk.decisions.path import Path
from bestk.decisions.program import BinaryProgram
from bestk.decisions.spanning_tree import SpanningTree
from bestk.decisions.topk import TopK
from bestk.errors import InputError, UnknownName

__all__ = [
    "BinaryProgram", "BipartiteMatching", "DecisionClass", "ExplicitSets", "Oracle",
    "PartitionMatroid", "Path", "SpanningTree", "TopK", "decision_from_dict",
]  # fmt: skip

_READERS: dict[str, Callable[[dict[str, Any]], DecisionClass]] = {
    TopK.kind: lambda data: TopK(data["n_arms"], data["k"]),
    ExplicitSets.kind: lambda data: ExplicitSets(data["sets"], data["n_arms"]),
    PartitionMatroid.kind: lambda data: PartitionMatroid(
        freeze(data["groups"]), dict(freeze(data["capacities"]))
    ),
    SpanningTree.kind: lambda data: SpanningTree(freeze(data["edges"])),
    BipartiteMatching.kind: lambda data: BipartiteMatching(freeze(data["edges"]), data["perfect"]),
    Path.kind: lambda data: Path(
        freeze(data["edges"]), freeze(data["source"]), freeze(data["target"]), data["directed"]
    ),
    BinaryProgram.kind: BinaryProgram.from_dict,
}


def decision_from_dict(data: dict[str, Any]) -> DecisionClass:
    """The decision class that `to_dict` wrote."""
    kind = data.get("class") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        raise InputError('a decision class was refused: it must be an object with a "class"')
    if kind not in _READERS:
        raise UnknownName("decision class", kind, _READERS)
    try:
        return _READERS[kind](data)
    except KeyError as missing:
        raise InputError(f"the {kind} class was refused: it has no {missing}") from None
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"the {kind} class was refused: {error}") from None
