"""Every decision class keeps the contract of decision classes; broken ones are caught."""

from itertools import combinations

import numpy as np
import pytest

from bestk.decisions import Oracle, PartitionMatroid, TopK
from bestk.decisions.base import PythonOracle
from bestk.errors import InputError
from bestk.testing import DecisionClassContract
from helpers.classes import DRAWS, draw_program, feasible_sets, instances
from helpers.mutants import never_failing, survived


@pytest.mark.parametrize("draw", DRAWS)
class TestOwnClasses(DecisionClassContract):
    draw = None

    @pytest.fixture(autouse=True)
    def _named(self, draw):
        self.draw, self.draws = draw, 4 if draw is draw_program else 8

    def instances(self):
        return instances(self.draw, 5 if self.draw is draw_program else 20)

    def feasible_sets(self, decision):
        return feasible_sets(decision)

    def test_the_width_says_where_it_comes_from(self):
        for decision in self.instances():
            is_known = "exact" if decision.width == 2 else "upper bound"
            assert decision.width_source.startswith((is_known, "upper bound"))


class TestOracle(DecisionClassContract):
    """A function of the user's: the best two of five that are no neighbours."""

    def instances(self):
        yield Oracle(5, self.best, contains=lambda chosen: chosen.sum() == 2)
        yield Oracle(5, lambda weights: np.flatnonzero(self.best(weights)), names=list("abcde"))

    def is_feasible(self, decision, arms):  # noqa: ARG002 - the same for both
        return len(arms) == 2 and arms[1] > arms[0] + 1

    def best(self, weights):
        pairs = [pair for pair in combinations(range(5), 2) if self.is_feasible(None, pair)]
        pair = max(pairs, key=lambda pair: weights[list(pair)].sum())
        return np.isin(np.arange(5), pair)


# --- broken ones ----------------------------------------------------------------------------------


class Two(PythonOracle):
    """Two of four arms; a third party's class, from nothing but the protocol."""

    kind, n_arms, names, width, width_source = "two", 4, tuple("abcd"), 2, "exact: matroid"

    def best(self, weights):
        weights = np.asarray(weights, np.float64)
        if weights.shape != (4,) or not np.isfinite(weights).all():
            raise InputError(f"weights {weights} were refused")
        return self.find(weights)

    def find(self, weights):
        chosen = np.zeros(4, np.bool_)
        chosen[np.argsort(-weights, kind="stable")[:2]] = True
        return chosen

    def to_dict(self):
        return {"class": self.kind}


class TwoContract(DecisionClassContract):
    make = Two

    def instances(self):
        yield type(self).make()

    def is_feasible(self, decision, arms):  # noqa: ARG002
        return len(arms) == 2

    def from_dict(self, data):  # noqa: ARG002
        return type(self).make()


class TestThirdParty(TwoContract):
    pass


class Greedy(Two):
    """Adds the best arm of each half: right more often than not."""

    def find(self, weights):
        chosen = np.zeros(4, np.bool_)
        chosen[[np.argmax(weights[:2]), 2 + np.argmax(weights[2:])]] = True
        return chosen


class Positive(Two):
    """Leaves arms of negative weight out."""

    def find(self, weights):
        return super().find(weights) & (weights > 0)


class Coarse(Two):
    """Sees no difference below 1e-6."""

    def find(self, weights):
        return super().find(np.round(weights, 6))


class Moody(Two):
    """Ties are decided by who was asked last."""

    turn = 0

    def find(self, weights):
        self.turn += 1
        order = np.arange(4) if self.turn % 3 else np.arange(4)[::-1]
        chosen = np.zeros(4, np.bool_)
        chosen[order[np.argsort(-weights[order], kind="stable")[:2]]] = True
        return chosen


class Buffered(Two):
    """Every answer is the same array."""

    def __init__(self):
        self.buffer = np.zeros(4, np.bool_)

    def find(self, weights):
        self.buffer[:] = super().find(weights)
        return self.buffer


class Sorting(Two):
    """Works in the caller's array."""

    def best(self, weights):
        found = super().best(weights)
        weights[:] = 0.0
        return found


class Trusting(Two):
    """Takes any weights."""

    def best(self, weights):
        return self.find(np.resize(np.nan_to_num(weights), 4))


class Narrow(Two):
    """Says that no two sets are nearer than they are."""

    width = 1


class Misread(Two):
    def to_dict(self):
        return {"class": "one"}


class Lazy(Two):
    """Exact until it gets hard."""

    def find(self, weights):
        return super().find(weights if np.abs(weights).max() < 4 else -weights)


BROKEN = {
    Greedy: "test_the_best_set_is_feasible_and_none_is_better test_weights_may_be_any_numbers"
    " test_lil_clucb_finds_the_best_set test_e_clucb_finds_the_best_set",
    Positive: "test_the_best_set_is_feasible_and_none_is_better",
    Coarse: "test_scale_and_shift_do_not_confuse_it",
    Moody: "test_ties_are_decided_the_same_way_every_time",
    Buffered: "test_ties_are_decided_the_same_way_every_time",
    Sorting: "test_weights_are_read_whatever_their_memory_looks_like",
    Trusting: "test_what_are_no_weights_is_refused",
    Narrow: "test_it_offers_what_a_decision_class_offers",
    Misread: "test_it_survives_json",
    Lazy: "test_the_best_set_is_feasible_and_none_is_better test_lil_clucb_finds_the_best_set",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_class_is_caught(broken, tmp_path):
    contract = type("Contract", (TwoContract,), {"make": broken})
    assert survived(contract, BROKEN[broken], tmp_path) == set()


def test_every_test_of_the_suite_can_fail():
    assert never_failing(DecisionClassContract, BROKEN) == set()


def test_sets_that_are_not_those_of_the_class_are_caught(tmp_path):
    class Wrong(DecisionClassContract):
        def instances(self):
            return [TopK(4, 2), PartitionMatroid([0, 0, 1, 1], [1, 1])]

        def is_feasible(self, decision, arms):  # noqa: ARG002
            return len(arms) == 2

    assert survived(Wrong, "test_the_best_set_is_feasible_and_none_is_better", tmp_path) == set()
