"""The hybrid stop on any statistics: never without enough evidence, hardly ever later.

Brute force (`naive_hybrid.py`) looks at thousands of c and at every pair of arms.
"""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bestk.compiled.live import Machine
from bestk.decisions import PartitionMatroid, SpanningTree, TopK
from bestk.kernels.types import WITNESS_IN, WITNESS_OUT
from helpers import feasible
from helpers.compiled import kernels
from helpers.lockstep import FAMILIES, Problem, load, play
from reference import naive
from reference.naive_evidence import bound

fixed = settings(max_examples=60, suppress_health_check=list(HealthCheck))
every_family = pytest.mark.parametrize("family", FAMILIES)

SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
GROUPS, CAPACITIES = list("xxyyyx"), {"x": 1, "y": 2}
MATROIDS = {
    "spanning-tree": (SpanningTree(SQUARE), feasible.spanning_trees(SQUARE)),
    "partition": (PartitionMatroid(GROUPS, CAPACITIES), feasible.partition(GROUPS, CAPACITIES)),
}


# --- any statistics -------------------------------------------------------------------------------


@st.composite
def summaries(draw, family, n):
    """What was seen of n arms, as evidence reads it.

    Any shares, or such that every arm is about as far from one half as its bound is wide: then few
    samples of an arm far away and many of one nearby leave different c in doubt.
    """
    levels = {"ratings": 3, "bounded": 65, "ranged": 65}.get(family, 0)
    width = 2.6 if family == "wide" else 1.0
    critical, found = draw(st.booleans()), []
    for _ in range(n):
        t = draw(st.sampled_from([1, 2, 4, 8, 20, 60, 200, 700, 2500]))
        if critical:
            away = draw(st.floats(0.7, 1.4)) * width * 1.5 / math.sqrt(t)
            share = 0.5 + draw(st.sampled_from([-1.0, 1.0])) * away
        else:
            share = draw(st.sampled_from([0.0, 0.1, 0.3, 0.7, 0.9, 1.0]))
            share += draw(st.floats(-0.1, 0.1))
        if family in ("gaussian", "wide"):
            found.append((t, t * share))
            continue
        share = min(max(share, 0.0), 1.0)
        if family == "bernoulli":
            found.append((t, float(round(t * share))))
            continue
        top, middle = round(t * share), draw(st.integers(0, levels - 1))
        counts = [0] * levels
        few = draw(st.sampled_from([0, 0, 1, 3]))  # out of four, at a level in between
        counts[-1], counts[0] = top - top * few // 4, t - top - (t - top) * few // 4
        counts[middle] += t - sum(counts)
        found.append(tuple(counts))
    return found


def certified(kernel, epsilon) -> bool:
    """At that slack of a single pair, as if never asked before."""
    kernel.state.clock[WITNESS_IN] = kernel.state.clock[WITNESS_OUT] = -1
    return kernel.machine.at(epsilon).call("is_certified")


def brute_force(slow, pairs, epsilon) -> float:
    """The least left side over all pairs and c at that slack; 1 is enough."""
    slow.epsilon = epsilon
    family = slow.family
    ends = {bound(family, 1, slow.seen[i], slow.levels.high) for i, _ in pairs}
    ends |= {bound(family, -1, slow.seen[j], slow.levels.low) - epsilon for _, j in pairs}
    means = {family.mean(seen) - shift for seen in slow.seen for shift in (0.0, epsilon)}
    low, high = max(family.low, min(ends) - 1.0), min(family.high - epsilon, max(ends) + 1.0)
    near = [x + d for x in ends | means for d in (-1e-3, -1e-6, 0.0, 1e-6, 1e-3)]
    c = np.concatenate(
        [np.linspace(low, high, 1500), np.linspace(min(ends), max(ends), 1500), near]
    )
    c = np.unique(c[(c >= family.low) & (c <= family.high - epsilon)])
    return slow.least_at(pairs, c) if c.size else math.inf


