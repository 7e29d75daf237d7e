"""lil-clucb and clucb over any decision class: right answers, and oracles that go wrong."""

import json
import math

import numpy as np
import pytest

import bestk
from bestk.errors import InputError, OracleError
from bestk.problem import Problem
from bestk.simulation import generate, structured

TRIANGLES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)]
CLASSES = {
    "explicit": bestk.ExplicitSets([[0, 1], [2, 3], [4]]),
    "partition": bestk.PartitionMatroid([0, 0, 1, 1, 1], [1, 2]),
    "spanning-tree": bestk.SpanningTree(TRIANGLES),
    "matching": bestk.BipartiteMatching([(0, 0), (0, 1), (1, 0), (1, 1)], perfect=True),
    "path": bestk.Path([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)], 0, 3),
    "binary-program": bestk.BinaryProgram([[1, 1, 1]], [1], [2]),
    "oracle": bestk.Oracle(3, lambda w: np.arange(3) == int(np.argmax(w))),
}
POLICIES = [
    ("lil-clucb", "faithful"),
    ("lil-clucb", "heuristic"),
    ("clucb", None),
    ("e-clucb", None),
]


def means_of(decision, gap=1.0):
    """Distinct means, shuffled."""
    return gap * np.random.default_rng(3).permutation(decision.n_arms)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(("policy", "variant"), POLICIES)
@pytest.mark.parametrize("maximize", [True, False])
def test_every_class_is_solved_in_both_directions(kind, policy, variant, maximize):
    decision = CLASSES[kind]
    instance = structured(decision, means_of(decision), maximize=maximize)
    if instance.tied:
        pytest.skip("this direction has two best sets")
    result = bestk.simulate(instance, policy, variant, runs=2, delta=0.1)
    assert (result.wrong, result.unfinished) == (0, 0)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (data["decision"], data["k"]) == (decision.kind, None)
    assert data["guarantee"] == (None if variant == "heuristic" else 0.1)


def test_a_graph_with_cycles_is_minimised_and_never_maximised():
    roads = bestk.Path([(0, 1), (1, 2), (0, 2), (1, 0)], 0, 2)
    costs = [0.5, 0.4, 1.5, 0.1]
    result = bestk.simulate(costs, decision=roads, maximize=False, runs=20, delta=0.1)
    assert (result.wrong, result.lower_bound) == (0, None)
    with pytest.raises(InputError, match="can only be minimised"):
        bestk.simulate(costs, decision=roads)


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["lil-rand-lucb", "lucb", "lil-clucb", "ugape", "uniform"])
def test_best_k_minimises_too(policy):
    means = [0.9, 0.1, 0.5, 0.2, 0.8]
    result = bestk.simulate(means, policy, k=2, maximize=False, runs=20)
    assert result.wrong == 0
    assert set(np.flatnonzero(result.instance.optimum)) == {1, 3}
    flipped = bestk.simulate([-m for m in means], policy, k=2, runs=20)
    assert result.lower_bound == pytest.approx(flipped.lower_bound)
    assert result.mean == pytest.approx(flipped.mean, rel=0.2)


def test_jobs_and_seeds_mean_the_same_for_python_oracles():
    matching = generate("bipartite:3x3", "matching", 0.9, True)
    run = {"decision": matching.decision, "runs": 6, "seed": 4}
    one, two = (bestk.simulate(matching.means, "lil-clucb", jobs=jobs, **run) for jobs in (1, 2))
    np.testing.assert_array_equal(one.samples, two.samples)
    capped = bestk.simulate(matching.means, "lil-clucb", max_samples=50, **run)
    assert set(capped.samples) == {50}
    assert capped.unfinished == 6
    assert not capped.right.any()


@pytest.mark.compiled
def test_slack_on_the_total_saves_samples_and_keeps_its_promise():
    tree = generate("grid:3x3", "spanning-tree", 0.4, True)
    exact, slack = (
        bestk.simulate(tree.means, decision=tree.decision, runs=20, epsilon=epsilon)
        for epsilon in (0.0, 0.9)
    )
    assert slack.mean < 0.8 * exact.mean
    assert slack.wrong == 0


def test_two_best_sets_are_refused_without_slack_or_cap():
    decision = CLASSES["explicit"]
    with pytest.raises(InputError, match="as good as the best"):
        bestk.simulate([1.0, 1.0, 1.0, 1.0, 0.0], decision=decision)
    bestk.simulate([1.0, 1.0, 1.0, 1.0, 0.0], decision=decision, epsilon=0.5, runs=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"policy": "lil-rand-lucb"}, "lil-clucb, clucb"),
        ({"policy": "lil-ucb"}, "lil-clucb, clucb"),
        ({"k": 2}, "without arms, k"),
        ({"instance": "1-sparse"}, "sequence of means"),
        ({"instance": [1.0, 2.0]}, "has 5 arms"),
    ],
)
def test_what_does_not_fit_a_class_is_refused(call, message):
    settings = {"instance": means_of(CLASSES["path"]), "decision": CLASSES["path"]} | call
    with pytest.raises(InputError, match=message):
        bestk.simulate(settings.pop("instance"), settings.pop("policy", None), **settings)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != "oracle"])
