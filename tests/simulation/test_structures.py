"""Combinatorial instances from files and from generators."""

import json

import numpy as np
import pytest

from bestk import decisions
from bestk.errors import InputError
from bestk.simulation.structures import DECISIONS, generate, read_graph
from helpers import feasible

GRAPH = {
    "nodes": ["a", "b", "c"],
    "edges": [
        {"u": "a", "v": "b", "mean": 0.1},
        {"u": "b", "v": "c", "mean": 0.2},
        {"u": "a", "v": "c", "mean": -3, "label": "a shortcut"},
    ],
    "source": "a",
    "target": "c",
}
SIDES = {"edges": [{"u": u, "v": v, "mean": 0.5} for u in (1, 2) for v in (3, 4)]}
PARTITION = {
    "arms": [{"group": g, "mean": m} for g, m in (("x", 0.1), (7, 0.2), ("x", 0.3), (7, 0.4))],
    "capacities": {"x": 1, "7": 1},
}
EXPLICIT = {"means": [0.5, 0.4, 0.3], "sets": [[0, 1], [1, 2], [2, 0]]}


def arms(decision, weights):
    return np.flatnonzero(decision.best(np.array(weights, float))).tolist()


@pytest.fixture
def save(tmp_path):
    def write(content, name="graph.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def without(data, *keys):
    return {key: value for key, value in data.items() if key not in keys}


# --- files ----------------------------------------------------------------------------------------


def test_a_json_graph_gives_a_spanning_tree_of_its_edges_in_their_order(save):
    name, decision, means = read_graph(save(GRAPH), "spanning-tree")
    assert name == "graph.json"
    assert isinstance(decision, decisions.SpanningTree)
    assert means.tolist() == [0.1, 0.2, -3.0]
    assert arms(decision, [1, 2, 3]) == [1, 2]


def test_a_json_graph_gives_a_path_from_its_source_to_its_target(save):
    decision = read_graph(save(GRAPH), "path").decision
    assert isinstance(decision, decisions.Path)
    assert arms(decision, [1, 1, 3]) == [2]
    assert arms(decision, [2, 2, 3]) == [0, 1]


def test_an_undirected_json_graph_gives_paths_that_use_edges_both_ways(save):
    backwards = {**GRAPH, "source": "c", "target": "a", "directed": False}
    assert arms(read_graph(save(backwards), "path").decision, [-1, -1, -3]) == [0, 1]


def test_a_json_graph_gives_a_matching_and_says_if_it_must_be_perfect(save):
    negative = [-1, -2, -2, -1]
    assert arms(read_graph(save(SIDES), "matching").decision, negative) == []
    perfect = save({**SIDES, "perfect": True})
    assert arms(read_graph(perfect, "matching").decision, negative) == [0, 3]


def test_a_csv_graph_is_read_like_the_json_one(save):
    path = save("u, v, mean\na,b,0.1\n\nb,c,0.2\n a , c ,-3\n", "graph.csv")
    for kind in ("spanning-tree", "path"):
        got, wanted = read_graph(path, kind), read_graph(save(GRAPH), kind)
        assert got.decision.to_dict() == wanted.decision.to_dict()
        assert got.means.tolist() == wanted.means.tolist()


def test_a_csv_graph_gives_a_matching_of_any_size(save):
    path = save("u,v,mean\nx,1,0.1\nx,2,0.2\ny,1,0.2\n", "sides.CSV")
    assert arms(read_graph(path, "matching").decision, [1, -1, -1]) == [0]


def test_a_csv_path_needs_one_beginning_and_one_end(save):
    two = save("u,v,mean\na,c,1\nb,c,1\nc,d,1\n", "two.csv")
    with pytest.raises(InputError, match=r"two\.csv.*source.*no edge enters; there are 2.*a.*b"):
        read_graph(two, "path")
    cycle = save("u,v,mean\na,b,1\nb,c,1\nc,b,1\n", "cycle.csv")
    with pytest.raises(InputError, match=r"cycle\.csv.*target.*no edge leaves; there is none"):
        read_graph(cycle, "path")


def test_a_partition_file_gives_groups_with_capacities(save):
    _, decision, means = read_graph(save(PARTITION), "partition")
    assert means.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert arms(decision, [1, 2, 0, 0]) == [0, 1]
    assert arms(decision, [-1, -1, -2, 0]) == [0, 3]


def test_an_explicit_file_lists_its_sets(save):
    _, decision, means = read_graph(save(EXPLICIT), "explicit")
    assert means.tolist() == [0.5, 0.4, 0.3]
    assert arms(decision, [1, 0, 2]) == [0, 2]


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("path", "nodes: a", "is not JSON"),
        ("path", "[1, 2]", r"expected a JSON object, got \[1, 2\]"),
        ("path", without(GRAPH, "edges"), "'edges' is missing"),
        ("path", without(GRAPH, "source"), "'source' is missing"),
        ("path", without(GRAPH, "target"), "'target' is missing"),
        ("path", {**GRAPH, "source": ["a"]}, "source: a node must be a text or an integer"),
        ("path", {**GRAPH, "directed": "no"}, "'directed' must be true or false"),
        ("path", {**GRAPH, "direct": False}, "did you mean 'directed'"),
        ("matching", {**SIDES, "perfect": 1}, "'perfect' must be true or false"),
        ("spanning-tree", {"edges": "ab"}, "'edges' must be a list"),
        ("spanning-tree", {"edges": ["ab"]}, "edge 1: expected a JSON object"),
        ("spanning-tree", {"edges": [{"u": 1, "v": 2}]}, "edge 1: 'mean' is missing"),
        ("spanning-tree", {"edges": [{"u": None, "v": 2, "mean": 0}]}, "edge 1: a node must be"),
        ("spanning-tree", {**GRAPH, "nodes": ["a", "c"]}, "edge 1: 'b' is not among the nodes"),
        ("spanning-tree", {**GRAPH, "nodes": [*"abcd"]}, "node 'd' has no edge"),
        ("matching", {**SIDES, "nodes": [1, 2, 3, 4, 5, 6], "perfect": True}, "node 5 has no edge"),
        ("matching", GRAPH, "node 'b' is on both sides"),
        ("partition", without(PARTITION, "capacities"), "'capacities' is missing"),
        ("partition", {**PARTITION, "capacities": [1]}, "capacities must be an object"),
        ("partition", {**PARTITION, "capacities": {"x": 1.5}}, "'x' must be an integer"),
        ("partition", {"arms": [{"mean": 1}], "capacities": {}}, "arm 1: 'group' is missing"),
        ("explicit", without(EXPLICIT, "sets"), "'sets' is missing"),
        ("explicit", {**EXPLICIT, "sets": [[0], "1"]}, "set 2: expected a list of arm numbers"),
        ("explicit", {**EXPLICIT, "sets": [[0], [1, 3]]}, "arm 2 is in no set"),
        ("explicit", {**EXPLICIT, "sets": [[0, 1], [2, 3]]}, "names arm 3, but the 3 arms"),
        ("explicit", {**EXPLICIT, "sets": [[0, 1], [2, -1]]}, "names arm -1"),
        ("explicit", {**EXPLICIT, "means": [0.5, None, 1]}, "arm 1: the mean null is not a finite"),
    ],
)
def test_a_bad_file_is_refused_by_its_name_with_the_reason(save, kind, content, reason):
    with pytest.raises(InputError, match=rf"graph\.json.*{reason}"):
        read_graph(save(content), kind)


