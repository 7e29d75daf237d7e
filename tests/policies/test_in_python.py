"""The policies in Python that come with bestk: listed, simulated, protected, within budget."""

import numpy as np
import pytest

import bestk
from bestk.policies import CATALOGUE, register

BUDGETS = ("sar", "sequential-halving", "csar")
SURE = ("track-and-stop", "eb-tc", "ttts", "kl-lucb", "kl-racing", "successive-elimination")


@pytest.mark.parametrize("name", BUDGETS)
def test_budgets_are_kept_and_enough_of_them_is_right(name):
    found = bestk.simulate([0.9, 0.8, 0.1, 0.0], name, k=2, runs=5, budget=400)
    assert found.samples.max() <= 400
    assert (found.wrong, found.unfinished) == (0, 0)
    assert CATALOGUE[name].claim is None


def test_what_a_policy_cannot_start_with_is_refused_before_a_study_is_kept(tmp_path):
    path = tmp_path / "study.db"
    given = {"k": 1, "policy": "kl-lucb", "storage": path}
    with pytest.raises(bestk.InputError, match="kl-lucb has the bounds of Bernoulli"):
        bestk.Study("coins", [0, 1], rewards=bestk.Gaussian(), **given)
    assert bestk.Study("coins", [0, 1], rewards=bestk.Bernoulli(), **given).ask()


@pytest.mark.parametrize("name", SURE)
def test_they_run_and_say_what_is_proved_as_their_claim(name):
    found = bestk.simulate(
        [0.9, 0.8, 0.1, 0.0], name, k=2, runs=3, delta=0.05, rewards=bestk.Bernoulli()
    )
    assert (found.wrong, found.unfinished) == (0, 0)
    assert found.guarantee is None
    assert "error <= delta" in found.claim


def test_csar_answers_other_classes():
    matching = bestk.BipartiteMatching([(i, j) for i in range(3) for j in range(3)], perfect=True)
    means = np.where([i == j for i in range(3) for j in range(3)], 1.0, 0.0)
    found = bestk.simulate(means, "csar", decision=matching, runs=3, budget=200)
    assert found.wrong == 0


@pytest.mark.parametrize("name", [*BUDGETS, *SURE])
def test_nobody_else_can_take_their_names(name):
    with pytest.raises(bestk.InputError, match="one of bestk's own"):
        register(name, type("Mine", (), dict.fromkeys(("start", "ask", "tell", "answer"), print)))


@pytest.mark.parametrize("name", BUDGETS)
def test_a_study_spends_the_budget_and_says_what_is_certified(name):
    chances, dice = {"a": 0.1, "b": 0.9, "c": 0.5}, np.random.default_rng(1)
    found = bestk.identify(
        list(chances), lambda arm: dice.random() < chances[arm], k=1, budget=60, policy=name,
        rewards=bestk.Bernoulli(), seed=1,
    )  # fmt: skip
    assert (list(found.top), found.samples <= 60) == (["b"], True)
    assert 0.0 <= found.certifiable_epsilon < 1.0
