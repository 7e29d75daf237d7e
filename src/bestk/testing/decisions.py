"""What a decision class has to do (`bestk.decisions.DecisionClass`): above all, be exact."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

from bestk.decisions import DecisionClass, decision_from_dict
from bestk.decisions.base import require_choice, require_decision
from bestk.errors import InputError
from bestk.kernels.types import BoolArray, FloatArray
from bestk.problem import Problem
from bestk.rewards import Gaussian

MANY = 16  # arms: more have too many subsets to look at all of them
GAP = 1.0  # by which the best set leads in runs of a policy
SIGMA = 0.05  # of rewards in those runs
CAP = 2000  # samples after which such a run counts as endless; some ten are usual


class Feasible:
    """All feasible sets, as arms in ascending order and as rows of booleans."""

    def __init__(self, n_arms: int, sets: Iterable[Collection[int]]) -> None:
        self.sets = [tuple(sorted(arms)) for arms in sets]
        self.rows = np.zeros((len(self.sets), n_arms), np.bool_)
        for row, arms in zip(self.rows, self.sets, strict=True):
            row[list(arms)] = True

    def totals(self, weights: FloatArray) -> FloatArray:
        """The weight of every set; exact where weights are small multiples of a power of two."""
        found: FloatArray = self.rows @ weights
        return found


class DecisionClassContract:
    """Tests of a decision class; derive from it, and give instances and what is feasible in them.

    Say what is feasible by `is_feasible`, or, where that is easier, list it by `feasible_sets`. Do
    so from the definition, not with the code under test. `draws` is how many weights are drawn for
    every instance.
    """

    draws = 12

    # --- what you give ----------------------------------------------------------------------------

    def instances(self) -> Iterable[DecisionClass]:
        """Small objects of your class, of all its kinds, the same every time."""
        raise NotImplementedError("instances(): small objects of your class")

    def is_feasible(self, decision: DecisionClass, arms: tuple[int, ...]) -> bool:
        """Whether these arms, in ascending order, are a feasible set."""
        raise NotImplementedError("is_feasible(decision, arms), or feasible_sets(decision)")

    def feasible_sets(self, decision: DecisionClass) -> Iterable[Collection[int]]:
        """All feasible sets; by default by looking at every subset of the arms."""
        n_arms = decision.n_arms
        assert n_arms <= MANY, f"{n_arms} arms are too many to look at all subsets"
        every = (combinations(range(n_arms), size) for size in range(n_arms + 1))
        return (arms for arms in chain(*every) if self.is_feasible(decision, arms))

    def from_dict(self, data: dict[str, Any]) -> DecisionClass:
        """Read what `to_dict` wrote; by default as bestk reads its own classes."""
        return decision_from_dict(data)

    # --- what it says of itself -------------------------------------------------------------------

    def test_it_offers_what_a_decision_class_offers(self) -> None:
        """Arms with different names, a width, and a choice of at least two sets."""
        for decision, feasible in self._all:
            sets = feasible.sets
            require_decision(decision)
            require_choice(decision)
            assert decision.kind
            assert isinstance(decision.kind, str)
            assert len(decision.names) == len(set(decision.names)) == decision.n_arms
            assert len(sets) >= 2, f"{decision} has one feasible set only"
            assert decision.minimise_only == (decision.ceiling < math.inf)
            # no exchange is smaller than the two sets nearest to each other
            assert decision.width >= min(len(set(a) ^ set(b)) for a, b in combinations(sets, 2))
            assert decision.width_source

    # --- the oracle -------------------------------------------------------------------------------

    def test_the_best_set_is_feasible_and_none_is_better(self) -> None:
        """By brute force; weights are multiples of 1/4, so that many sets tie and none rounds."""
        for decision, feasible in self._all:
            for weights in self._weights(decision):
                _require_best(decision, feasible, weights)

    def test_weights_may_be_any_numbers(self) -> None:
        """Drawn from a normal distribution: no ties, and totals that round."""
        for decision, feasible in self._all:
            dice = np.random.default_rng(7)
            for _ in range(self.draws):
                weights = dice.normal(size=decision.n_arms)
                if decision.minimise_only:
                    weights = -np.abs(weights)
                _require_best(decision, feasible, weights, rounding=1e-12)

    def test_scale_and_shift_do_not_confuse_it(self) -> None:
        """Very large and very small weights, and such as have a large part in common."""
        for decision, feasible in self._all:
            for weights in self._weights(decision):
                for scale in (2.0**-40, 2.0**40):
                    _require_best(decision, feasible, scale * weights)
                for shift in (-1024.0, 1024.0):
                    if shift < 0 or not decision.minimise_only:
                        _require_best(decision, feasible, weights + shift)

    def test_ties_are_decided_the_same_way_every_time(self) -> None:
        """Whatever was asked in between."""
        for decision, _ in self._all:
            drawn = list(self._weights(decision))
            drawn.insert(0, np.full(decision.n_arms, -0.25))
            before = [decision.best(weights.copy()) for weights in drawn]
            kept = [answer.copy() for answer in before]
            pairs = list(zip(drawn, kept, strict=True))
            for weights, answer in pairs[::-1] + pairs:
                assert np.array_equal(decision.best(weights.copy()), answer), (decision, weights)
            for answer, copy in zip(before, kept, strict=True):
                assert np.array_equal(answer, copy), f"{decision} has changed an earlier answer"

    def test_weights_are_read_whatever_their_memory_looks_like(self) -> None:
        """Read-only, with gaps, backwards, a column of a table; and they are left as they are."""
        for decision, _ in self._all:
            for weights in self._weights(decision):
                expected = decision.best(weights.copy())
                n_arms, original = decision.n_arms, weights.copy()
                frozen, gaps = weights.copy(), np.full(3 * n_arms, math.nan)
                frozen.flags.writeable = False
                gaps[::3] = weights
                column = np.asfortranarray(np.tile(weights, (2, 1)))[1]
                forms = weights, frozen, gaps[::3], weights[::-1].copy()[::-1], column
                for form in forms:
                    found = decision.best(form)
                    assert np.array_equal(found, expected), (decision, form.strides, weights)
                    assert np.array_equal(form, original), f"{decision} has changed the weights"
                    assert not np.shares_memory(found, form)

    def test_what_are_no_weights_is_refused(self) -> None:
        """NaN, infinity, one weight too few or too many: by an InputError or another ValueError."""
        for decision, _ in self._all:
            good = np.full(decision.n_arms, -1.0)
            spoilt = (np.append(good[1:], bad) for bad in (math.nan, math.inf, -math.inf))
            shapes = good[1:], np.append(good, -1.0), np.tile(good, (2, 1)), good[:0]
            for weights in (*spoilt, *shapes):
                with pytest.raises(ValueError, match=r"\S"):
                    decision.best(weights)

    # --- written down -----------------------------------------------------------------------------

    def test_it_survives_json(self) -> None:
        """Where `to_dict` does not refuse it; such a class is also pickled, for other processes."""
        written = False
        for decision, _ in self._all:
            try:
                data = decision.to_dict()
            except InputError:
                continue
            written = True
            assert data["class"] == decision.kind
            read = self.from_dict(json.loads(json.dumps(data, allow_nan=False)))
            for copy in (read, pickle.loads(pickle.dumps(decision))):
                assert copy.to_dict() == data
                assert (copy.names, copy.width) == (decision.names, decision.width)
                for weights in self._weights(decision):
                    assert np.array_equal(copy.best(weights), decision.best(weights)), decision
        if not written:
            pytest.skip("to_dict() refuses it: it cannot be written down")

    # --- a policy on it ---------------------------------------------------------------------------

    def test_lil_clucb_finds_the_best_set(self) -> None:
        """Of means that lie well apart, from noisy rewards."""
        self._require_found("lil-clucb")

    def test_e_clucb_finds_the_best_set(self) -> None:
        """Which is the policy that runs when none is named."""
        self._require_found("e-clucb")

    # --- helpers ----------------------------------------------------------------------------------

    @cached_property
    def _all(self) -> list[tuple[DecisionClass, Feasible]]:
        """Every instance with all its feasible sets."""
        listed = [
            (each, Feasible(each.n_arms, self.feasible_sets(each))) for each in self.instances()
        ]
        assert listed, "instances() has given none"
        return listed

    def _weights(self, decision: DecisionClass) -> Iterator[FloatArray]:
        """Multiples of 1/4, in narrow and wide ranges; no positive ones where costs are negated."""
        dice = np.random.default_rng(20260)
        for i in range(self.draws):
            spread = (1, 2, 8, 40)[i % 4]
            weights = dice.integers(-spread, spread + 1, decision.n_arms) / 4.0
            yield -np.abs(weights) if decision.minimise_only else weights

    def _require_found(self, policy: str) -> None:
        for decision, feasible in self._all:
            means = self._apart(decision, feasible)
            sign = -1.0 if decision.minimise_only else 1.0
            problem = Problem(
                decision, Gaussian(SIGMA), 0.05, policy=policy, maximize=not decision.minimise_only
            )
            noise = np.random.default_rng(5).normal(0.0, SIGMA, CAP).tolist()
            steps = problem.stepper(seed=2)
            while arms := steps.ask():
                for arm in arms:
                    assert noise, f"no end after {CAP} samples: {decision}, means {means.tolist()}"
                    steps.tell(arm, sign * float(means[arm]) + noise.pop())
            best = feasible.sets[int(feasible.totals(means).argmax())]
            assert tuple(steps.tested()) == best, f"{decision}, means {means.tolist()}"

    def _apart(self, decision: DecisionClass, feasible: Feasible) -> FloatArray:
        """Means with one best set that leads by `GAP` at least."""
        dice = np.random.default_rng(11)
        for _ in range(1000):
            means = (GAP * dice.integers(-8, 9, decision.n_arms)).astype(np.float64)
            means = -np.abs(means) if decision.minimise_only else means
            totals = np.sort(feasible.totals(means))
            if totals[-1] - totals[-2] >= GAP:
                return means
        raise AssertionError(f"no means set the best set of {decision} apart")


def _require_best(
    decision: DecisionClass, feasible: Feasible, weights: FloatArray, rounding: float = 0.0
) -> None:
    chosen: BoolArray = decision.best(weights.copy())
    assert isinstance(chosen, np.ndarray)
    assert chosen.dtype == np.bool_
    assert chosen.shape == (decision.n_arms,)
    arms = tuple(np.flatnonzero(chosen).tolist())
    where = f"{decision}, weights {weights.tolist()}"
    totals = feasible.totals(weights)
    assert arms in feasible.sets, f"{arms} is not feasible: {where}"
    slack = rounding * float(np.abs(weights).sum())
    assert totals[feasible.sets.index(arms)] >= totals.max() - slack, f"{arms} is not best: {where}"