def check(problem, seen, share) -> bool:
    """Kernel against brute force, at random slacks and at the boundary; did the product help?"""
    kernel, slow = problem.stepper(), problem.naive(0)
    load(kernel, seen)
    slow.seen = seen
    top = kernel.answer()
    if problem.sets is None:
        assert top == naive.best([slow.family.mean(x) for x in seen], problem.decision.k)
        exchanges, pairs = 1, list(product(top, naive.others(top, problem.n)))
    else:
        exchanges, pairs = min(len(top), problem.n - len(top)), slow.pairs(top)
    split = max(0.0, kernel.machine.call("slack")) / exchanges
    least = kernel.certifiable_epsilon / exchanges
    assert 0.0 <= least <= split
    for epsilon in (0.0, share, least, 0.97 * least, share * split):
        found, reached = certified(kernel, epsilon), brute_force(slow, pairs, epsilon)
        assert not found or reached >= 1.0 - 1e-9, (epsilon, reached)
        assert found or reached < 1.05, (epsilon, reached)
        exact = epsilon == 0.0 and kernel.spec.log_exact > kernel.spec.log_both
        if found and not exact:  # then at every larger slack
            assert all(certified(kernel, more * epsilon + 1e-4) for more in (1.03, 2.0, 50.0))
    assert certified(kernel, least)
    assert least < 1e-9 or not certified(kernel, 0.99 * least)
    # the product only helps, and without it the bounds decide
    alone = kernel.spec._replace(log_both=-math.inf, hybrid=False, pairs=False)
    with kernels(pytest.MonkeyPatch, "never"):  # a program that is called twice is not compiled
        machine = Machine(alone, kernel.state)
        for more in (0.99, 1.0 + 1e-9) if split > 0.0 else ():
            assert machine.at(more * split).call("is_certified") == (more > 1.0)
    return least < 0.95 * split


@every_family
@pytest.mark.compiled
def test_e_lucb_is_certified_when_brute_force_says_so(family):
    helped = []

    @fixed
    @given(st.data(), st.integers(2, 5), st.sampled_from([0.01, 0.1, 0.4]), st.floats(0.01, 0.99))
    def claim(data, n, nu, share):
        seen = data.draw(summaries(family, n))
        problem = Problem(TopK(n, data.draw(st.integers(1, n - 1))), family, [], nu=nu)
        helped.append(check(problem, seen, share))

    claim()
    assert sum(helped) > 20


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ratings"])
@pytest.mark.parametrize("kind", MATROIDS)
def test_e_clucb_is_certified_when_brute_force_says_so(kind, family):
    decision, sets = MATROIDS[kind]
    helped = []

    @settings(fixed, max_examples=30)
    @given(summaries(family, decision.n_arms), st.sampled_from([0.01, 0.3]), st.floats(0.01, 0.99))
    def claim(seen, nu, share):
        problem = Problem(decision, family, [], sets, policy="e-clucb", nu=nu)
        helped.append(check(problem, seen, share))

    claim()
    assert sum(helped) > 5


@every_family
def test_loaded_statistics_are_those_of_rewards_told(family):
    """So that the claims above are about what a user can bring about."""
    dice = random.Random(5)
    problem = Problem(TopK(4, 2), family, [0.2, 0.8, 0.5, 0.6], cap=120)
    told, loaded = problem.stepper(), problem.stepper()
    slow = problem.naive(0)
    told.reset(0)
    for _ in range(30):
        for arm in dice.sample(range(4), 4):
            reward = FAMILIES[family][1](dice, problem.means[arm])
            told.tell(arm, reward)
            slow.tell(arm, reward)
    load(loaded, slow.seen)
    assert told.answer() == loaded.answer()
    assert told.certifiable_epsilon == pytest.approx(loaded.certifiable_epsilon, rel=2e-3)
    for one, two in ((told.state.ends, loaded.state.ends), (told.state.sums, loaded.state.sums)):
        known = ~np.isnan(two)
        np.testing.assert_allclose(one[known], two[known], rtol=1e-8, atol=1e-9)


# --- a whole run ----------------------------------------------------------------------------------


@every_family
def test_the_product_never_makes_a_run_longer(family):
    """Same levels, same coins, same rewards: the same rounds until the hybrid stop."""
    problem, earlier = Problem(TopK(4, 2), family, [0.9, 0.1, 0.8, 0.2], nu=0.1, cap=3000), 0
    for run in range(5):
        rounds = {}
        for product_counts in (True, False):
            kernel = problem.stepper()
            if not product_counts:
                alone = kernel.spec._replace(log_both=-math.inf, hybrid=False, pairs=False)
                kernel.machine = Machine(alone, kernel.state)
            rounds[product_counts] = []
            assert play(
                problem, run, kernel, lambda *x, into=rounds[product_counts]: into.append(x)
            )
            assert kernel.answer() == [0, 2]
        short, long = rounds[True], rounds[False]
        assert short[:-1] == long[: len(short) - 1]
        earlier += len(short) < len(long)
    assert earlier >= 3


