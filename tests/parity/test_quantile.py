"""e-lucb on quantiles decides as Theorem 9 says, decision by decision, compiled and interpreted."""

import math

import numpy as np
import pytest

import bestk
from bestk.bounds.levels import union
from bestk.compiled.modes import NEVER, NOW, VARIABLE
from bestk.kernels import rng
from bestk.kernels.types import ASKS, RUN
from bestk.problem import Problem
from reference.naive_quantile import Arm, certified

CASES = {
    "median": (3, 1, bestk.Quantile(), 0.0, True),
    "smallest 0.9-quantile": (3, 2, bestk.Quantile(0.9), 0.0, False),
    "slack": (3, 1, bestk.Quantile(), 0.5, True),
    "factor": (3, 1, bestk.Quantile(relative=True), 0.2, True),
    "smallest by a factor": (2, 1, bestk.Quantile(relative=True), 0.3, False),
    "smaller union": (4, 2, bestk.Quantile(), 0.0, True),
}


def drawn(dice, arm, digits):
    return max(round(math.exp(dice.normal(0.8 * arm, 0.5)), digits), 0.1)


@pytest.mark.parametrize("digits", [1, 12], ids=["ties", "no ties"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_decision_is_that_of_the_definition(case, digits):
    n, k, rewards, epsilon, maximize = case
    problem = Problem(bestk.TopK(n, k), rewards, 0.1, epsilon, maximize=maximize)
    stepper, dice = problem.stepper(5), np.random.default_rng(digits)
    spec, state = stepper.spec, stepper.state
    sign = 1.0 if maximize else -1.0
    arms = [Arm(rewards.q if maximize else 1 - rewards.q) for _ in range(n)]
    weights = stepper_weights(problem)
    is_exact = spec.log_exact > spec.log_both and epsilon == 0.0
    for turn in range(400):
        asked = stepper.ask()
        if turn >= n:
            value = [arm.quantile() for arm in arms]
            order = sorted(range(n), key=lambda i: (-state.means[i], i))
            assert sorted(order[:k]) == stepper.answer()
            np.testing.assert_allclose(state.means, value, rtol=1e-12)
            high = order[:k]
            lower = {i: arms[i].lower(math.exp(spec.log_lower)) for i in high}
            upper = {j: arms[j].upper(math.exp(spec.log_upper)) for j in order[k:]}
            h, l = min(lower, key=lambda i: (lower[i], i)), max(upper, key=lambda j: (upper[j], -j))  # noqa: E741
            split = separated(lower[h], upper[l], epsilon, rewards.relative)
            together = certified(
                arms, high, problem.delta, weights, epsilon, rewards.relative,
                strictly=is_exact, union=None if not is_exact else 1.0,
            )  # fmt: skip
            assert (not asked) == (split or together), turn
            if not asked:
                break
            assert asked == [chosen(stepper, h, l, lower[h], upper[l])]
        for arm in asked:
            reward = drawn(dice, arm, digits)
            stepper.tell(arm, reward)
            arms[arm].seen.append(sign * reward)
    else:
        raise AssertionError("it never stopped")


def stepper_weights(problem):
    """w1, w2 and w3; with the smaller union w3 is what the product counts for, over 1."""
    w = problem.configure(0).params["weights"]
    n, k = problem.decision.n_arms, problem.decision.k
    if problem.epsilon == 0.0 and w[3] > 0.0:
        return w[0], w[1], w[2] / (k * (n - k)) + w[3] / union(n, k)
    return w[:3]


def separated(lower, upper, epsilon, relative):
    if not relative:
        return upper - lower <= epsilon
    if lower > 0:
        return upper / lower - 1 <= epsilon
    return upper < 0 and lower / upper - 1 <= epsilon


def chosen(stepper, h, l, lower, upper):  # noqa: E741
    state = stepper.state
    u_h, u_l = max(state.means[h] - lower, 0.0), max(upper - state.means[l], 0.0)
    if not 0.0 < u_h + u_l < math.inf:
        return h if state.counts[h] <= state.counts[l] else l
    coin = rng.uniform(
        stepper.spec.seed, int(state.clock[RUN]), 0, int(state.clock[ASKS]), rng.COIN
    )
    return h if coin * (u_h + u_l) < u_h else l


@pytest.mark.compiled
@pytest.mark.parametrize("relative", [False, True])
def test_compiled_kernels_play_the_same_runs_and_find_room(relative, monkeypatch):
    """Runs of several thousand samples, which outgrow the room of a state again and again."""
    rewards, found = bestk.Quantile(0.4, relative=relative), []
    for mode in (NEVER, NOW):
        monkeypatch.setenv(VARIABLE, mode)
        each = bestk.simulate(
            [1.0, 1.05, 0.8],
            k=1,
            rewards=rewards,
            law="log-normal",
            spread=0.3,
            delta=0.1,
            epsilon=0.02 if relative else 0.0,
            runs=3,
            seed=2,
        )  # fmt: skip
        found.append(each)
    interpreted, compiled = found
    assert interpreted.samples.max() > 500
    for name in ("samples", "top_samples", "finished", "right"):
        np.testing.assert_array_equal(getattr(interpreted, name), getattr(compiled, name))


@pytest.mark.compiled
def test_two_log_normal_times_need_as_few_runs_as_promised():
    """At most 55, 18 and 10 of each at a difference of 10%, 20% and a factor of 2."""
    for factor, most in ((1.1, 55), (1.2, 18), (2.0, 10)):
        found = bestk.simulate(
            [1.0, factor], k=1, maximize=False, rewards=bestk.Quantile(), law="log-normal",
            spread=0.1, delta=0.05, runs=1000, seed=8,
        )  # fmt: skip
        assert found.mean / 2 + 5 * found.sem / 2 <= most
        assert found.wrong <= 80  # 50 expected at most; 80 has a tail of 1e-6
