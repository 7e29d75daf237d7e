"""Error rates and sample counts that a wrong constant would change.

Seeds are fixed. A test fails only if what it saw would have had probability below 1e-6 under its
hypothesis, so that a failure is a bug.
"""

import math

import pytest
from scipy import stats

import bestk

TAIL = 1e-6

PROVED = [
    ("lil-rand-lucb", "faithful"),
    ("lil-clucb", "faithful"),
    ("lil-lucb", "faithful"),
    ("lucb++", "faithful"),
    ("uniform", "faithful"),
    ("lucb", None),
    ("clucb", None),
    ("ugape", None),
    ("e-lucb", None),
    ("e-clucb", None),
]

HARD = {
    "two arms": ([0.3, 0.0], 1, 0.0),
    "equal gaps": ([0.4, 0.4, 0.4, 0.0, 0.0, 0.0], 3, 0.0),
    "slack": ([0.4, 0.25, 0.0, 0.0], 1, 0.1),
}


@pytest.mark.compiled
@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize(("policy", "variant"), PROVED)
def test_a_proved_policy_errs_at_most_nu(policy, variant, case):
    # hypothesis: P(wrong) <= nu = 0.1 on each instance; 2,000 runs
    means, k, epsilon = HARD[case]
    result = bestk.simulate(
        means, policy, variant, k=k, delta=0.1, epsilon=epsilon, runs=2000, seed=11
    )
    assert result.unfinished == 0
    assert stats.binom.sf(result.wrong - 1, result.runs, 0.1) > TAIL, result.wrong


@pytest.mark.compiled
@pytest.mark.parametrize(("policy", "variant"), PROVED)
def test_a_proved_policy_errs_at_most_nu_on_coins(policy, variant):
    # the same for Bernoulli rewards near the edge; the best arm is last, so ties work against it
    result = bestk.simulate(
        [0.02, 0.02, 0.3],
        policy,
        variant,
        k=1,
        delta=0.1,
        rewards=bestk.Bernoulli(),
        runs=2000,
        seed=12,
    )
    assert result.unfinished == 0
    assert stats.binom.sf(result.wrong - 1, result.runs, 0.1) > TAIL, result.wrong


# mean samples and standard error of an independent simulation of 1000 runs: 1-sparse, N=100, K=2
SANITY = [
    ("lil-rand-lucb", "faithful", 9611, 19),
    ("lil-rand-lucb", "heuristic", 3468, 11),
    ("lucb++", "heuristic", 3696, 9),
    ("lil-lucb", "heuristic", 5172, 11),
    ("lil-clucb", "heuristic", 6541, 29),
]


@pytest.mark.compiled
@pytest.mark.parametrize(("policy", "variant", "mean", "error"), SANITY)
def test_sample_counts_agree_with_an_independent_simulation(policy, variant, mean, error):
    result = bestk.simulate("1-sparse", policy, variant, arms=100, k=2, runs=1000, seed=2)
    assert abs(result.mean - mean) <= 5 * math.hypot(result.sem, error)
    assert result.wrong == 0


@pytest.mark.compiled
def test_no_proved_policy_beats_the_lower_bound():
    for policy, variant in PROVED:
        result = bestk.simulate("1-sparse", policy, variant, arms=20, k=2, runs=50)
        assert result.mean > result.lower_bound
