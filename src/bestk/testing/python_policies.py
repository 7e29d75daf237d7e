"""What a policy in plain Python has to do (`bestk.policies.PythonPolicy`): simulated and live."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestk.decisions import DecisionClass, ExplicitSets, TopK
from bestk.errors import InputError
from bestk.kernels.types import BERNOULLI
from bestk.policies import PythonPolicy
from bestk.policies.catalogue import BUDGET
from bestk.policies.driving import is_feasible, policy_generator
from bestk.problem import Problem
from bestk.rewards import Gaussian, Rewards
from bestk.simulation import simulate
from bestk.study import Study
from bestk.testing.entries import CAP, EntryContract, Supply

SETS = ((0, 2), (1, 4), (3, 5))  # of which the second is the best where two arms stand out


class PythonPolicyContract(EntryContract):
    """Tests of a policy that is registered (`bestk.policies.register`); derive, and name it.

    Rewards are normal with a standard deviation of 0.5, and the second and the fifth of six arms
    stand out. A policy of other rewards gives `rewards` (normal, sub-Gaussian or Bernoulli) and
    `means`, six of them, the second the best and the fifth next.
    """

    rewards: Rewards = Gaussian(0.5)
    budget = 300  # of a policy that spends a fixed one

    # --- the entry --------------------------------------------------------------------------------

    def test_the_catalogue_says_what_it_is(self) -> None:
        """In words; what it claims is its author's claim, and bestk promises nothing."""
        entry = self._entry
        assert entry.is_python, f"{self.policy} is a policy of bestk's kernels: see PolicyContract"
        for text in (entry.title, entry.source, entry.about):
            assert text.strip()
        assert entry.claim is None or entry.claim.strip()
        assert self._problem().configure(0).guarantee is None

    def test_what_it_does_not_have_is_refused(self) -> None:
        """Parameters that nobody has heard of, several answers where it finds one, no budget."""
        with pytest.raises(InputError):
            self._problem(params={**self._settings["params"], "no such": 1})
        if self._entry.single:
            with pytest.raises(InputError):
                self._problem(decision=TopK(len(self.means), 2))
        if self._entry.budget:
            with pytest.raises(InputError):
                self._problem(params=self.params)

    # --- sampling ---------------------------------------------------------------------------------

    def test_it_asks_for_arms_that_there_are(self) -> None:
        """By their numbers from 0, until it stops."""
        for seed in self.seeds:
            steps = 0
            for arms in self._rounds(self._started(seed), self._supply(seed)):
                assert all(0 <= arm < len(self.means) for arm in arms), arms
                steps += 1
            assert steps, "it stopped before it had asked for anything"

    def test_its_generator_is_its_only_source_of_chance(self) -> None:
        """Two objects started alike, which take turns, decide alike: they share nothing."""
        for seed in self.seeds:
            runs = [self._rounds(self._started(seed), self._supply(seed)) for _ in range(2)]
            for number, arms in enumerate(runs[0]):
                random.seed(number)  # as other code of the same program might
                np.random.seed(number)
                assert next(runs[1], None) == arms, f"round {number + 1}"
            assert next(runs[1], None) is None

    def test_start_forgets_everything(self) -> None:
        """One object, started again with the same generator, runs as it did before."""
        for seed in self.seeds:
            policy = self._started(seed)
            before = list(self._rounds(policy, self._supply(seed))), sorted(policy.answer())
            self._start(policy, self._problem(), seed)
            again = list(self._rounds(policy, self._supply(seed))), sorted(policy.answer())
            assert again == before

    def test_it_keeps_to_its_budget(self) -> None:
        """With a fixed budget: no pull more, whatever the budget."""
        if not self._entry.budget:
            pytest.skip("it has no budget")
        for budget in (self.budget // 2, self.budget, self.budget + 1):
            problem = self._problem(params={**self.params, BUDGET.name: budget})
            policy = self._started(1, problem)
            assert sum(map(len, self._rounds(policy, self._supply(1)))) <= budget

    # --- stopping and answering -------------------------------------------------------------------

    def test_it_can_be_asked_for_its_answer_at_any_time(self) -> None:
        """Once each arm was sampled: a feasible set, and what it asks for next is the same."""
        decision = self._problem().decision
        for seed in self.seeds:
            expected = list(self._rounds(self._started(seed), self._supply(seed)))
            policy, supply = self._started(seed), self._supply(seed)
            unseen = set(range(decision.n_arms))
            for arms in expected:
                assert [operator.index(arm) for arm in policy.ask()] == arms
                for arm in arms:
                    if not unseen:  # also in the midst of a round
                        self._check_answer(decision, policy)
                    policy.tell(arm, supply(arm))
                    unseen.discard(arm)
                if not unseen:
                    self._check_answer(decision, policy)
            assert not len(policy.ask())
            self._check_answer(decision, policy)

    def test_it_stops_with_the_right_answer(self) -> None:
        """In both directions, where means lie well apart; costs are told negated."""
        for seed in self.seeds:
            for maximize in (True, False):
                problem = self._problem(maximize=maximize)
                policy = self._started(seed, problem)
                for _ in self._rounds(policy, self._supply(seed, maximize=maximize)):
                    pass
                answer = sorted(map(operator.index, policy.answer()))
                assert answer == self._best(self.means), f"seed {seed}, maximize={maximize}"

    def test_slack_lets_it_stop_where_means_tie(self) -> None:
        """With an answer within the slack; a policy that has no use for one refuses it."""
        order = sorted(self.means, reverse=True)
        last, slack = order[self._k - 1], 0.7 * (order[self._k - 1] - order[self._k])
        if not self._entry.slack:
            with pytest.raises(InputError):
                self._problem(epsilon=slack)
            return
        tied = [last if mean == order[self._k] else mean for mean in self.means]
        for seed in self.seeds:
            policy = self._started(seed, self._problem(epsilon=slack))
            for _ in self._rounds(policy, self._supply(seed, tied)):
                pass
            answer = list(policy.answer())
            assert all(tied[arm] >= last - slack for arm in answer), f"seed {seed}: {answer}"

    def test_other_decision_classes(self) -> None:
        """Answered by a policy that says it can; refused by the others."""
        decision = ExplicitSets(SETS)
        if not self._entry.combinatorial:
            with pytest.raises(InputError):
                self._problem(decision=decision)
            return
        for seed in self.seeds:
            policy = self._started(seed, self._problem(decision=decision))
            for _ in self._rounds(policy, self._supply(seed)):
                pass
            assert sorted(policy.answer()) == list(SETS[1])

    # --- live and simulated -----------------------------------------------------------------------

    def test_live_decisions_are_the_simulated_ones(self, tmp_path: Path) -> None:
        """A study, pull by pull, also if its file is opened anew half-way; and the simulator."""
        for seed in self.seeds:
            policy, supply = self._started(seed), self._supply(seed)
            sampled = [arm for arms in self._rounds(policy, supply) for arm in arms]
            settings = {**self._settings, "k": self._k, "seed": seed}
            file, names, live = tmp_path / f"{seed}.db", range(len(self.means)), list[int]()
            study = Study("s", names, storage=file, **settings)
            supply = self._supply(seed)
            while pulls := study.ask():
                (pull,) = pulls
                assert isinstance(pull.arm, int)
                live.append(pull.arm)
                study.tell(pull, supply(pull.arm))
                if len(live) == len(sampled) // 2:
                    study = Study("s", names, storage=file, **settings)
            assert live == sampled, f"seed {seed}"
            answer = sorted(int(str(arm)) for arm in study.result.top)
            assert answer == sorted(policy.answer())
            simulated = simulate(list(self.means), runs=1, jobs=1, **settings)
            assert simulated.samples.tolist() == [len(sampled)]
            assert simulated.right.tolist() == [answer == self._best(self.means)]

    # --- helpers ----------------------------------------------------------------------------------

    @property
    def _settings(self) -> dict[str, Any]:
        params = {**self.params, **({BUDGET.name: self.budget} if self._entry.budget else {})}
        return {
            "policy": self.policy, "params": params, "rewards": self.rewards, "delta": self.delta,
        }  # fmt: skip

    def _started(self, seed: int, problem: Problem | None = None) -> PythonPolicy:
        policy: PythonPolicy = self._entry.make()
        self._start(policy, self._problem() if problem is None else problem, seed)
        return policy

    def _start(self, policy: PythonPolicy, problem: Problem, seed: int) -> None:
        question = replace(problem, params=problem.configure(seed).params)
        policy.start(question, policy_generator(seed, 0))

    def _supply(
        self, seed: int, means: Sequence[float] | None = None, maximize: bool = True
    ) -> Callable[[int], float]:
        """The simulator's own rewards, a function of seed, arm and number; costs are negated."""
        law, values = self.rewards.law, np.array(self.means if means is None else means, np.float64)
        assert law is not None, "give rewards that a mean alone says how to draw"
        if maximize:
            return Supply(law, values, self.rewards.sigma, seed)
        # of coins the rarest heads are wanted
        costs = Supply(law, 1.0 - values if law == BERNOULLI else -values, self.rewards.sigma, seed)
        return lambda arm: -costs(arm)

    @staticmethod
    def _rounds(policy: PythonPolicy, supply: Callable[[int], float]) -> Iterator[list[int]]:
        """Every round until it stops, told after it was looked at."""
        sampled = 0
        while len(asked := policy.ask()):  # a sequence: an iterator might have no end
            arms = [operator.index(arm) for arm in asked]
            yield arms
            sampled += len(arms)
            assert sampled <= CAP, f"it has not stopped after {CAP} samples"
            for arm in arms:
                policy.tell(arm, supply(arm))

    @staticmethod
    def _check_answer(decision: DecisionClass, policy: PythonPolicy) -> None:
        answer = [operator.index(arm) for arm in policy.answer()]
        assert is_feasible(decision, answer), f"{answer} is no feasible set"
