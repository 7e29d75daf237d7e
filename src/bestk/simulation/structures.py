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
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestk import decisions
from bestk.decisions import DecisionClass
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import FloatArray

DECISIONS = ("top-k", "spanning-tree", "matching", "path", "partition", "explicit")
GRAPHS: dict[str, Callable[..., DecisionClass]] = {
    "spanning-tree": decisions.SpanningTree,
    "matching": decisions.BipartiteMatching,
    "path": decisions.Path,
}
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


def _check_decision(decision: str) -> None:
    if decision not in DECISIONS:
        raise UnknownName("decision class", decision, DECISIONS)


# --- values of a file -----------------------------------------------------------------------------


class _Kind(NamedTuple):
    """What a value must be, and what is said of another: {0} is its key, {1} the value."""

    fits: Callable[[Any], bool]
    refusal: str


LIST = _Kind(lambda v: isinstance(v, list), "'{0}' must be a list, got {1}")
OBJECT = _Kind(lambda v: isinstance(v, dict), "{0} must be an object, got {1}")
FLAG = _Kind(lambda v: isinstance(v, bool), "'{0}' must be true or false, got {1}")
NODE = _Kind(lambda v: type(v) in (str, int), "a node must be a text or an integer, got {1}")
END = _Kind(NODE.fits, "{0}: a node must be a text or an integer, got {1}")
GROUP = _Kind(NODE.fits, "a group must be a text or an integer, got {1}")
CAPACITY = _Kind(lambda v: type(v) is int, "the capacity of '{0}' must be an integer, got {1}")
MEAN = _Kind(
    lambda v: type(v) in (int, float) and abs(v) <= sys.float_info.max,
    "the mean {1} is not a finite number",
)
ARMS = _Kind(
    lambda v: isinstance(v, list) and all(type(arm) is int for arm in v),
    "expected a list of arm numbers, got {1}",
)


def _short(value: object) -> str:
    try:
        text = json.dumps(value)
    except (RecursionError, ValueError):  # nested too deeply, or of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _checked(where: str, value: Any, kind: _Kind, key: str = "") -> Any:
    if not kind.fits(value):
        raise InputError(f"{where}: {kind.refusal.format(key, _short(value))}")
    return value


def _get(where: str, data: Any, key: str, kind: _Kind, default: object = None) -> Any:
    """The value of a key; an error says where it was looked for."""
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a JSON object, got {_short(data)}")
    if key not in data and default is None:
        raise InputError(f"{where}: '{key}' is missing")
    return _checked(where, data.get(key, default), kind, key)


def _only(where: str, data: Mapping[str, Any], *known: str) -> None:
    for key in data:
        if key not in known:
            raise UnknownName(f"key in {where}", key, known)


# --- files ----------------------------------------------------------------------------------------


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
        data = _csv_graph(str(path), text, decision)
    else:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a JSON object, got {_short(data)}")
    read = {"partition": _partition, "explicit": _explicit}.get(decision)
    built, means = read(str(path), data) if read else _graph(str(path), data, decision)
    return Structured(path.name, built, np.array(means, np.float64))


def _graph(path: str, data: Mapping[str, Any], decision: str) -> tuple[DecisionClass, list[float]]:
    _only(path, data, "nodes", "edges", "source", "target", "directed", "perfect")
    edges: list[Edge] = []
    means: list[float] = []
    for n, edge in enumerate(_get(path, data, "edges", LIST), 1):
        where = f"{path}, edge {n}"
        edges.append((_get(where, edge, "u", NODE), _get(where, edge, "v", NODE)))
        means.append(_get(where, edge, "mean", MEAN))
    perfect = decision == "matching" and _get(path, data, "perfect", FLAG, False)
    if "nodes" in data:
        listed = enumerate(_get(path, data, "nodes", LIST), 1)
        nodes = dict.fromkeys(_checked(f"{path}, node {n}", node, NODE) for n, node in listed)
        for n, node in ((n, node) for n, edge in enumerate(edges, 1) for node in edge):
            if node not in nodes:
                raise InputError(f"{path}, edge {n}: {node!r} is not among the nodes")
        touched = {node for edge in edges for node in edge}
        for node in nodes:
            if node not in touched and (decision == "spanning-tree" or perfect):
                raise InputError(f"{path}: node {node!r} has no edge: no {decision} reaches it")
    if decision == "matching":
        for node in {u for u, _ in edges} & {v for _, v in edges}:
            raise InputError(f"{path}: node {node!r} is on both sides (u and v) of the matching")
    options: dict[str, Any] = {}
    if decision == "matching":
        options = {"perfect": perfect}
    elif decision == "path":
        options = {key: _get(path, data, key, END) for key in ("source", "target")}
        options["directed"] = _get(path, data, "directed", FLAG, True)
    return GRAPHS[decision](edges, **options), means


