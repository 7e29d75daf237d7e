"""Decision classes beyond their contract (tests/contracts): rules of single classes, refusals."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestk.decisions import (
    BinaryProgram,
    BipartiteMatching,
    ExplicitSets,
    Oracle,
    PartitionMatroid,
    Path,
    SpanningTree,
    TopK,
    decision_from_dict,
)
from bestk.decisions.base import require_choice
from bestk.errors import InputError, OracleError, UnknownName
from bestk.kernels import oracles
from bestk.kernels.types import DAG, FOREST, PARTITION, ROADS
from helpers.classes import DRAWS, draw_explicit, feasible_sets, instances


def arms_of(chosen):
    return tuple(np.flatnonzero(chosen).tolist())


EXAMPLES = [
    TopK(5, 2),
    ExplicitSets([(), (0, 3), {1, 2}], 6),
    PartitionMatroid(["a", "b", ("c", 1), "a", "b"], {"a": 1, "b": 2, ("c", 1): 0}),
    PartitionMatroid([0, 1, 1, 0], [1, 1]),
    SpanningTree([("a", "b"), ("b", (1, 2)), ((1, 2), "a")]),
    BipartiteMatching([(0, 0), (0, 1), (1, "x")]),
    BipartiteMatching(itertools.product("ab", "ab"), perfect=True),
    Path([("s", 1), ("s", 2), (1, "t"), (2, "t")], "s", "t"),
    Path([(0, 1), (1, 0), (1, 2), (0, 2)], 0, 2),
    Path([((0, 0), (0, 1)), ((0, 1), (1, 1)), ((1, 1), (0, 0))], (0, 0), (1, 1), directed=False),
    BinaryProgram([[1, 2, 3], [1, 1, 0]], [-math.inf, 0], [4, math.inf]),
]


# --- the oracle -----------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", DRAWS)
def test_a_class_is_refused_exactly_when_it_has_less_than_two_sets(draw, monkeypatch):
    for decision in instances(draw, 20, seed=2):
        assert len(feasible_sets(decision)) >= 2
        require_choice(decision)
    for module in ("explicit", "partition", "spanning_tree", "matching", "path", "program"):
        monkeypatch.setattr(f"bestk.decisions.{module}.require_choice", lambda _: None)
    for decision in instances(draw, 20, seed=2):
        try:
            n_sets = len(feasible_sets(decision))
            require_choice(decision)
            assert n_sets >= 2
        except (InputError, ValueError):  # scipy's, for no perfect matching
            assert n_sets < 2


def test_ties_go_to_the_arms_of_lowest_number_in_greedy_classes():
    zeros = np.zeros(4)
    assert arms_of(TopK(4, 2).best(zeros)) == (0, 1)
    assert arms_of(PartitionMatroid(list("abba"), {"a": 1, "b": 1}).best(zeros)) == (0, 1)
    assert arms_of(SpanningTree([(0, 1), (1, 2), (2, 0), (2, 3)]).best(zeros)) == (0, 1, 3)
    assert arms_of(ExplicitSets([(2, 3), (0, 1)]).best(zeros)) == (2, 3)  # the first set


def test_a_matching_leaves_edges_of_weight_zero_out():
    decision = BipartiteMatching(itertools.product(range(2), range(2)))
    assert arms_of(decision.best(np.array([0.0, -1.0, -1.0, 0.0]))) == ()
    assert arms_of(decision.best(np.array([1.0, 3.0, 1.0, 0.0]))) == (1, 2)


def test_an_acyclic_path_ignores_parts_that_lead_nowhere():
    edges = [("dead", "end"), ("s", "end"), ("s", "a"), ("a", "t"), ("s", "t"), ("dead", "t")]
    decision = Path(edges, "s", "t")
    assert decision.structure.code == DAG
    assert not decision.minimise_only
    assert arms_of(decision.best(np.array([9.0, 9.0, 1.0, 1.0, 1.0, 9.0]))) == (2, 3)
    assert arms_of(decision.best(np.array([9.0, 9.0, -1.0, 1.0, 1.0, 9.0]))) == (4,)


def test_a_graph_with_cycles_is_for_minimising_and_reads_weights_above_zero_as_zero():
    decision = Path([(0, 1), (1, 0), (1, 2), (0, 2)], 0, 2)
    assert (decision.structure.code, decision.ceiling) == (ROADS, 0.0)
    assert decision.minimise_only
    weights = np.array([5.0, 5.0, -1.0, -0.5])
    assert arms_of(decision.best(weights)) == (3,)
    assert weights[0] == 5.0


def test_a_program_sees_differences_far_below_the_gap_of_highs():
    decision = BinaryProgram([[1, 1, 1]], 1, 1)
    assert arms_of(decision.best(np.array([1e-9, 3e-9, 2e-9]))) == (1,)
    assert arms_of(decision.best(np.array([1.0, 1.0 + 1e-8, 1.0]))) == (1,)


WEIGHTS = st.lists(st.integers(-4, 4).map(lambda x: x / 4), min_size=10, max_size=10).map(np.array)
COMPLETE = SpanningTree(itertools.combinations(range(5), 2))
LAYERS = Path([*itertools.product("s", "ab"), *itertools.product("ab", "cd"),
               *itertools.product("cd", "ef")], "s", "f")  # fmt: skip
GROUPS = PartitionMatroid(list("abcabcabca"), {"a": 2, "b": 1, "c": 3})


@pytest.mark.parametrize("decision", [COMPLETE, LAYERS, GROUPS, TopK(10, 4)], ids=lambda d: d.kind)
@settings(max_examples=60)
@given(weights=WEIGHTS, data=st.data())
def test_raising_a_chosen_arm_or_lowering_another_keeps_the_answer(decision, weights, data):
    chosen = decision.best(weights)
    arm = data.draw(st.integers(0, decision.n_arms - 1))
    weights[arm] += 0.125 if chosen[arm] else -0.125
    assert np.array_equal(decision.best(weights), chosen)


@pytest.mark.parametrize("decision", [COMPLETE, GROUPS, TopK(10, 4)], ids=lambda d: d.kind)
@settings(max_examples=60)
@given(weights=WEIGHTS, order=st.permutations(range(10)))
def test_the_compiled_oracle_forgets_the_order_it_starts_from(decision, weights, order):
    shape = decision.structure
    assert shape.code in (PARTITION, FOREST)
    order, out = np.array(order), np.zeros(10, np.bool_)
    parent, value = np.zeros(shape.n_scratch, np.int64), np.zeros(shape.n_nodes)

    def run(fresh):
        oracles.best(shape.code, shape.table, 0, 0, weights, order, parent, value, fresh, out)

    run(True)
    assert np.array_equal(out, decision.best(weights))
    assert order.tolist() == sorted(range(10), key=lambda arm: (-weights[arm], arm))
    run(False)
    assert np.array_equal(out, decision.best(weights))
    out[:] = ~out  # nothing moved: what stands is not written again
    run(False)
    assert np.array_equal(~out, decision.best(weights))
    weights = weights[::-1].copy()
    run(True)
    assert np.array_equal(out, decision.best(weights))


@settings(max_examples=60)
@given(weights=WEIGHTS)
def test_top_k_and_its_compiled_table_agree(weights):
    decision = TopK(10, 3)
    compiled = super(TopK, decision).best(weights)
    assert np.array_equal(decision.best(weights), compiled)


# --- what a class says about itself -------------------------------------------------------------


@pytest.mark.parametrize("decision", EXAMPLES, ids=lambda d: d.kind)
def test_a_class_read_back_is_equal_and_hashes_alike(decision):
    text = json.dumps(decision.to_dict(), allow_nan=False)
    for copy in (decision_from_dict(json.loads(text)), pickle.loads(pickle.dumps(decision))):
        assert copy == decision
        assert hash(copy) == hash(decision)


def test_the_width_of_explicit_sets_is_their_largest_difference():
    for decision in instances(draw_explicit, 50, seed=3):
        pairs = itertools.combinations(map(set, decision.sets), 2)
        assert decision.width == max(len(a ^ b) for a, b in pairs)


def test_widths_of_graphs_count_nodes():
    square = list(itertools.product("ab", "ab"))
    assert BipartiteMatching(square).width == 4
    assert LAYERS.width == 7
    assert Path([(0, 1), (1, 2), (0, 2)], 0, 2, directed=False).width == 3  # its edges
    assert Path(itertools.combinations(range(5), 2), 0, 2, directed=False).width == 8


def test_importing_the_classes_imports_neither_scipy_nor_llvmlite():
    code = "import sys, bestk.decisions; print({'scipy', 'llvmlite'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


# --- refusals -----------------------------------------------------------------------------------

TRIANGLE = [(0, 1), (1, 2), (2, 0)]
REFUSED = [
    (lambda: TopK(1, 1), "at least 2"),
    (lambda: TopK(4, 4), "K must be 1 to 3"),
    (lambda: TopK(4, 1.5), "must be an integer"),
    (lambda: TopK(4, True), "must be an integer"),
    (lambda: ExplicitSets([]), "empty class"),
    (lambda: ExplicitSets([()]), "n_arms=0"),
    (lambda: ExplicitSets([(0, 1)]), "one feasible set only"),
    (lambda: ExplicitSets([(0, 1), (1, 0)]), "given twice"),
    (lambda: ExplicitSets([(0, 0), (1,)]), "names arm 0 twice"),
    (lambda: ExplicitSets([(-1,), (1,)]), "numbered from 0"),
    (lambda: ExplicitSets([(0.5,), (1,)]), "must be an integer"),
    (lambda: ExplicitSets(["01", (1,)]), "give a sequence"),
    (lambda: ExplicitSets(3), "give a sequence"),
    (lambda: ExplicitSets([(0,), (4,)], 3), "the sets name 5 arms"),
    (lambda: PartitionMatroid([], []), "no arms"),
    (lambda: PartitionMatroid([0, 0], [2]), "one feasible set only"),
    (lambda: PartitionMatroid([0, 0], [-1]), "must be 0 to 2"),
    (lambda: PartitionMatroid([0, 0], [3]), "must be 0 to 2"),
    (lambda: PartitionMatroid([0, 0], [0.5]), "must be an integer"),
    (lambda: PartitionMatroid([0, 1], [1]), "group 1 was refused: it has no capacity"),
    (lambda: PartitionMatroid([0, 0], [1, 1]), "no arm is in it"),
    (lambda: PartitionMatroid([[0], [0]], [1]), "must be hashable"),
    (lambda: SpanningTree([]), "without edges"),
    (lambda: SpanningTree(TRIANGLE[:2]), "one feasible set only"),
    (lambda: SpanningTree([(0, 1), (2, 3)]), "disconnected, in 2 parts"),
    (lambda: SpanningTree([*TRIANGLE, (0, 2)]), "given twice"),
    (lambda: SpanningTree([*TRIANGLE, (3, 3)]), "self loop"),
    (lambda: SpanningTree([*TRIANGLE, (0, 1, 2)]), "pair of nodes"),
    (lambda: SpanningTree(["ab", "bc", "ca"]), "give a sequence"),
    (lambda: SpanningTree([([], 0), (0, 1)]), "must be hashable"),
    (lambda: BipartiteMatching([]), "without edges"),
    (lambda: BipartiteMatching([(0, 1), (0, 1)]), "given twice"),
    (lambda: BipartiteMatching([(0, 0), (1, 0)], perfect=True), "2 left and 1 right"),
    (lambda: BipartiteMatching([(0, 0), (1, 1)], perfect=True), "one feasible set only"),
    (
        lambda: BipartiteMatching([(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)], perfect=True),
        "no perfect matching",
    ),
    (lambda: BipartiteMatching([(0, 0), (0, 1)], perfect=1), "True or False"),
    (lambda: Path(TRIANGLE[:2], 0, 2), "one feasible set only"),
    (lambda: Path(TRIANGLE, 0, 0), "it is the source"),
    (lambda: Path(TRIANGLE, 0, 7), "target 7 was refused: no edge has this node"),
    (lambda: Path(TRIANGLE, "s", 0), "source 's' was refused: no edge has this node"),
    (lambda: Path([(0, 1), (2, 1)], 0, 2), "no path leads to it"),
    (lambda: Path([(0, 1), (2, 3)], 0, 2, directed=False), "no path leads to it"),
    (lambda: Path([(0, 1), (1, 0)], 0, 1, directed=False), "given twice"),
    (lambda: Path([(0, 1), (1, 1)], 0, 1), "self loop"),
    (lambda: Path([(0, 1)], 0, 1, directed=None), "True or False"),
    (lambda: Path(TRIANGLE, 0, []), "must be hashable"),
    (lambda: BinaryProgram([1, 2], 0, 1), "needs rows and columns"),
    (lambda: BinaryProgram(np.zeros((0, 3)), 0, 1), "needs rows and columns"),
    (lambda: BinaryProgram([[1, 2], [3]], 0, 1), "array of numbers"),
    (lambda: BinaryProgram([[1, math.nan]], 0, 1), "must be finite"),
    (lambda: BinaryProgram([[1, 1]], math.nan, 1), "has a NaN"),
    (lambda: BinaryProgram([[1, 1]], [0, 0], 1), "A has 1 rows"),
    (lambda: BinaryProgram([[1, 1]], 2, 1), "nothing is between"),
    (lambda: BinaryProgram([[1, 1]], 3, 4), "infeasible"),
    (lambda: BinaryProgram([[2, 2]], 1, 1), "infeasible"),
    (lambda: BinaryProgram([[1, 1]], 2, 2), "one feasible set only"),
    (lambda: Oracle(0, lambda _: []), "empty class"),
    (lambda: Oracle(2, [0]), "must be functions"),
    (lambda: Oracle(2, lambda _: [0]), "one feasible set only"),
    (lambda: Oracle(2, lambda w: w > 0, names=["a"]), "give 2 different ones"),
    (lambda: Oracle(2, lambda w: w > 0, names=["a", "a"]), "give 2 different ones"),
    (lambda: decision_from_dict([]), "object with a"),
    (lambda: decision_from_dict({"class": "top-k", "k": 1}), "has no 'n_arms'"),
    (
        lambda: decision_from_dict({"class": "partition", "groups": [0], "capacities": 1}),
        "the part",
    ),
    (lambda: BipartiteMatching([(frozenset(), 0)]).to_dict(), "texts, numbers or tuples"),
    (lambda: COMPLETE.best(np.zeros(3)), "one for each of 10 arms"),
    (lambda: LAYERS.best(np.full(10, -math.inf)), "must be finite"),
    (lambda: BipartiteMatching([(0, 0)]).best(np.array([math.nan])), "must be finite"),
]


@pytest.mark.parametrize(("build", "reason"), REFUSED)
def test_what_is_no_class_is_refused_with_the_reason(build, reason):
    with pytest.raises(InputError, match=reason):
        build()


def test_an_unknown_class_is_named_with_its_neighbours():
    with pytest.raises(UnknownName, match="did you mean 'top-k'"):
        decision_from_dict({"class": "topk"})


# --- the user's own oracle ----------------------------------------------------------------------


def two_of_four(weights):
    return np.argsort(-weights, kind="stable")[:2]


@pytest.mark.parametrize("form", [list, set, tuple, iter, np.array, lambda arms: arms.astype("u1")])
def test_an_oracle_may_answer_with_any_iterable_of_arms(form):
    decision = Oracle(4, lambda weights: form(two_of_four(weights)), names=list("abcd"))
    assert arms_of(decision.best(np.array([0.0, 2.0, -1.0, 1.0]))) == (1, 3)
    assert decision.names == ("a", "b", "c", "d")


def test_an_oracle_may_answer_with_booleans_and_the_empty_set():
    for positive in (lambda w: w > 0, lambda w: [bool(x > 0) for x in w]):
        decision = Oracle(3, positive)
        assert arms_of(decision.best(np.array([1.0, -1.0, 2.0]))) == (0, 2)
        assert arms_of(decision.best(np.zeros(3))) == ()


def test_an_oracle_can_change_neither_the_weights_nor_an_earlier_answer():
    buffer = np.zeros(3, np.bool_)

    def careless(weights):
        buffer[:] = weights > 0
        weights[:] = 0
        return buffer

    decision, weights = Oracle(3, careless), np.array([1.0, -1.0, 1.0])
    answer = decision.best(weights)
    decision.best(-weights)
    assert arms_of(answer) == (0, 2)
    assert weights.tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "not a set of arms"),
        ("01", "not a set of arms"),
        ([[0], [1, 2]], "not a set of arms"),
        (3, "not a set of arms"),
        ([4], "numbered 0 to 3"),
        ([-1], "numbered 0 to 3"),
        ([0, 0], "named twice"),
        ([0, 1, 1, 0], "named twice"),
        ([0.0, 1.0], "neither 4 booleans nor"),
        ([[0, 1]], "neither 4 booleans nor"),
        (["a"], "neither 4 booleans nor"),
        (np.zeros(3, np.bool_), "booleans must be 4"),
        (np.zeros((4, 1), np.bool_), "booleans must be 4"),
    ],
)
def test_an_answer_that_is_no_set_of_arms_is_an_error_with_the_weights(answer, reason):
    decision = Oracle(4, lambda w: answer if w[0] == 7 else two_of_four(w))
    with pytest.raises(OracleError, match=rf"{reason}.*\[7.0, 1.0, 0.0, 0.0\]"):
        decision.best(np.array([7.0, 1.0, 0.0, 0.0]))


def test_an_oracle_that_raises_is_an_error_with_the_weights():
    def touchy(weights):
        if weights[0] == 7:
            raise KeyError("seven")
        return two_of_four(weights)

    weights = np.array([7.0, 1.0, 0.0, 0.0])
    with pytest.raises(OracleError, match=r"raised KeyError\('seven'\).*\[7.0,") as caught:
        Oracle(4, touchy).best(weights)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(OracleError, match=r"`contains` that raised"):
        Oracle(4, two_of_four, contains=lambda chosen: chosen[4])


def test_an_infeasible_answer_is_an_error_where_contains_is_given():
    decision = Oracle(4, two_of_four, contains=lambda chosen: not chosen[[0, 3]].all())
    assert arms_of(decision.best(np.array([2.0, 1.0, 0.0, 0.0]))) == (0, 1)
    with pytest.raises(OracleError, match=r"infeasible set \[0, 3\].*\[7.0, 1.0, 0.0, 7.0\]"):
        decision.best(np.array([7.0, 1.0, 0.0, 7.0]))


def test_an_oracle_cannot_be_written_down():
    with pytest.raises(InputError, match="cannot be written as JSON"):
        Oracle(4, two_of_four).to_dict()