@pytest.mark.parametrize("mean", ["NaN", "Infinity", "-1e999", "true", '"0.5"', "null", "9" * 400])
def test_a_mean_that_is_not_a_finite_number_is_refused(save, mean):
    text = json.dumps(GRAPH).replace("0.2", mean)
    with pytest.raises(InputError, match=r"graph\.json, edge 2: the mean .* is not a finite"):
        read_graph(save(text), "spanning-tree")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "header u,v,mean"),
        ("a,b,0.5\nb,c,0.5\n", "header u,v,mean"),
        ("u,v,mean\na,b,0.5\nb,c\n", "line 3: expected u,v,mean, got 'b,c'"),
        ("u,v,mean\na,b,0.5,1\n", "line 2: expected u,v,mean"),
        ("u,v,mean\na,,0.5\n", "line 2: expected u,v,mean"),
        ("u,v,mean\na,b,half\n", 'line 2: the mean "half" is not a finite number'),
        ("u,v,mean\na,b,inf\n", "line 2: the mean Infinity is not a finite number"),
    ],
)
def test_a_bad_csv_graph_is_refused_by_its_name_and_line(save, text, reason):
    with pytest.raises(InputError, match=rf"graph\.csv.*{reason}"):
        read_graph(save(text, "graph.csv"), "spanning-tree")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nowhere\.json"):
        read_graph(tmp_path / "nowhere.json", "path")
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\xe4")
    with pytest.raises(InputError, match=r"cannot read .*latin\.json"):
        read_graph(tmp_path / "latin.json", "path")


def test_classes_without_a_graph_or_a_csv_form_are_refused(save):
    with pytest.raises(InputError, match="top-k has no graph"):
        read_graph(save(GRAPH), "top-k")
    with pytest.raises(InputError, match="read from JSON"):
        read_graph(save("u,v,mean\n", "graph.csv"), "partition")
    with pytest.raises(InputError, match="did you mean 'matching'"):
        read_graph(save(GRAPH), "matchings")


# --- generators -----------------------------------------------------------------------------------


def sides(text):
    return [int(side) for side in text.split(":")[1].split("x")]


def square(text):
    return len(set(sides(text))) == 1


def sets_of(kind, decision, text):
    edges = decision.names
    if kind == "spanning-tree":
        return feasible.spanning_trees(edges)
    if kind == "path":
        return feasible.paths(edges, edges[0][0], edges[-1][1])
    return feasible.matchings(edges, perfect=square(text))


