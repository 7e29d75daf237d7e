"""Successive elimination against its pseudocode (K = 1), and on the K best."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from bestk import Gaussian, InputError
from bestk.policies.fixed_confidence.successive_elimination import SuccessiveElimination
from helpers.driven import exact, normal, play, question


def written_out(table, delta, c=5.0):
    """Algorithm 3 of Even-Dar, Mannor and Mansour (2006), rewards in [0, 1]."""
    n, t, left = len(table), 1, list(range(len(table)))
    while True:
        means = {a: float(np.mean(table[a][:t])) for a in left}
        alpha = math.sqrt(math.log(c * n * t * t / delta) / t)
        left = [a for a in left if max(means.values()) - means[a] < 2 * alpha]
        if len(left) == 1:
            return left, t
        t += 1


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_the_paper_says(seed):
    rng = np.random.default_rng(seed)
    table = (rng.random((4, 3000)) < np.array([[0.9], [0.2], [0.1], [0.4]])).astype(float)
    seen = np.zeros(4, int)

    def draw(_, arm):
        seen[arm] += 1
        return table[arm, seen[arm] - 1]

    answer, pulls = play(SuccessiveElimination(), question(4, 1, rewards=Gaussian(0.5)), draw)
    assert (answer, pulls.max()) == written_out(table, 0.05)


def test_arms_leave_at_both_ends_of_the_race():
    means = [1.0, 0.9, 0.5, 0.4, 0.0]
    answer, pulls = play(SuccessiveElimination(), question(5, 2), exact(means))
    assert answer == [0, 1]
    assert pulls[4] < pulls[3] < pulls[1]
    assert pulls[0] < pulls[1] == pulls[2]


def test_a_slack_ends_the_race_early():
    draw = normal([0.5, 0.45, 0.0])
    short = play(SuccessiveElimination(), question(3, 1, epsilon=0.3), draw)[1]
    assert short.sum() < 2000  # without it, 0.05 apart: some 40,000


def test_it_errs_no_more_often_than_it_may():
    wrong = sum(
        play(SuccessiveElimination(), question(4, 2, delta=0.2), normal([1, 0.9, 0.2, 0]), s)[0]
        != [0, 1]
        for s in range(40)
    )
    assert wrong <= binom.ppf(1 - 1e-6, 40, 0.2)


def test_a_constant_without_a_theorem_is_refused():
    with pytest.raises(InputError, match="above 4"):
        SuccessiveElimination().start(question(3, 1, c=4.0), None)
