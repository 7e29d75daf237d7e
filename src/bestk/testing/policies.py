"""What a policy of the catalogue has to do: sample, stop and answer, live as in simulations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from bestk.decisions import ExplicitSets, TopK
from bestk.errors import InputError
from bestk.kernels.types import GAUSSIAN
from bestk.problem import Problem
from bestk.rewards import Gaussian
from bestk.simulation import simulate
from bestk.study import Study
from bestk.testing.entries import CAP, MEANS, EntryContract, Supply

TIED = (0.2, 2.0, 0.5, 2.0, 2.0, 0.4)  # where no sampling tells the best from the next
SLACK = 0.8


class Steps(Protocol):
    """A policy one observation at a time, as `Problem.stepper` gives it."""

    def ask(self) -> list[int]:
        """The arms to sample next; empty to stop."""
        ...

    def tell(self, arm: int, reward: float) -> None:
        """One observation."""
        ...

    def answer(self) -> list[int]:
        """The arms that look best, lowest number first."""
        ...


class PolicyContract(EntryContract):
    """Tests of one entry of the catalogue; derive from it, and name the entry.

    Rewards are normal with a standard deviation of `sigma`; the error is `delta`.
    """

    variant: str | None = None  # None: the first that the policy has
    sigma = 0.5

    # --- what you may change ----------------------------------------------------------------------

    def make(self, problem: Problem, seed: int) -> Steps:
        """The policy, ready to be asked; by default what the catalogue has."""
        return problem.stepper(seed)

    # --- the entry --------------------------------------------------------------------------------

    def test_the_catalogue_says_what_it_is(self) -> None:
        """In words, and with a guarantee exactly where one is proved."""
        entry = self._entry
        for text in (entry.title, entry.source, entry.theorem, entry.about):
            assert text.strip()
        configured = self._problem().configure(0)
        assert configured.variant in (entry.variants or (None,))
        proved = entry.proved and configured.variant != "heuristic"
        assert configured.guarantee == (self.delta if proved else None)
        assert (configured.theorem is not None) == proved

    def test_what_it_does_not_have_is_refused(self) -> None:
        """Parameters and variants that nobody has heard of, several answers where it finds one."""
        for wrong in ({"params": {"no such": 1}}, {"variant": "no such"}):
            with pytest.raises(InputError):
                self._problem(**wrong)
        if self._entry.single:
            with pytest.raises(InputError):
                self._problem(decision=TopK(6, 2))

    def test_it_survives_json(self) -> None:
        """A problem that is read back runs alike."""
        problem = self._problem()
        read = Problem.from_dict(json.loads(json.dumps(problem.to_dict(), allow_nan=False)))
        assert read.to_dict() == problem.to_dict()
        assert _play(self.make(read, 1), self._supply(1)) == self._run(1)

    # --- sampling ---------------------------------------------------------------------------------

    def test_it_asks_for_arms_that_there_are(self) -> None:
        """No arm twice in a round."""
        for seed in self.seeds:
            rounds, _ = self._run(seed)
            assert rounds
            for arms in rounds:
                assert len(set(arms)) == len(arms)
                assert all(type(arm) is int and 0 <= arm < len(MEANS) for arm in arms), arms

    def test_every_arm_is_sampled_before_any_is_sampled_again(self) -> None:
        """Nothing can be said of an arm that was never tried."""
        for seed in self.seeds:
            sampled = [arm for arms in self._run(seed)[0] for arm in arms]
            assert sorted(sampled[: len(MEANS)]) == list(range(len(MEANS)))

    def test_the_same_seed_makes_the_same_decisions(self) -> None:
        """Also where two runs take turns: they share nothing."""
        for seed in self.seeds:
            expected = self._run(seed)
            one, two = (self.make(self._problem(), seed) for _ in range(2))
            supplies, rounds = (self._supply(seed), self._supply(seed)), list[list[int]]()
            while arms := one.ask():
                assert two.ask() == arms
                rounds.append(arms)
                for steps, supply in zip((one, two), supplies, strict=True):
                    for arm in arms:
                        steps.tell(arm, supply(arm))
            assert (rounds, one.answer()) == expected
            assert (two.ask(), two.answer()) == ([], one.answer())

    def test_what_cannot_be_told_is_refused(self) -> None:
        """An arm that is not there, a reward that is no number; nothing is recorded."""
        steps, whole = self.make(self._problem(), 1), self.make(self._problem(), 1)
        supply = self._supply(1)
        for _ in range(8):
            arms = steps.ask()
            assert arms == whole.ask()
            for wrong in ((len(MEANS), 0.5), (-1, 0.5), (0, float("nan")), (0, float("inf"))):
                with pytest.raises(ValueError, match=r"\S"):
                    steps.tell(*wrong)
            for arm in arms:
                reward = supply(arm)
                steps.tell(arm, reward)
                whole.tell(arm, reward)

    # --- stopping and answering -------------------------------------------------------------------

    def test_the_answer_has_k_arms(self) -> None:
        """At every moment once each arm was sampled, not at the stop alone."""
        steps, supply, k, sampled = self.make(self._problem(), 1), self._supply(1), self._k, 0
        while arms := steps.ask():
            for arm in arms:
                steps.tell(arm, supply(arm))
            sampled += len(arms)
            if sampled >= len(MEANS):
                answer = steps.answer()
                assert len(set(answer)) == k == len(answer)
                assert answer == sorted(answer)
                assert all(type(arm) is int and 0 <= arm < len(MEANS) for arm in answer)

    def test_it_stops_with_the_right_answer(self) -> None:
        """In both directions, where means lie well apart."""
        for seed in self.seeds:
            for maximize in (True, False):
                problem = self._problem(maximize=maximize)
                means = MEANS if maximize else tuple(-mean for mean in MEANS)
                _, answer = _play(self.make(problem, seed), self._supply(seed, means))
                assert answer == self._best(MEANS), f"seed {seed}, maximize={maximize}"

    def test_slack_lets_it_stop_where_means_tie(self) -> None:
        """With an answer within the slack; a policy that has no use for one refuses it."""
        if not self._entry.slack:
            with pytest.raises(InputError):
                self._problem(epsilon=SLACK)
            return
        least = sorted(TIED)[-self._k] - SLACK
        for seed in self.seeds:
            steps = self.make(self._problem(epsilon=SLACK), seed)
            _, answer = _play(steps, self._supply(seed, TIED))
            assert all(TIED[arm] >= least for arm in answer), f"seed {seed}: {answer}"

    def test_other_decision_classes(self) -> None:
        """Answered by a policy that says it can; refused by the others."""
        decision = ExplicitSets([(0, 2), (1, 5), (3, 4)])
        if not self._entry.combinatorial:
            with pytest.raises(InputError):
                self._problem(decision=decision)
            return
        for seed in self.seeds:
            steps = self.make(self._problem(decision=decision), seed)
            assert _play(steps, self._supply(seed))[1] == [1, 5]

    # --- live and simulated -----------------------------------------------------------------------

    def test_live_decisions_are_the_simulated_ones(self) -> None:
        """A study, sample by sample, and the simulator, by how many there were."""
        for seed in self.seeds:
            rounds, answer = self._run(seed)
            sampled = [arm for arms in rounds for arm in arms]
            settings = {**self._settings, "k": self._k, "seed": seed}
            study = Study("s", range(len(MEANS)), **settings)
            supply, live = self._supply(seed), list[int]()
            while pulls := study.ask():
                (pull,) = pulls
                assert isinstance(pull.arm, int)
                live.append(pull.arm)
                study.tell(pull, supply(pull.arm))
            assert live == sampled, f"seed {seed}"
            assert study.ask() == []
            assert sorted(map(int, map(str, study.result.top))) == answer
            simulated = simulate(MEANS, runs=1, jobs=1, **settings)
            assert simulated.samples.tolist() == [len(sampled)]
            assert simulated.right.tolist() == [answer == self._best(MEANS)]

    # --- helpers ----------------------------------------------------------------------------------

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "variant": self.variant, "params": self.params,
            "rewards": Gaussian(self.sigma), "delta": self.delta,
        }  # fmt: skip

    def _supply(self, seed: int, means: Sequence[float] = MEANS) -> Supply:
        return Supply(GAUSSIAN, means, self.sigma, seed)

    def _run(self, seed: int) -> tuple[list[list[int]], list[int]]:
        return _play(self.make(self._problem(), seed), self._supply(seed))


def _play(steps: Steps, supply: Supply) -> tuple[list[list[int]], list[int]]:
    """To the end: every round, and the answer."""
    rounds, sampled = list[list[int]](), 0
    while arms := steps.ask():
        rounds.append(list(arms))
        sampled += len(arms)
        assert sampled <= CAP, f"it has not stopped after {CAP} samples"
        for arm in arms:
            steps.tell(arm, supply(arm))
    return rounds, steps.answer()
