"""Track-and-Stop, EB-TC and TTTS: thresholds, the pairs kept, and what is sampled."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from bestk import Bernoulli, difficulty
from bestk.policies.fixed_confidence import thresholds
from bestk.policies.fixed_confidence.eb_tc import EBTC
from bestk.policies.fixed_confidence.families import Coins, Normal
from bestk.policies.fixed_confidence.track_and_stop import TrackAndStop
from bestk.policies.fixed_confidence.ttts import TTTS
from helpers.driven import coins, exact, normal, play, question

POLICIES = [TrackAndStop, EBTC, TTTS]


@pytest.mark.parametrize("x", [0.1, 1.0, 5.0, 20.0])
def test_the_constants_of_the_thresholds_agree_with_many_digits(x):
    with mpmath.workdps(30):

        def inverse(y):  # the larger root of u - log u = y
            return -mpmath.lambertw(-mpmath.exp(-y), -1).real

        def tilde(y):
            z = mpmath.mpf(3) / 2
            bend = 1 / mpmath.log(z)
            if y < bend - mpmath.log(bend):
                return z * (y - mpmath.log(mpmath.log(z)))
            return mpmath.exp(1 / inverse(y)) * inverse(y)

        wanted = 2 * tilde((inverse(1 + mpmath.mpf(x)) + mpmath.log(2 * mpmath.zeta(2))) / 2)
        assert thresholds.c_exp(x) == pytest.approx(float(wanted), rel=1e-9)

        def bound(lam):
            g = 2 * lam - 2 * lam * mpmath.log(4 * lam) + mpmath.log(mpmath.zeta(2 * lam))
            return (g - mpmath.log(1 - lam) / 2 + x) / lam

        least = min(bound(mpmath.mpf(i) / 400) for i in range(202, 400))
        assert thresholds.c_normal(x) == pytest.approx(float(least), rel=1e-3)


def test_pairs_stay_below_the_threshold_as_often_as_is_proved():
    """Two arms, 300 samples of each in turn: the sum of both divergences, 4,000 times."""
    rng, runs, n, x = np.random.default_rng(1), 4000, np.arange(1, 301), math.log(5)
    half = rng.normal(size=(runs, 2, 300)).cumsum(axis=2) ** 2 / (2 * n)
    line = 4 * np.log(4 + np.log(n)) + 2 * thresholds.c_normal(x / 2)
    crossed = int((half.sum(axis=1) > line).any(axis=1).sum())
    assert crossed <= binom.ppf(1 - 1e-6, runs, math.exp(-x))


@pytest.mark.parametrize("family", [Normal(0.5), Coins(True)])
def test_the_cost_of_a_pair_is_the_least_over_common_means(family):
    n, m, o, r = 7.0, 0.8, 3.0, 0.3
    c = np.linspace(r, m, 100_001)

    def d(p):
        if isinstance(family, Normal):
            return (p - c) ** 2 / 0.5
        return p * np.log(p / c) + (1 - p) * np.log((1 - p) / (1 - c))

    parts = n * d(m), o * d(r)
    least = int((parts[0] + parts[1]).argmin())
    found = family.costs(*(np.array([v]) for v in (n, m, o, r)))[0]
    assert found == pytest.approx(parts[0][least] + parts[1][least], rel=1e-6)
    assert family.share(n, m, o, r) == pytest.approx(parts[0][least] / found, rel=1e-3)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_pairs_kept_are_those_computed_anew(policy):
    class Checked(policy):
        def choose(self):
            m, n = self.means, self.counts
            order = np.argsort(-m, kind="stable")
            cost = {
                (i, j): (m[i] - m[j]) ** 2 / (0.5 * (1 / n[i] + 1 / n[j]))
                for i, j in product(order[: self.k].tolist(), order[self.k :].tolist())
            }
            assert len(cost) == self.z.size
            for a, b in np.ndindex(*self.z.shape):
                assert self.z[a, b] == pytest.approx(cost[self.top[a], self.rest[b]], abs=1e-12)
            assert cost[self.worst()] == pytest.approx(min(cost.values()))
            return super().choose()

    play(Checked(), question(5, 2), normal([0.9, 0.8, 0.3, 0.2, 0.0]))


def test_tracking_comes_close_to_the_best_shares():
    means = [0.9, 0.7, 0.5, 0.3, 0.0]
    _, pulls = play(TrackAndStop(), question(5, 2, delta=1e-40), exact(means))
    hard = difficulty(means, 2)
    assert pulls.sum() > 500
    assert np.abs(pulls / pulls.sum() - hard.shares).max() < 0.03


def test_two_draws_choose_leader_and_challenger_as_russo_says():
    """K = 1: P(leader i, challenger j) = P(i best) P(j best) / (1 - P(i best))."""
    policy, rng = TTTS(), np.random.default_rng(2)
    policy.start(question(3, 1), rng)
    policy.counts[:], policy.sums[:] = [4, 4, 4], [4.0, 3.2, 2.4]
    draws = rng.normal([1.0, 0.8, 0.6], 0.25, (400_000, 3)).argmax(axis=1)
    best = np.bincount(draws, minlength=3) / len(draws)
    runs = 3000
    found = [policy.pair() for _ in range(runs)]
    for i, j in product(range(3), range(3)):
        chance = best[i] * best[j] / (1 - best[i]) if i != j else 0.0
        many = found.count((i, j))
        assert (
            binom.ppf(5e-7, runs, 0.98 * chance)
            <= many
            <= binom.ppf(1 - 5e-7, runs, min(1.02 * chance, 1))
        )


def test_information_takes_the_less_sampled_of_the_pair_more_often():
    policy = EBTC()
    policy.start(question(2, 1, select="ids"), np.random.default_rng(0))
    policy.counts[:], policy.sums[:], policy.t = [30, 10], [30.0, 0.0], 40
    policy._update()
    leaders = sum(policy.choose() == 0 for _ in range(2000))
    assert binom.ppf(5e-7, 2000, 0.25) <= leaders <= binom.ppf(1 - 5e-7, 2000, 0.25)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("rewards", ["normal", "coins", "costs"])
def test_they_err_no_more_often_than_they_may(policy, rewards):
    means, delta = [0.2, 0.9, 0.8], 0.1
    runs = 6 if policy is TrackAndStop else 25  # w* of coins takes 10 ms and more
    of_coins, sign = rewards != "normal", -1.0 if rewards == "costs" else 1.0
    draw = coins(means) if of_coins else normal(means)
    problem = question(
        3, 2 if sign > 0 else 1, rewards=Bernoulli() if of_coins else None, delta=delta,
        maximize=sign > 0,
    )  # fmt: skip
    right = [1, 2] if sign > 0 else [0]
    wrong = sum(
        play(policy(), problem, lambda rng, arm: sign * draw(rng, arm), seed)[0] != right
        for seed in range(runs)
    )
    assert wrong <= binom.ppf(1 - 1e-6, runs, delta)