SMALL = [
    *(("spanning-tree", text) for text in ("grid:2x2", "grid:2x4", "grid:3x3", "layered:1x2")),
    *(("spanning-tree", text) for text in ("layered:2x2", "bipartite:2x3", "bipartite:3x3")),
    *(("path", text) for text in ("grid:2x2", "grid:2x5", "grid:4x3", "grid:5x5", "layered:1x2")),
    *(("path", text) for text in ("layered:3x2", "layered:2x3", "layered:3x4")),
    *(("matching", text) for text in ("bipartite:2x2", "bipartite:3x3", "bipartite:4x4")),
    *(("matching", text) for text in ("bipartite:2x3", "bipartite:4x2", "bipartite:3x4")),
    ("matching", "bipartite:1x3"),
]


@pytest.mark.parametrize("gap", [0.01, 0.4])
@pytest.mark.parametrize(
    ("kind", "text", "maximize"),
    [
        *((kind, text, True) for kind, text in SMALL),
        *((kind, text, False) for kind, text in SMALL if kind != "matching" or square(text)),
    ],
)
def test_a_generated_instance_has_one_optimum_and_gaps_of_the_order_asked_for(
    kind, text, maximize, gap
):
    name, decision, means = generate(text, kind, gap, maximize)
    assert name == text
    sign = 1.0 if maximize else -1.0
    assert sorted(set(means)) == pytest.approx(sorted({0.5, 0.5 + sign * gap}))
    sets = sets_of(kind, decision, text)
    totals = sorted(sum(sign * means[i] for i in chosen) for chosen in sets)
    assert totals[-1] - totals[-2] > 0.99 * gap
    best = max(sets, key=lambda chosen: sum(sign * means[i] for i in chosen))
    assert arms(decision, sign * means) == best
    assert set(np.flatnonzero(means != 0.5)) == set(best)
    ratios = np.array(feasible.gaps(sets, sign * means)) / gap
    if kind == "spanning-tree":
        low, high = 1, 1
    elif kind == "matching":
        low, high = (2, 3) if square(text) else (1, 3)
    elif text.startswith("layered"):
        low, high = 2, 3
    else:
        low, high = 2, sum(sides(text)) - 2
    assert low - 1e-9 <= min(ratios)
    assert max(ratios) <= high + 1e-9


def test_layers_are_fully_connected_between_source_and_target():
    decision = generate("layered:3x4", "path", 0.1, True).decision
    assert decision.n_arms == 4 + 2 * 16 + 4
    assert generate("layered:3x4", "spanning-tree", 0.1, True).decision.n_arms == decision.n_arms


def test_a_grid_has_an_edge_between_all_neighbours():
    for kind in ("path", "spanning-tree"):
        assert generate("grid:10x10", kind, 0.1, True).decision.n_arms == 180


def test_the_same_text_gives_the_same_instance():
    one, two = (generate("grid:6x7", "spanning-tree", 0.1, True) for _ in range(2))
    assert one.decision.to_dict() == two.decision.to_dict()
    assert one.means.tolist() == two.means.tolist()


@pytest.mark.parametrize(
    "text", ["grid", "grid:", "grid:3", "grid:3x", "grid:3x4x5", "grid:0x4", "grid:-3x4"]
)
def test_a_size_that_is_not_two_positive_integers_is_refused(text):
    with pytest.raises(InputError, match=r"two positive integers, as in grid:3x4"):
        generate(text, "path", 0.1, True)


def test_an_unknown_generator_gets_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'grid'"):
        generate("grids:3x4", "path", 0.1, True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("grid:3x3", "matching"),
        ("layered:3x3", "matching"),
        ("bipartite:3x3", "path"),
        *(("grid:3x3", kind) for kind in DECISIONS if kind in ("top-k", "partition", "explicit")),
    ],
)
def test_a_generator_says_which_classes_it_is_for(text, kind):
    with pytest.raises(InputError, match=f"'{text}' was refused for {kind}: .* is for span"):
        generate(text, kind, 0.1, True)


@pytest.mark.parametrize("gap", [0.0, -0.1, float("nan"), float("inf"), 1e-17])
def test_a_gap_that_is_not_positive_is_refused(gap):
    with pytest.raises(InputError, match=r"gap=.* was refused"):
        generate("grid:3x3", "path", gap, True)


def test_minimising_over_matchings_of_any_size_is_refused():
    with pytest.raises(InputError, match="costs least when it is empty"):
        generate("bipartite:2x3", "matching", 0.1, False)


@pytest.mark.parametrize(
    ("text", "kind"), [("grid:1x4", "path"), ("bipartite:1x3", "spanning-tree")]
)
def test_a_shape_with_a_single_answer_is_refused(text, kind):
    with pytest.raises(InputError, match="one feasible set"):
        generate(text, kind, 0.1, True)
