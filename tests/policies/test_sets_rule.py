"""The sets rule of e-clucb: who gets it, what a study records of it, and what it saves."""

import json
from dataclasses import replace

import numpy as np
import pytest

import bestk
from bestk.errors import InputError
from bestk.kernels.types import CPE, EXCHANGE, SETS
from bestk.problem import Problem
from bestk.simulation import generate, structured
from bestk.study.specification import Specification, specify

DIAMOND = bestk.Path([(0, 1), (0, 2), (1, 3), (2, 3)], 0, 3)
TREE = bestk.SpanningTree([(0, 1), (1, 2), (2, 0)])


def family(problem):
    return problem.configure(0).spec.family


def test_sets_are_compared_where_arms_are_independent_and_there_is_no_matroid():
    assert family(Problem(DIAMOND)) == SETS
    assert family(Problem(DIAMOND, params={"independent": False})) == CPE
    assert family(Problem(DIAMOND, params={"stop": "bounds"})) == CPE
    assert family(Problem(TREE)) == EXCHANGE
    assert Problem(DIAMOND).configure(0).theorem == "docs/e-clucb.md, Theorem 7"
    assert Problem(DIAMOND, params={"stop": "bounds"}).configure(0).theorem.endswith("Theorem 4")


def test_a_stop_that_nothing_proves_is_refused():
    with pytest.raises(InputError, match="independent=false"):
        Problem(DIAMOND, params={"independent": False, "stop": "sets"})
    with pytest.raises(InputError, match="compares arms that replace each other"):
        Problem(TREE, params={"stop": "sets"})


def test_a_problem_records_its_rule_and_one_without_it_stops_by_bounds():
    written = json.loads(json.dumps(Problem(DIAMOND).to_dict()))
    assert written["params"] == {"stop": "sets"}
    assert family(Problem.from_dict(written)) == SETS
    old = Problem.from_dict({**written, "params": {}})  # as version 0.1 wrote it
    assert family(old) == CPE
    assert old.to_dict()["params"] == {}
    assert family(replace(old, delta=0.1)) == CPE


def test_a_study_of_version_0_1_goes_on_by_bounds():
    new = specify(None, DIAMOND, {"params": {}}, seed=1)
    data = json.loads(new.to_json())
    data["problem"]["params"] = {}
    old = Specification.from_json(json.dumps(data))
    assert old.configure(4)[1].spec.family == CPE
    assert Specification.from_json(new.to_json()).configure(4)[1].spec.family == SETS
    given = (None, None, {"params": {}}, {})
    old.check_given(*given)  # who says nothing of the stop may go on with either
    new.check_given(*given)


@pytest.mark.compiled
def test_it_needs_less_than_half_of_the_samples_of_heuristic_lil_clucb():
    found = generate("layered:3x3", "path", 0.5, True)
    instance = structured(found.decision, found.means)
    ours = bestk.simulate(instance, "e-clucb", runs=60, seed=2)
    theirs = bestk.simulate(instance, "lil-clucb", "heuristic", runs=60, seed=2)
    assert (ours.wrong, ours.unfinished) == (0, 0)
    assert ours.mean < 0.45 * theirs.mean


def test_the_slack_that_is_read_is_the_slack_that_stops():
    for decision in (DIAMOND, bestk.Oracle(4, DIAMOND.best)):
        problem = Problem(decision, epsilon=0.05, delta=0.1)
        stepper, dice = problem.stepper(), np.random.default_rng(3)
        means = [0.9, 0.1, 0.8, 0.2]
        for _ in range(400):
            arms = stepper.ask()
            whole = int(stepper.state.counts.min()) > 0
            if whole:
                slack = stepper.certifiable_epsilon
                assert (slack <= 0.05) == (not arms)
            if not arms:
                break
            for arm in arms:
                stepper.tell(arm, float(dice.normal(means[arm], 0.5)))
        else:
            pytest.fail("it did not stop")


@pytest.mark.compiled
def test_it_errs_no_more_often_than_it_says():
    found = generate("layered:2x2", "path", 0.4, True)
    result = bestk.simulate(
        structured(found.decision, found.means), "e-clucb", delta=0.1, runs=2000, seed=6
    )
    assert result.unfinished == 0
    assert result.wrong <= 0.1 * 2000
