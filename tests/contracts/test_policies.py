"""Every compiled policy of the catalogue keeps the contract of policies; broken ones are caught."""

from dataclasses import replace

import numpy as np
import pytest

from bestk.policies import CATALOGUE
from bestk.testing import PolicyContract
from helpers.mutants import never_failing, survived

POLICIES = [
    (name, variant)
    for name, policy in CATALOGUE.items()
    if not policy.is_python
    for variant in policy.variants or (None,)
]


@pytest.mark.parametrize(("policy", "variant"), POLICIES)
class TestCatalogue(PolicyContract):
    @pytest.fixture(autouse=True)
    def _named(self, policy, variant):
        self.policy, self.variant = policy, variant


class TestParameters(PolicyContract):
    """Settings of one's own are an entry too."""

    policy, params = "e-lucb", {"rule": "both", "independent": False}


# --- broken ones ----------------------------------------------------------------------------------


class Around:
    """A policy with something wrong around it."""

    def __init__(self, problem, seed):
        self.inner, self.problem, self.seed = problem.stepper(seed), problem, seed

    def ask(self):
        return self.inner.ask()

    def tell(self, arm, reward):
        self.inner.tell(arm, reward)

    def answer(self):
        return self.inner.answer()


class Numbered(Around):
    """Counts arms from 1."""

    def ask(self):
        return [arm + 1 for arm in super().ask()]

    def tell(self, arm, reward):
        super().tell(arm - 1, reward)


class Impatient(Around):
    """Samples the first arm twice before it has seen the last."""

    def __init__(self, problem, seed):
        super().__init__(problem, seed)
        self.asks = 0

    def ask(self):
        self.asks += 1
        return [0] if self.asks == 3 else super().ask()


class Unseeded(Around):
    """Throws coins that nobody can throw again."""

    dice = np.random.default_rng(1)

    def ask(self):
        arms = super().ask()
        return [int(self.dice.integers(6)) for _ in arms]


class Shared(Around):
    """Objects of one class share what they are told."""

    told = 0

    def ask(self):
        return super().ask() if type(self).told < 20 else []

    def tell(self, arm, reward):
        super().tell(arm, reward)
        type(self).told += 1


class Trusting(Around):
    def tell(self, arm, reward):
        if np.isfinite(reward) and 0 <= arm < 6:
            super().tell(arm, reward)


class Short(Around):
    """Answers with one arm too few, in any order."""

    def answer(self):
        return super().answer()[::-1][:1] * 2


class Opposite(Around):
    """Finds the worst."""

    def __init__(self, problem, seed):
        super().__init__(replace(problem, maximize=not problem.maximize), seed)


class Endless(Around):
    """Does not know of slack."""

    def __init__(self, problem, seed):
        super().__init__(replace(problem, epsilon=0.0), seed)


class Hasty(Around):
    """Stops after a sample of each arm and answers with the first ones."""

    def ask(self):
        arms = super().ask()
        return arms if self.inner.state.counts.min() == 0 else []

    def answer(self):
        return list(range(self.inner.spec.k or 2))


class Forgetting(Around):
    """Another seed than the one of the problem that was read."""

    def __init__(self, problem, seed):
        Forgetting.made += 1
        super().__init__(problem, seed + Forgetting.made)

    made = 0


BROKEN = {
    Numbered: "test_it_asks_for_arms_that_there_are test_live_decisions_are_the_simulated_ones",
    Impatient: "test_every_arm_is_sampled_before_any_is_sampled_again"
    " test_live_decisions_are_the_simulated_ones",
    Unseeded: "test_the_same_seed_makes_the_same_decisions",
    Shared: "test_the_same_seed_makes_the_same_decisions",
    Trusting: "test_what_cannot_be_told_is_refused",
    Short: "test_the_answer_has_k_arms",
    Opposite: "test_it_stops_with_the_right_answer test_slack_lets_it_stop_where_means_tie",
    Endless: "test_slack_lets_it_stop_where_means_tie",
    Hasty: "test_it_stops_with_the_right_answer test_live_decisions_are_the_simulated_ones",
    Forgetting: "test_it_survives_json",
}
COMBINATORIAL = {Hasty: "test_other_decision_classes"}
ENTRIES = {
    "theorem": "test_the_catalogue_says_what_it_is",
    "single": "test_what_it_does_not_have_is_refused",
}


def around(broken, policy):
    return type("Contract", (PolicyContract,), {"policy": policy, "make": lambda _, *a: broken(*a)})


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_policy_is_caught(broken, tmp_path):
    assert survived(around(broken, "lil-rand-lucb"), BROKEN[broken], tmp_path) == set()


def test_wrong_answers_of_other_classes_are_caught(tmp_path):
    assert survived(around(Hasty, "lil-clucb"), COMBINATORIAL[Hasty], tmp_path) == set()


def test_an_entry_that_says_nothing_of_its_proof_is_caught(monkeypatch, tmp_path):
    blank = replace(CATALOGUE["lil-rand-lucb"], name="blank", theorem=" ")
    monkeypatch.setitem(CATALOGUE, "blank", blank)
    assert survived(around(Around, "blank"), ENTRIES["theorem"], tmp_path) == set()


def test_settings_that_are_not_refused_are_caught(monkeypatch, tmp_path):
    monkeypatch.setattr("bestk.testing.entries.Problem", lambda **_: None)
    assert survived(around(Around, "lil-rand-lucb"), ENTRIES["single"], tmp_path) == set()


def test_every_test_of_the_suite_can_fail():
    listed = {"others": COMBINATORIAL[Hasty]} | ENTRIES | BROKEN
    assert never_failing(PolicyContract, listed) == set()
