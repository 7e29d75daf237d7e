"""Every policy in plain Python keeps its contract; broken ones are caught."""

import random

import pytest

from bestk.policies import CATALOGUE, Parameter, register
from bestk.rewards import Bernoulli
from bestk.testing import PythonPolicyContract
from helpers.mutants import never_failing, survived
from helpers.python_policies import EvenSplit, Lucb, registered

IN_PYTHON = [name for name, policy in CATALOGUE.items() if policy.is_python]
COINS = {"kl-lucb", "kl-racing"}


@pytest.fixture(autouse=True)
def _policies():
    with registered():
        yield


@pytest.mark.parametrize("policy", [*IN_PYTHON, "own-lucb", "even-split"])
class TestCatalogue(PythonPolicyContract):
    @pytest.fixture(autouse=True)
    def _named(self, policy):
        self.policy = policy
        if policy in COINS:
            self.rewards, self.means = Bernoulli(), (0.1, 0.95, 0.2, 0.05, 0.9, 0.15)


class TestCoins(PythonPolicyContract):
    """Likelihood-ratio policies know two families of rewards."""

    policy, rewards, means = "eb-tc", Bernoulli(), (0.1, 0.95, 0.2, 0.05, 0.9, 0.15)
    params = {"threshold": "stylised", "select": "ids"}  # noqa: RUF012


def test_the_catalogue_has_all_of_them():
    assert len(IN_PYTHON) >= 9


# --- broken ones ----------------------------------------------------------------------------------


class Numbered(Lucb):
    """Counts arms from 1."""

    def ask(self):
        return [arm + 1 for arm in super().ask()]

    def tell(self, arm, reward):
        super().tell(arm - 1, reward)


class Fractional(Lucb):
    """Numbers that are no integers."""

    def ask(self):
        return [float(arm) for arm in super().ask()]


class Iterating(Lucb):
    """A round that has no length, and might have no end."""

    def ask(self):
        return iter(super().ask())


class Idle(Lucb):
    def ask(self):
        return []

    def answer(self):
        return [1, 4]


class Endless(Lucb):
    """Does not know of slack."""

    def start(self, problem, rng):
        super().start(problem, rng)
        self.naive.epsilon = 0.0
        self.naive.delta = 1e-300


class Unseeded(Lucb):
    """Throws coins of its own."""

    def ask(self):
        arms = super().ask()
        return arms[::-1] if random.random() < 0.5 else arms


class Shared(Lucb):
    """Objects of one class share what they are told."""

    told = 0

    def ask(self):
        return super().ask() if type(self).told < 20 else []

    def tell(self, arm, reward):
        super().tell(arm, reward)
        type(self).told += 1


class Remembering(Lucb):
    """Starts again where it was."""

    def start(self, problem, rng):
        if not hasattr(self, "naive"):
            super().start(problem, rng)


class Overspending(EvenSplit):
    def start(self, problem, rng):
        super().start(problem, rng)
        self.left += self.n


class Short(Lucb):
    """Answers with one arm, twice."""

    def answer(self):
        return super().answer()[:1] * 2


class Touched(Lucb):
    """Stops once it has been asked for its answer."""

    asked = False

    def answer(self):
        self.asked = True
        return super().answer()

    def ask(self):
        return [] if self.asked else super().ask()


class Opposite(Lucb):
    """Finds the worst."""

    def tell(self, arm, reward):
        super().tell(arm, -reward)


class Turned(Lucb):
    """Turns costs that have been turned already."""

    def start(self, problem, rng):
        super().start(problem, rng)
        self.sign = 1.0 if problem.maximize else -1.0

    def tell(self, arm, reward):
        super().tell(arm, self.sign * reward)


class Unwritten(Lucb):
    """Counts its objects, of which a study that is opened again makes another."""

    made = 0

    def __init__(self):
        type(self).made += 1

    def ask(self):
        arms = super().ask()
        return arms if len(arms) > 2 or type(self).made % 2 else arms[:1]


BROKEN = {
    Numbered: "test_it_asks_for_arms_that_there_are test_live_decisions_are_the_simulated_ones",
    Fractional: "test_it_asks_for_arms_that_there_are",
    Iterating: "test_it_asks_for_arms_that_there_are",
    Idle: "test_it_asks_for_arms_that_there_are",
    Endless: "test_slack_lets_it_stop_where_means_tie",
    Unseeded: "test_its_generator_is_its_only_source_of_chance",
    Shared: "test_its_generator_is_its_only_source_of_chance test_start_forgets_everything",
    Remembering: "test_start_forgets_everything",
    Short: "test_it_can_be_asked_for_its_answer_at_any_time"
    " test_live_decisions_are_the_simulated_ones",
    Touched: "test_it_can_be_asked_for_its_answer_at_any_time",
    Opposite: "test_it_stops_with_the_right_answer test_slack_lets_it_stop_where_means_tie",
    Turned: "test_it_stops_with_the_right_answer",
    Unwritten: "test_live_decisions_are_the_simulated_ones",
}
# --- said to be what they are not: the class, how it is registered, what fails then
SAID = [
    (Overspending, {"budget": True}, "test_it_keeps_to_its_budget"),
    (Lucb, {"combinatorial": True}, "test_other_decision_classes"),
    (Lucb, {"about": " "}, "test_the_catalogue_says_what_it_is"),
    (Lucb, {"parameters": [Parameter("no such", 1, "")]}, "test_what_it_does_not_have_is_refused"),
]


def broken(cls, **said):
    register("broken", cls, **said)
    return type("Contract", (PythonPolicyContract,), {"policy": "broken"})


@pytest.mark.parametrize("cls", BROKEN)
def test_a_broken_policy_is_caught(cls, tmp_path):
    assert survived(broken(cls), BROKEN[cls], tmp_path) == set()


@pytest.mark.parametrize(("cls", "said", "names"), SAID)
def test_a_policy_that_is_not_what_it_is_said_to_be_is_caught(cls, said, names, tmp_path):
    assert survived(broken(cls, **said), names, tmp_path) == set()


def test_every_test_of_the_suite_can_fail():
    listed = {cls: names for cls, _, names in SAID[:1]} | {
        str(said): names for _, said, names in SAID
    }
    assert never_failing(PythonPolicyContract, listed | BROKEN) == set()
