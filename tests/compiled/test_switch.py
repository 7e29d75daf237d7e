"""From interpreted to compiled kernels in the middle of a run: nothing but the speed changes."""

import random

import numpy as np
import pytest

import bestk
from bestk.compiled import live
from bestk.compiled.live import Machine
from bestk.kernels import step
from bestk.kernels.statistics import tell_many
from bestk.policies.stepper import Stepper
from bestk.problem import Problem
from helpers.compiled import kernels, switch

TREE = bestk.SpanningTree([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)])
ORACLE = bestk.Oracle(4, lambda weights: np.arange(4) == weights.argmax())
PROBLEMS = {
    "coins": Problem(bestk.TopK(5, 2), bestk.Bernoulli(), epsilon=0.1),
    "ratings": Problem(bestk.TopK(5, 2), bestk.Ratings([0, 0.5, 1]), epsilon=0.1),
    "normal": Problem(bestk.TopK(5, 2), bestk.Gaussian(0.5), epsilon=0.1),
    "quantile": Problem(bestk.TopK(5, 2), bestk.Quantile(0.4), epsilon=0.5),
    "paper": Problem(bestk.TopK(5, 2), policy="lil-rand-lucb"),
    "rounds": Problem(bestk.TopK(5, 2), policy="lucb"),
    "tree": Problem(TREE, bestk.Gaussian(0.5)),
    "oracle": Problem(ORACLE, bestk.Gaussian(0.5), policy="lil-clucb"),
}
LENGTH = 40
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def play(problem, switch_at=None):
    """Every decision, and at the end the state to the bit."""
    dice = random.Random(7)
    stepper, made = Stepper(problem.decision, problem.configure(3)), []
    stepper.reset(0)
    for turn in range(LENGTH):
        if turn == switch_at:
            switch(stepper.machine)
        arms = stepper.ask()
        made.append((arms, stepper.answer() if turn > 20 else None))
        for arm in arms or [turn % problem.decision.n_arms]:
            stepper.tell(arm, dice.choice([0.0, 0.5, 1.0] if turn % 3 else [0.0, 1.0]))
    made.append(stepper.certifiable_epsilon)
    return made, [np.asarray(part).tobytes() for part in stepper.state[:13]]


@every_problem
def test_the_switch_may_come_at_every_step(problem, monkeypatch):
    if isinstance(problem.rewards, bestk.Bernoulli):
        monkeypatch.setattr(random.Random, "choice", lambda self, _: float(self.random() < 0.5))
    with kernels(monkeypatch, "never"):
        expected = play(problem)
    for turn in range(LENGTH):
        with kernels(monkeypatch, "never"):
            assert play(problem, turn) == expected


@every_problem
def test_observations_told_at_once_are_those_told_one_by_one(problem, monkeypatch):
    """By numpy, in whatever pieces; also LUCB's rounds, and rewards that are rounded by coins."""
    if problem.decision is ORACLE or problem.decision is TREE:
        problem = Problem(bestk.TopK(5, 2), bestk.Bounded())  # a third kind of rewards
    dice = np.random.default_rng(5)
    n = problem.decision.n_arms
    with_rounds = -1 if problem.policy == "lucb" else 0
    arms = np.concatenate([np.arange(n), dice.integers(with_rounds, n, 60)])
    rewards = dice.random(arms.size)
    if isinstance(problem.rewards, bestk.Bernoulli | bestk.Ratings):
        rewards = np.round(rewards)
    with kernels(monkeypatch, "never"):
        singly, at_once = (Stepper(problem.decision, problem.configure(3)) for _ in range(2))
        for stepper in (singly, at_once):
            stepper.reset(0)
        for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
            if arm >= 0:
                singly.tell(arm, reward)
            else:
                step.next_round(singly.state)
        for piece in np.array_split(np.arange(arms.size), 3):
            at_once.machine.tell_many(arms[piece], rewards[piece])
        at_once.machine.settle()
    for name in ("counts", "origins", "sums", "means", "high", "keys", "levels", "clock"):
        left, right = (getattr(stepper.state, name) for stepper in (singly, at_once))
        np.testing.assert_array_equal(left, right, err_msg=name)
    assert singly.ask() == at_once.ask()


def test_machines_move_when_compiled_kernels_are_on_disk_and_pay(monkeypatch):
    problem = PROBLEMS["rounds"]
    with kernels(monkeypatch, "auto"):
        stepper = Stepper(problem.decision, problem.configure(3))
        found = stepper.machine.kernels
        found.program.compile()
        stepper.ask()
        assert found.loaded is None
        found.spend(live.LOADING)
        assert found.loaded is not None
        other = Machine(stepper.spec, step.new_state(stepper.spec))
        assert other.kernels is found


def test_kernels_that_are_never_to_be_compiled_are_not(monkeypatch):
    problem = PROBLEMS["paper"]
    with kernels(monkeypatch, "never"):
        stepper = Stepper(problem.decision, problem.configure(3))
        stepper.machine.kernels.spend(100.0)
        assert stepper.machine.kernels.loaded is None


def test_an_unknown_mode_is_refused(monkeypatch):
    with (
        kernels(monkeypatch, "nowhere"),
        pytest.raises(bestk.UnknownName, match="BESTK_COMPILE 'nowhere'"),
    ):
        Problem(bestk.TopK(2, 1)).stepper()


def test_statistics_of_no_observation_change_nothing():
    problem = PROBLEMS["paper"]
    stepper = Stepper(problem.decision, problem.configure(3))
    tell_many(stepper.state, stepper.spec, np.zeros(0, np.int64), np.zeros(0))
    assert not stepper.state.counts.any()
