"""Validity by looking at everything that can happen: every outcome, every stopping and sampling.

For a few samples of few values all outcomes are enumerated with their exact probabilities. Backward
induction finds the stopping time, and the rule that chooses arms, that make the most of evidence:
not even that may lift the expectation of a supermartingale above its start, or the probability of a
wrong certificate above nu.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from bestk.bounds.levels import hybrid_weights
from bestk.decisions import TopK
from bestk.policies import configure
from bestk.policies.stepper import Stepper
from bestk.rewards import Bernoulli, Ratings
from bestk.rewards.evidence import Setting
from helpers.compiled import CompiledEvidence
from helpers.lockstep import load

ev = CompiledEvidence()
SIDES = (ev.PLUS, ev.MINUS)
STARS = (-1.0, 0.5, 1.0)
NOTHING = (0, 0, 0)
TWO_SIDED = "coins by the Beta mixture"

# rewards, their values and probabilities: means in the middle and near both ends
COINS = [
    (rewards, (0.0, 1.0), (1 - p, p))
    for rewards in (Bernoulli(), TWO_SIDED)
    for p in (0.001, 0.02, 0.3, 0.5, 0.9, 0.999)
]
RATED = [
    (Ratings(STARS), STARS, shares)
    for shares in (
        (0.2, 0.3, 0.5),
        (0.998, 0.0, 0.002),
        (0.01, 0.98, 0.01),
        (0.001, 0.009, 0.99),
        (0.6, 0.4, 0.0),
    )
]
SOURCES = COINS + RATED


@cache
def evidence_for(rewards):
    if rewards == TWO_SIDED:
        return Bernoulli().policy_evidence(Setting(bets=False))
    return rewards.policy_evidence(Setting())


def evidence_of(rewards, values, counts, sign, c) -> float:
    """E of one side at c, for so many of each value."""
    t, s = float(sum(counts)), math.fsum(n * x for n, x in zip(counts, values, strict=True))
    row = np.array([[*counts, 0]], np.int64)  # no holes
    return math.exp(ev.log_evidence(evidence_for(rewards), sign, t, s, 0.0, row, 0, c)[0])


def dominating(rewards, values, counts, sign, mean) -> float:
    """L, which depends on the true mean: E there; of the Beta mixture the two-sided one."""
    if sum(counts) == 0:
        return 1.0
    if rewards == TWO_SIDED:
        return max(evidence_of(rewards, values, counts, side, mean) for side in SIDES)
    return evidence_of(rewards, values, counts, sign, mean)


def more(counts, x) -> tuple[int, ...]:
    return tuple(n + (i == x) for i, n in enumerate(counts))


def mean_of(values, shares) -> float:
    return math.fsum(x * p for x, p in zip(values, shares, strict=True))


# --- one arm --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize(("rewards", "values", "shares"), SOURCES)
def test_no_stopping_time_lifts_the_dominating_process(rewards, values, shares, sign):
    """Depth 9: at every node the step ahead is no gain, and so is the best stopping time."""
    mean = mean_of(values, shares)
    outcomes = [x for x in range(len(values)) if shares[x] > 0.0]

    @cache
    def process(counts) -> float:
        return dominating(rewards, values, counts, sign, mean)

    @cache
    def best(counts, left) -> float:
        if left == 0:
            return process(counts)
        ahead = math.fsum(shares[x] * process(more(counts, x)) for x in outcomes)
        assert ahead <= process(counts) * (1.0 + 1e-12)
        later = math.fsum(shares[x] * best(more(counts, x), left - 1) for x in outcomes)
        return max(process(counts), later)

    nothing = NOTHING[: len(values)]
    assert process(nothing) == 1.0
    assert best(nothing, 9) <= 1.0 + 1e-12


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize(("rewards", "values", "shares"), SOURCES)
def test_it_dominates_evidence_at_every_candidate_beyond_the_mean(rewards, values, shares, sign):
    mean, low, high = mean_of(values, shares), values[0], values[-1]
    end = high if sign > 0 else low
    candidates = mean + (end - mean) * np.array([0.0, 1e-9, 1e-3, 0.1, 0.4, 0.8, 0.999, 1.0])
    level = {NOTHING[: len(values)]}
    for _ in range(9):
        level = {more(counts, x) for counts in level for x in range(len(values)) if shares[x] > 0.0}
        for counts in level:
            top = dominating(rewards, values, counts, sign, mean)
            found = [evidence_of(rewards, values, counts, sign, c) for c in candidates]
            assert max(found) <= top * (1.0 + 1e-12)
            assert found == sorted(found, reverse=True)


# --- several arms ---------------------------------------------------------------------------------

TWO_COINS = [((0.6,), (0.4,)), ((0.99,), (0.97,)), ((0.5,), (0.5,))]
THREE_COINS = [((0.6,), (0.5, 0.1)), ((0.9, 0.9), (0.05,))]


@pytest.mark.parametrize(("top", "rest"), TWO_COINS + THREE_COINS)
def test_no_rule_that_chooses_arms_lifts_the_sum_of_both_sides_and_their_product(top, rest):
    """w1 A + w2 B + w3 A B from 1, for the best rule of 12 samples (3 arms: 8), all stops."""
    means, k, n = top + rest, len(top), len(top) + len(rest)
    w1, w2, w3, *_ = hybrid_weights(n, k, True)
    start, depth = ((0, 0),) * n, 12 if n == 2 else 8

    @cache
    def one(arm, counts) -> float:
        sign = ev.MINUS if arm < k else ev.PLUS
        return dominating(Bernoulli(), (0.0, 1.0), counts, sign, means[arm])

    def process(arms) -> float:
        a = math.fsum(one(i, arms[i]) for i in range(k)) / k
        b = math.fsum(one(i, arms[i]) for i in range(k, n)) / (n - k)
        return w1 * a + w2 * b + w3 * a * b

    @cache
    def best(arms, left) -> float:
        now = process(arms)
        if left == 0:
            return now
        return max(now, *(expected(best, arms, left, i, means[i]) for i in range(n)))

    assert process(start) == pytest.approx(1.0, rel=1e-14)
    assert best(start, depth) <= 1.0 + 1e-12


def expected(value, arms, left, i, p) -> float:
    """What the next sample of coin i is worth."""
    zero, one = ((*arms[:i], more(arms[i], x), *arms[i + 1 :]) for x in (0, 1))
    return (1 - p) * value(zero, left - 1) + p * value(one, left - 1)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("means", "k", "epsilon", "depth"),
    [
        ((0.5, 0.5 - 1e-9), 1, 0.0, 22),
        ((0.9, 0.85), 1, 0.0, 22),
        ((0.5, 0.2), 1, 0.25, 22),
        ((0.5, 0.5 - 1e-9, 0.1), 1, 0.0, 12),
        ((0.6, 0.55, 0.5), 2, 0.0, 12),
    ],
)
def test_no_rule_that_chooses_arms_certifies_a_wrong_answer_more_often_than_nu(
    means, k, epsilon, depth
):
    """The kernel's own certificate of coins, at nu = 1/2 so that few samples can go wrong."""
    n, nu = len(means), 0.5
    decision = TopK(n, k)
    settings = {"decision": decision, "delta": nu, "epsilon": epsilon, "seed": 0}
    configured = configure("e-lucb", rewards=Bernoulli(), **settings)
    kernel = Stepper(decision, configured)
    threshold = sorted(means, reverse=True)[k - 1] - epsilon

    @cache
    def is_wrong(arms) -> bool:
        load(kernel, [(zeros + ones, float(ones)) for zeros, ones in arms])
        wrong = any(means[i] < threshold for i in kernel.answer())
        return wrong and kernel.machine.call("is_certified")

    @cache
    def worst(arms, left) -> float:
        if min(map(sum, arms)) > 0 and is_wrong(arms):
            return 1.0
        if left == 0:
            return 0.0
        return max(expected(worst, arms, left, i, means[i]) for i in range(n))

    found = worst(((0, 0),) * n, depth)
    assert 0.005 < found <= nu
