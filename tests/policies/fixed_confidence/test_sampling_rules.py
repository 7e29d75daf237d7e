"""Whom e-lucb samples of the pair, by each of its rules."""

import numpy as np
import pytest

from bestk import Bernoulli, Bounded, Ratings, replay, simulate

HALF, NEVER, ALWAYS = [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]
AT_ENDS = {
    "coins that never hit": ([HALF] * 2 + [NEVER] * 3, 2, Bernoulli()),
    "coins that always hit": ([ALWAYS] * 3 + [HALF] * 2, 3, Bernoulli()),
    "ratings": ([HALF] * 2 + [NEVER] * 3, 2, Ratings([0, 0.5, 1])),
    "bounded": ([HALF] * 2 + [NEVER] * 3, 2, Bounded(0, 1)),
}


@pytest.mark.parametrize("kind", AT_ENDS)
def test_an_arm_whose_mean_lies_at_an_end_of_the_range_is_sampled(kind):
    rows, k, rewards = AT_ENDS[kind]
    by_width, at_random = (
        simulate(
            replay(rows, k=k), rewards=rewards, params={"rule": rule}, delta=0.05, runs=40, seed=3
        )
        for rule in ("radius", "random")
    )
    assert (by_width.wrong, by_width.unfinished) == (0, 0)
    assert by_width.samples.mean() < 1.5 * at_random.samples.mean()  # it was 3 to 10 times


def test_items_whose_scores_are_all_alike_are_scored():
    table = np.zeros((6, 400))
    table[:2] = np.random.default_rng(5).random((2, 400)) < 0.5
    instance = replay(table, k=2, without_replacement=True)
    by_width, at_random = (
        simulate(instance, params={"rule": rule}, runs=20, seed=2) for rule in ("radius", "random")
    )
    assert by_width.wrong == 0
    assert by_width.samples.mean() < 1.5 * at_random.samples.mean()


@pytest.mark.parametrize("rule", ["radius", "random", "both"])
def test_no_rule_scores_more_items_than_there_are(rule):
    table = (np.random.default_rng(6).random((12, 30)) < 0.5).astype(float)
    instance = replay(table, k=11, without_replacement=True)
    result = simulate(instance, params={"rule": rule}, runs=10, seed=2)
    assert (result.wrong, result.unfinished) == (0, 0)
    assert result.samples.max() <= table.size
