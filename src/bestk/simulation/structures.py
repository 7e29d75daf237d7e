"""Combinatorial instances: a decision class with true means, from a file or from a generator.

Files (UTF-8; a name that ends in .csv is read as CSV, any other as JSON):

- a graph in JSON, for `spanning-tree`, `matching` and `path`. An edge is an arm::

      {"nodes": ["a", "b"], "edges": [{"u": "a", "v": "b", "mean": 0.5}, ...],
       "source": "a", "target": "b", "directed": true, "perfect": false}

  Nodes are texts or integers. `nodes` is optional: if it is given, an edge between others is
  refused. `source` and `target` are required for a path and unused elsewhere; `directed` (path
  only, default true) says whether edges lead from u to v only; `perfect` (matching only, default
  false) whether every node must be matched. In a matching u is a node of one side and v of the
  other; no name may be on both.
- a graph in CSV: a header `u,v,mean`, then one edge per line. For a path the edges are directed,
  the source is the only node that no edge enters and the target the only one that no edge leaves;
  a matching need not be perfect.
- `partition` in JSON, exactly `capacities[g]` arms of every group g (a text, or an integer, which
  is then quoted among the capacities)::

      {"arms": [{"group": "red", "mean": 0.5}, ...], "capacities": {"red": 1, "blue": 2}}

- `explicit` in JSON, each feasible set by the numbers of its arms, counted from 0::

      {"means": [0.5, 0.4, 0.3], "sets": [[0, 1], [1, 2], [0, 2]]}

Other keys at the top are refused, so that a misspelt one is noticed; edges and arms may have more.

Generators, with gap G: the arms of one chosen set have mean 1/2 + G, all others 1/2 (1/2 - G when
minimising). No other set is larger, so that it is the only optimum. The CPE gap of an arm (paper,
Section 4.2) is G for spanning trees, a small multiple of G for matchings (2 or 3 if N = M) and
layered paths (2 or 3), and up to R + C - 2 times G for paths through a grid.

| text          | `spanning-tree`            | `path`                                | `matching` |
|---------------|----------------------------|---------------------------------------|------------|
| grid:RxC      | R rows of C nodes          | right and down, from corner to corner |            |
| layered:LxW   | the same graph, undirected | source, L full layers of W, target    |            |
| bipartite:NxM | K_{N,M}                    |                                       | K_{N,M}    |

A bipartite matching is perfect if N = M. Otherwise it may have any size, which is the largest at
the optimum since means are positive; there is then nothing to minimise, and that is refused.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestk import decisions
from bestk.decisions import DecisionClass
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import FloatArray

DECISIONS = ("top-k", "spanning-tree", "matching", "path", "partition", "explicit")
GRAPHS = ("spanning-tree", "matching", "path")
GENERATORS = {
    "grid": ("spanning-tree", "path"),
    "layered": ("spanning-tree", "path"),
    "bipartite": ("spanning-tree", "matching"),
}

Edge = tuple[str | int, str | int]


class Structured(NamedTuple):
    """True means, one an arm, and the sets of arms that may be answered."""

    name: str
    decision: DecisionClass
    means: FloatArray


# --- files ----------------------------------------------------------------------------------------


class _Graph(NamedTuple):
    edges: list[Edge]
    means: list[float]
    nodes: list[str | int] | None = None
    source: str | int | None = None
    target: str | int | None = None
    directed: bool = True
    perfect: bool = False


def read_graph(path: Path, decision: str) -> Structured:
    """The instance of a file, in one of the formats above."""
    _check_decision(decision)
    if decision == "top-k":
        raise InputError(f"{path} was refused: top-k has no graph, give it the means themselves")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if path.suffix.lower() == ".csv":
        if decision not in GRAPHS:
            raise InputError(f"{path}: a {decision} class is read from JSON, not from CSV")
        return _build(path, decision, _csv_graph(path, text, decision))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a JSON object, got {_short(data)}")
    if decision == "partition":
        return _partition(path, data)
    if decision == "explicit":
        return _explicit(path, data)
    return _build(path, decision, _json_graph(path, data, decision))


def _build(path: Path, decision: str, graph: _Graph) -> Structured:
    if graph.nodes is not None and (decision == "spanning-tree" or graph.perfect):
        touched = {node for edge in graph.edges for node in edge}
        for node in graph.nodes:
            if node not in touched:
                raise InputError(f"{path}: node {node!r} has no edge: no {decision} reaches it")
    built: DecisionClass
    if decision == "spanning-tree":
        built = decisions.SpanningTree(graph.edges)
    elif decision == "matching":
        for node in {u for u, _ in graph.edges} & {v for _, v in graph.edges}:
            raise InputError(f"{path}: node {node!r} is on both sides (u and v) of the matching")
        built = decisions.BipartiteMatching(graph.edges, perfect=graph.perfect)
    else:
        built = decisions.Path(graph.edges, graph.source, graph.target, directed=graph.directed)
    return Structured(path.name, built, np.array(graph.means))


def _json_graph(path: Path, data: Mapping[str, Any], decision: str) -> _Graph:
    _only(path, data, ("nodes", "edges", "source", "target", "directed", "perfect"))
    nodes = None
    if "nodes" in data:
        listed = _list(path, data, "nodes")
        nodes = [_node(f"{path}, node {n}", node) for n, node in enumerate(listed, 1)]
    known = set(nodes or ())
    edges: list[Edge] = []
    means = []
    for n, edge in enumerate(_list(path, data, "edges"), 1):
        where = f"{path}, edge {n}"
        u = _node(where, _key(where, edge, "u"))
        v = _node(where, _key(where, edge, "v"))
        for node in (u, v):
            if nodes is not None and node not in known:
                raise InputError(f"{where}: {node!r} is not among the nodes")
        edges.append((u, v))
        means.append(_mean(where, _key(where, edge, "mean")))
    graph = _Graph(edges, means, nodes)
    if decision == "matching":
        return graph._replace(perfect=_flag(path, data, "perfect", False))
    if decision == "path":
        return graph._replace(
            source=_node(f"{path}, source", _key(str(path), data, "source")),
            target=_node(f"{path}, target", _key(str(path), data, "target")),
            directed=_flag(path, data, "directed", True),
        )
    return graph


def _csv_graph(path: Path, text: str, decision: str) -> _Graph:
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        lines = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(row)]
    except csv.Error as error:
        raise InputError(f"{path} is not CSV: {error}") from None
    if not lines or lines[0][1] != ["u", "v", "mean"]:
        raise InputError(f"{path}: the first line must be the header u,v,mean")
    edges: list[Edge] = []
    means = []
    for number, row in lines[1:]:
        where = f"{path}, line {number}"
        if len(row) != 3 or not all(row):
            raise InputError(f"{where}: expected u,v,mean, got '{','.join(row)}'")
        edges.append((row[0], row[1]))
        means.append(_mean(where, _number(row[2])))
    if decision != "path":
        return _Graph(edges, means)
    source = _only_end(path, edges, 1, "source: the node that no edge enters")
    target = _only_end(path, edges, 0, "target: the node that no edge leaves")
    return _Graph(edges, means, source=source, target=target)


def _only_end(path: Path, edges: list[Edge], side: int, what: str) -> str | int:
    """The only node that is never on that side of an edge (0: u, 1: v)."""
    busy = {edge[side] for edge in edges}
    free = list(dict.fromkeys(node for edge in edges for node in edge if node not in busy))
    if len(free) != 1:
        found = f"there are {len(free)}: {_short(free)}" if free else "there is none"
        raise InputError(f"{path}: cannot tell the {what}; {found} (JSON names it)")
    return free[0]


def _partition(path: Path, data: Mapping[str, Any]) -> Structured:
    _only(path, data, ("arms", "capacities"))
    groups, means = [], []
    for n, arm in enumerate(_list(path, data, "arms"), 1):
        where = f"{path}, arm {n}"
        groups.append(str(_node(where, _key(where, arm, "group"), "group")))
        means.append(_mean(where, _key(where, arm, "mean")))
    capacities = _key(str(path), data, "capacities")
    if not isinstance(capacities, dict):
        raise InputError(f"{path}: capacities must be an object, got {_short(capacities)}")
    for group, capacity in capacities.items():
        if not isinstance(capacity, int) or isinstance(capacity, bool):
            raise InputError(
                f"{path}: the capacity of '{group}' must be an integer, got {_short(capacity)}"
            )
    return Structured(path.name, decisions.PartitionMatroid(groups, capacities), np.array(means))


def _explicit(path: Path, data: Mapping[str, Any]) -> Structured:
    _only(path, data, ("means", "sets"))
    given = _list(path, data, "means")
    means = [_mean(f"{path}, arm {arm}", value) for arm, value in enumerate(given)]
    sets = _list(path, data, "sets")
    for n, arms in enumerate(sets, 1):
        if not isinstance(arms, list) or not all(type(arm) is int for arm in arms):
            raise InputError(f"{path}, set {n}: expected a list of arm numbers, got {_short(arms)}")
    used = {arm for arms in sets for arm in arms}
    for arm in sorted(used.symmetric_difference(range(len(means)))):
        if arm in used:
            what = f"a set names arm {arm}, but the {len(means)} arms are counted from 0"
        else:
            what = f"arm {arm} is in no set"
        raise InputError(f"{path}: {what}")
    return Structured(path.name, decisions.ExplicitSets(sets), np.array(means))


# --- values of a file -----------------------------------------------------------------------------


def _check_decision(decision: str) -> None:
    if decision not in DECISIONS:
        raise UnknownName("decision class", decision, DECISIONS)


def _short(value: object) -> str:
    try:
        text = json.dumps(value)
    except (RecursionError, ValueError):  # nested too deeply, or of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _only(path: Path, data: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            raise UnknownName(f"key in {path}", key, known)


def _key(where: str, data: Any, key: str) -> Any:
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a JSON object, got {_short(data)}")
    if key not in data:
        raise InputError(f"{where}: '{key}' is missing")
    return data[key]


def _list(path: Path, data: Mapping[str, Any], key: str) -> list[Any]:
    value = _key(str(path), data, key)
    if not isinstance(value, list):
        raise InputError(f"{path}: '{key}' must be a list, got {_short(value)}")
    return value


def _flag(path: Path, data: Mapping[str, Any], key: str, default: bool) -> bool:
    value = data.get(key, default)
    if not isinstance(value, bool):
        raise InputError(f"{path}: '{key}' must be true or false, got {_short(value)}")
    return value


def _node(where: str, value: Any, what: str = "node") -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{where}: a {what} must be a text or an integer, got {_short(value)}")
    return value


def _mean(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise InputError(f"{where}: the mean {_short(value)} is not a finite number")
    return float(value)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


# --- generators -----------------------------------------------------------------------------------


def generate(text: str, decision: str, gap: float, maximize: bool) -> Structured:
    """The instance of a text such as "grid:3x4", in one of the forms above."""
    _check_decision(decision)
    shape, a, b = _parse(text)
    if decision not in GENERATORS[shape]:
        known = " and ".join(GENERATORS[shape])
        raise InputError(f"'{text}' was refused for {decision}: {shape} is for {known}")
    if not (math.isfinite(gap) and 0.5 + gap > 0.5 and 0.5 - gap < 0.5):
        raise InputError(f"gap={gap} was refused: it must be positive, and not lost in 1/2 + gap")
    edges, route = _DRAW[shape](a, b)
    if not edges:
        raise InputError(f"'{text}' was refused: it has no edges")
    built: DecisionClass
    if decision == "spanning-tree":
        built = decisions.SpanningTree(edges)
        chosen = built.best(-np.arange(len(edges), dtype=np.float64))  # first edges first
    elif decision == "matching":
        if a != b and not maximize:
            raise InputError(
                f"'{text}' was refused: a matching that may have any size costs least when it is"
                " empty; to minimise, both sides must have the same size"
            )
        built = decisions.BipartiteMatching(edges, perfect=a == b)
        chosen = np.array([edge in route for edge in edges])
    else:
        built = decisions.Path(edges, edges[0][0], edges[-1][1])
        chosen = np.array([edge in route for edge in edges])
    sign = 1.0 if maximize else -1.0
    return Structured(text, built, np.where(chosen, 0.5 + sign * gap, 0.5))


def _parse(text: str) -> tuple[str, int, int]:
    shape, _, size = text.partition(":")
    if shape not in GENERATORS:
        raise UnknownName("generator", shape, GENERATORS)
    sides = re.fullmatch(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})", size)
    if sides is None:
        raise InputError(
            f"'{text}' was refused: the size must be two positive integers, as in {shape}:3x4"
        )
    return shape, int(sides[1]), int(sides[2])


def _grid(rows: int, cols: int) -> tuple[list[Edge], set[Edge]]:
    """Moves right and down, and a staircase that stays near the diagonal."""
    edges: list[Edge] = []
    for r in range(rows):
        for c in range(cols):
            if c + 1 < cols:
                edges.append((f"r{r + 1}c{c + 1}", f"r{r + 1}c{c + 2}"))
            if r + 1 < rows:
                edges.append((f"r{r + 1}c{c + 1}", f"r{r + 2}c{c + 1}"))
    r = c = 0
    stairs = ["r1c1"]
    while (r, c) != (rows - 1, cols - 1):
        if c < cols - 1 and c * (rows - 1) <= r * (cols - 1):
            c += 1
        else:
            r += 1
        stairs.append(f"r{r + 1}c{c + 1}")
    return edges, set(pairwise(stairs))


def _layered(layers: int, width: int) -> tuple[list[Edge], set[Edge]]:
    """Every node to every node of the next layer, and the first nodes of all layers."""
    stages = [["source"]]
    stages += [[f"l{i + 1}n{j + 1}" for j in range(width)] for i in range(layers)]
    stages += [["target"]]
    pairs = list(pairwise(stages))
    edges: list[Edge] = [(u, v) for here, there in pairs for u in here for v in there]
    return edges, {(here[0], there[0]) for here, there in pairs}


def _bipartite(n: int, m: int) -> tuple[list[Edge], set[Edge]]:
    """Every pair, and the diagonal."""
    edges: list[Edge] = [(f"a{i + 1}", f"b{j + 1}") for i in range(n) for j in range(m)]
    return edges, {(f"a{i + 1}", f"b{i + 1}") for i in range(min(n, m))}


_DRAW = {"grid": _grid, "layered": _layered, "bipartite": _bipartite}