def _csv_graph(path: str, text: str, decision: str) -> dict[str, Any]:
    """What the same graph is in JSON."""
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        lines = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(row)]
    except csv.Error as error:
        raise InputError(f"{path} is not CSV: {error}") from None
    if not lines or lines[0][1] != ["u", "v", "mean"]:
        raise InputError(f"{path}: the first line must be the header u,v,mean")
    edges = []
    for number, row in lines[1:]:
        where = f"{path}, line {number}"
        if len(row) != 3 or not all(row):
            raise InputError(f"{where}: expected u,v,mean, got '{','.join(row)}'")
        u, v, mean = row
        edges.append({"u": u, "v": v, "mean": _checked(where, _number(mean), MEAN)})
    if decision != "path":
        return {"edges": edges}
    source = _only_end(path, edges, "v", "source: the node that no edge enters")
    target = _only_end(path, edges, "u", "target: the node that no edge leaves")
    return {"edges": edges, "source": source, "target": target}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _only_end(path: str, edges: list[dict[str, Any]], side: str, what: str) -> str:
    """The only node that is never on that side of an edge."""
    busy = {edge[side] for edge in edges}
    ends = dict.fromkeys(edge[end] for edge in edges for end in ("u", "v"))
    free = [node for node in ends if node not in busy]
    if len(free) != 1:
        found = f"there are {len(free)}: {_short(free)}" if free else "there is none"
        raise InputError(f"{path}: cannot tell the {what}; {found} (JSON names it)")
    return str(free[0])


def _partition(path: str, data: Mapping[str, Any]) -> tuple[DecisionClass, list[float]]:
    _only(path, data, "arms", "capacities")
    groups, means = [], []
    for n, arm in enumerate(_get(path, data, "arms", LIST), 1):
        where = f"{path}, arm {n}"
        groups.append(str(_get(where, arm, "group", GROUP)))
        means.append(_get(where, arm, "mean", MEAN))
    capacities = _get(path, data, "capacities", OBJECT)
    for group, capacity in capacities.items():
        _checked(path, capacity, CAPACITY, group)
    return decisions.PartitionMatroid(groups, capacities), means


def _explicit(path: str, data: Mapping[str, Any]) -> tuple[DecisionClass, list[float]]:
    _only(path, data, "means", "sets")
    given, sets = _get(path, data, "means", LIST), _get(path, data, "sets", LIST)
    means = [_checked(f"{path}, arm {arm}", value, MEAN) for arm, value in enumerate(given)]
    used = {arm for n, s in enumerate(sets, 1) for arm in _checked(f"{path}, set {n}", s, ARMS)}
    for arm in sorted(used.symmetric_difference(range(len(means)))):
        if arm in used:
            what = f"a set names arm {arm}, but the {len(means)} arms are counted from 0"
        else:
            what = f"arm {arm} is in no set"
        raise InputError(f"{path}: {what}")
    return decisions.ExplicitSets(sets), means


# --- generators -----------------------------------------------------------------------------------


def generate(text: str, decision: str, gap: float, maximize: bool) -> Structured:
    """The instance of a text such as "grid:3x4", in one of the forms above."""
    _check_decision(decision)
    shape, _, size = text.partition(":")
    if shape not in GENERATORS:
        raise UnknownName("generator", shape, GENERATORS)
    sides = re.fullmatch(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})", size)
    if sides is None:
        raise InputError(
            f"'{text}' was refused: the size must be two positive integers, as in {shape}:3x4"
        )
    if decision not in GENERATORS[shape]:
        known = " and ".join(GENERATORS[shape])
        raise InputError(f"'{text}' was refused for {decision}: {shape} is for {known}")
    if not (math.isfinite(gap) and 0.5 + gap > 0.5 and 0.5 - gap < 0.5):
        raise InputError(f"gap={gap} was refused: it must be positive, and not lost in 1/2 + gap")
    a, b = int(sides[1]), int(sides[2])
    edges, route = _DRAW[shape](a, b)
    if not edges:
        raise InputError(f"'{text}' was refused: it has no edges")
    if decision == "matching" and a != b and not maximize:
        raise InputError(
            f"'{text}' was refused: a matching that may have any size costs least when it is"
            " empty; to minimise, both sides must have the same size"
        )
    ends = {"source": edges[0][0], "target": edges[-1][1]}
    options: dict[str, dict[str, Any]] = {"matching": {"perfect": a == b}, "path": ends}
    built = GRAPHS[decision](edges, **options.get(decision, {}))
    chosen = np.array([edge in route for edge in edges])
    if decision == "spanning-tree":
        chosen = built.best(-np.arange(len(edges), dtype=np.float64))  # first edges first
    sign = 1.0 if maximize else -1.0
    return Structured(text, built, np.where(chosen, 0.5 + sign * gap, 0.5))


def _grid(rows: int, cols: int) -> tuple[list[Edge], set[Edge]]:
    """Moves right and down, and a staircase that stays near the diagonal."""
    names = [[f"r{r + 1}c{c + 1}" for c in range(cols)] for r in range(rows)]
    edges: list[Edge] = [
        (names[r][c], names[down][right])
        for r in range(rows)
        for c in range(cols)
        for down, right in ((r, c + 1), (r + 1, c))
        if down < rows and right < cols
    ]
    r = c = 0
    stairs = [names[0][0]]
    while (r, c) != (rows - 1, cols - 1):
        if c < cols - 1 and c * (rows - 1) <= r * (cols - 1):
            c += 1
        else:
            r += 1
        stairs.append(names[r][c])
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