@every_family
@pytest.mark.compiled
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_run_that_stopped_is_certified_at_its_slack(family, epsilon):
    problem = Problem(TopK(4, 1), family, [0.9, 0.1, 0.3, 0.2], nu=0.1, epsilon=epsilon, cap=3000)
    kernel = problem.stepper()
    for run in range(3):
        before = []

        def watch(_, reward, before=before):
            if reward is None and min(kernel.state.counts) > 0 and len(before) < 40:
                before.append(kernel.certifiable_epsilon)

        assert play(problem, run, kernel, watch)
        assert kernel.certifiable_epsilon <= 1.001 * epsilon + 1e-9
        assert max(before) > epsilon
        assert not np.isnan(before).any()


# --- wild rewards ---------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["e-lucb", "e-clucb"])
def test_no_reward_and_no_count_makes_a_nan(policy):
    """Sums up to 1e12 at sigma 1/2, means far apart and alike, counts from 1 to a million."""
    decision, sets = (TopK(6, 2), None) if policy == "e-lucb" else MATROIDS["spanning-tree"]
    kernel = Problem(decision, "gaussian", [], sets, policy=policy, nu=1e-6).stepper()
    dice = random.Random(6)
    for _ in range(300):
        counts = [dice.choice([1, 2, 1000, 10**6]) for _ in range(6)]
        means = [dice.choice([-1e6, -1e6 + 1e-3, 0.0, 1e-9, 1.0, 1e6]) for _ in range(6)]
        load(kernel, [(t, t * m) for t, m in zip(counts, means, strict=True)])
        state = kernel.state
        least = kernel.certifiable_epsilon
        assert 0.0 <= least <= kernel.machine.call("slack") * (1 + 1e-12) or least == 0.0
        assert set(kernel.ask()) <= set(range(6))
        assert not np.isnan(state.keys).any()
        assert not np.isnan(state.weights).any()


def test_a_hopeless_and_a_certain_answer_are_told_apart_at_any_scale():
    for family, seen in (
        ("gaussian", lambda t, high: (t, t * (1e6 if high else -1e6))),
        ("bernoulli", lambda t, high: (t, float(t) if high else 0.0)),
        ("ratings", lambda t, high: (0, 0, t) if high else (t, 0, 0)),
    ):
        kernel = Problem(TopK(3, 1), family, []).stepper()
        for t in (100, 10**4, 10**6):
            load(kernel, [seen(t, True), seen(t, False), seen(t, False)])
            assert certified(kernel, 0.0)
            load(kernel, [seen(t, True), seen(t, True), seen(t, False)])
            assert not certified(kernel, 0.0)


# --- who failed last is asked first ---------------------------------------------------------------


def test_a_pair_that_is_no_exchange_any_more_refutes_nothing():
    """Arm 4 replaces arm 0 in the first tree, not in the last: to have asked makes no change."""
    square = SpanningTree([(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)])
    found = []
    for asks in (False, True):
        kernel = Problem(square, "gaussian", [], [], policy="e-clucb", nu=0.1).stepper()
        kernel.reset(0)
        for arm, mean in enumerate([0.5, 1.0, 0.2, 1.0, 0.45]):
            for _ in range(10):
                kernel.tell(arm, mean)
        if asks:
            assert kernel.ask() != []
        for arm, mean in enumerate([0.5, -1.0, 2.0, 1.0, 0.45]):
            for _ in range(30):
                kernel.tell(arm, mean)
        found.append((kernel.answer(), kernel.certifiable_epsilon, kernel.ask()))
    assert found[0] == found[1]


def test_a_slack_beyond_the_range_of_rewards_is_not_refuted_by_a_smaller_one():
    """All rewards at the top: no rival's mean is above it, whatever its evidence there."""
    for family, seen in (("bernoulli", [(2, 2.0), (1, 1.0)]), ("ratings", [(0, 0, 9), (0, 0, 4)])):
        kernel = Problem(TopK(2, 1), family, [], nu=0.01).stepper()
        load(kernel, seen)
        least = kernel.certifiable_epsilon
        assert not certified(kernel, 0.99 * least)
