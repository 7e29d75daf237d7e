"""e-lucb and e-clucb err at most as often as they say, and always come to an end.

Seeds are fixed. A test fails only if what it saw would have had probability below 1e-6 under its
hypothesis, so that a failure is a bug.
"""

import pytest
from scipy import stats

import bestk

pytestmark = pytest.mark.compiled

TAIL = 1e-6


def test_e_lucb_ends_and_errs_at_most_nu_on_equal_gaps():
    """H: P(wrong) <= nu = 0.1; 3,000 runs.

    Ten arms with equal gaps: without forced exploration 2 of 3,000 such runs never end, because a
    wrong arm of High with a lower bound by luck too high is never sampled again.
    """
    means = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    result = bestk.simulate(means, "e-lucb", k=3, delta=0.1, runs=3000, seed=13, max_samples=10**7)
    assert result.unfinished == 0
    assert stats.binom.sf(result.wrong - 1, result.runs, 0.1) > TAIL, result.wrong
    assert result.mean > result.lower_bound


SQUARE = bestk.SpanningTree([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
HARD = {
    "two arms": ([0.4, 0.0], {"k": 1}),
    "slack": ([0.4, 0.25, 0.0, 0.0], {"k": 1, "epsilon": 0.1}),
    "dependent arms": ([0.4, 0.0, 0.0], {"k": 1, "params": {"independent": False}}),
    "coins, best last": ([0.02, 0.02, 0.3], {"k": 1, "rewards": bestk.Bernoulli()}),
    "least of coins": ([0.9, 0.98, 0.6], {"k": 1, "rewards": bestk.Bernoulli(), "maximize": False}),
    "tree": ([0.5, 0.5, 0.5, 0.0, 0.0], {"decision": SQUARE}),
}


@pytest.mark.parametrize("case", HARD)
def test_a_proved_policy_errs_at_most_nu(case):
    """H: P(wrong) <= nu = 0.1; 1,000 runs."""
    means, settings = HARD[case]
    result = bestk.simulate(means, delta=0.1, runs=1000, seed=14, max_samples=10**7, **settings)
    assert result.problem.policy in ("e-lucb", "e-clucb")
    assert result.unfinished == 0
    assert stats.binom.sf(result.wrong - 1, result.runs, 0.1) > TAIL, result.wrong