def test_a_problem_with_a_class_survives_json(kind):
    problem = Problem(CLASSES[kind], delta=0.05, maximize=kind == "path")
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again.to_dict() == problem.to_dict()
    assert again.policy == "e-clucb"


def test_the_default_policy_follows_the_class():
    assert Problem(bestk.TopK(5, 2)).policy == "e-lucb"
    assert Problem(CLASSES["path"]).policy == "e-clucb"


def first(weights):
    return np.arange(len(weights)) == int(np.argmax(weights))


def run_oracle(best, contains=None, n=3):
    stepper = Problem(bestk.Oracle(n, best, contains)).stepper()
    return stepper.run(lambda arm: 4.0 * arm)


def test_an_exact_oracle_of_the_user_is_followed():
    assert run_oracle(first) == [2]
    assert run_oracle(lambda w: [int(np.argmax(w))]) == [2]  # indices will do


def test_an_oracle_that_raises_shows_the_weights():
    def broken(weights):
        if weights[1] == 4.0:  # once every arm has been sampled
            raise RuntimeError("out of order")
        return first(weights)

    with pytest.raises(OracleError, match=r"(?s)out of order.*4\.0"):
        run_oracle(broken)


def test_an_oracle_that_changes_its_mind_is_caught():
    turns = iter(range(10**6))
    with pytest.raises(OracleError, match=r"changed its mind.*\[") as caught:
        run_oracle(lambda _: np.arange(3) == next(turns) % 3)
    assert "weights" in str(caught.value)


def test_an_oracle_that_gives_less_than_it_knows_is_caught():
    def worst_of_revised(weights):
        # right when it is built and for the means 0, 4, 8, and the worst set for revised means
        exact = weights[2] == 8.0 or np.abs(weights).max() <= 1.0
        return np.arange(3) == int(np.argmax(weights) if exact else np.argmin(weights))

    with pytest.raises(OracleError, match=r"not exact.*weigh less"):
        run_oracle(worst_of_revised)


def test_an_infeasible_answer_is_caught_where_contains_is_given():
    with pytest.raises(OracleError, match="weights"):
        run_oracle(first, contains=lambda chosen: not chosen[2])


def test_the_oracle_may_keep_and_change_the_weights_it_is_given():
    def greedy_hands(weights):
        answer = first(weights)
        weights[:] = -math.inf
        return answer

    assert run_oracle(greedy_hands) == [2]


def test_the_stopping_statistic_is_within_the_slack_at_the_end():
    tree = generate("grid:3x3", "spanning-tree", 0.5, True)
    stepper = Problem(tree.decision, epsilon=0.3, policy="lil-clucb").stepper(seed=2)
    rng = np.random.default_rng(1)
    answer = stepper.run(lambda arm: rng.normal(tree.means[arm], 0.5))
    assert 0 <= stepper.lead <= 0.3
    assert sorted(answer) == sorted(np.flatnonzero(tree.decision.best(tree.means)))


def test_negative_costs_are_refused_where_paths_may_have_cycles():
    roads = bestk.Path([(0, 1), (1, 2), (2, 1), (0, 2)], 0, 2)
    with pytest.raises(InputError, match="must not be negative"):
        bestk.simulate([-0.5, 0.2, 0.4, 0.1], decision=roads, maximize=False)


def test_a_tie_with_a_larger_set_is_seen():
    sets = bestk.ExplicitSets([[0], [0, 1], [2]])
    assert structured(sets, [0.5, 0.0, 0.1]).tied
    assert not structured(sets, [0.5, 0.2, 0.1]).tied


def test_an_oracle_that_turns_bad_in_both_calls_is_caught():
    calls = iter(range(10**6))

    def turncoat(weights):
        weights = weights if next(calls) < 34 else -weights  # from a later M on
        return first(weights)

    with pytest.raises(OracleError, match="not exact"):
        Problem(bestk.Oracle(3, turncoat)).stepper().run(lambda arm: 0.4 * arm)


@pytest.mark.parametrize("decision", [bestk.TopK(3, 1), CLASSES["explicit"]])
def test_what_cannot_be_told_is_refused_and_nothing_is_recorded(decision):
    stepper = Problem(decision, bestk.Bernoulli()).stepper()
    for arm, reward, message in ((99, 1.0, "arms are numbered"), (-1, 1.0, "arms are numbered"),
                                 (0, 0.5, "0 or 1"), (0, math.nan, "0 or 1")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            stepper.tell(arm, reward)
    assert stepper.state.counts.sum() == 0


def test_costs_are_told_as_they_are():
    stepper = Problem(bestk.TopK(2, 1), maximize=False).stepper()
    assert stepper.run(lambda arm: 1.0 - arm) == [1]
    assert stepper.lead is None


def test_a_settled_instance_takes_no_second_description():
    instance = structured(CLASSES["path"], means_of(CLASSES["path"]))
    with pytest.raises(InputError, match="has its own"):
        bestk.simulate(instance, maximize=False)
