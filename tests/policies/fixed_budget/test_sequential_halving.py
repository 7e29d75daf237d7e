"""Sequential halving: rounds worked out by hand, fresh means in every round, the budget."""

import math

import numpy as np
import pytest

from bestk import InputError
from bestk.policies.fixed_budget.sequential_halving import SequentialHalving, rounds
from helpers.driven import exact, normal, play, question


def test_there_are_so_many_rounds():
    for n_arms in range(2, 200):
        for k in range(1, n_arms):
            assert rounds(n_arms, k) == max(math.ceil(math.log2(n_arms / k) - 1e-12), 0)


def test_pulls_of_one_best_are_those_of_the_paper():
    # T = 240, 8 arms, 3 rounds: 240/24 = 10, 240/12 = 20 and 240/6 = 40 of each arm left
    means = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    answer, pulls = play(SequentialHalving(), question(8, 1, budget=240), exact(means))
    assert answer == [0]
    assert pulls.tolist() == [70, 70, 30, 30, 10, 10, 10, 10]


def test_halving_ends_with_k_arms():
    # 10 arms, K = 3: 10, 5 and then 3; two rounds of 60 pulls, 6 of each of 10, 12 of each of 5
    means = np.linspace(1, 0, 10)
    answer, pulls = play(SequentialHalving(), question(10, 3, budget=120), exact(means))
    assert answer == [0, 1, 2]
    assert pulls.tolist() == [18] * 5 + [6] * 5


@pytest.mark.parametrize(("means", "wins"), [("round", 1), ("all", 0)])
def test_a_round_judges_by_its_own_samples_unless_told_otherwise(means, wins):
    policy = SequentialHalving()
    policy.start(question(4, 1, budget=48, means=means), None)
    first = policy.ask()
    assert sorted(first) == sorted([0, 1, 2, 3] * 6)
    for arm in first:
        policy.tell(arm, {0: 9.0, 1: 1.0}.get(arm, 0.0))
    for arm in policy.ask():
        policy.tell(arm, {0: 0.0, 1: 1.0}[arm])  # arm 0 was lucky in the first round
    assert not policy.ask()
    assert policy.answer() == [wins]


def test_between_two_rounds_it_answers_by_the_last_one():
    policy = SequentialHalving()
    policy.start(question(4, 1, budget=48), None)
    for arm in policy.ask():
        policy.tell(arm, float(arm))
    assert set(policy.ask()) == {2, 3}
    assert policy.answer() == [3]


def test_the_budget_is_never_exceeded_and_mostly_used():
    rng = np.random.default_rng(3)
    for _ in range(60):
        n_arms = int(rng.integers(2, 30))
        k = int(rng.integers(1, n_arms))
        budget = int(n_arms * rounds(n_arms, k) + rng.integers(0, 500))
        problem = question(n_arms, k, budget=budget)
        answer, pulls = play(SequentialHalving(), problem, normal(np.zeros(n_arms)))
        assert pulls.sum() <= budget
        assert pulls.sum() > budget / 2
        assert len(answer) == k


def test_too_small_a_budget_is_refused():
    with pytest.raises(InputError, match="at least 24 pulls here, one of each of 8 arms in each"):
        SequentialHalving().start(question(8, 1, budget=23), None)
