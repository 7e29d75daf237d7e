"""KL-LUCB and KL-racing: bounds to many digits, exploration rates that add up, and pseudocode."""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import zeta

from bestk import Bernoulli, InputError
from bestk.policies.fixed_confidence import kl_lucb, kl_racing
from bestk.policies.fixed_confidence.kl_bounds import bounds, upper
from bestk.policies.fixed_confidence.kl_lucb import KLLUCB
from bestk.policies.fixed_confidence.kl_racing import KLRacing
from helpers.driven import coins, play, question

COINS = Bernoulli()


def kl(p, q):
    p, q = mpmath.mpf(p), mpmath.mpf(q)
    if q == 1 and p < 1:
        return mpmath.inf
    first = p * mpmath.log(p / q) if p else 0
    return first + ((1 - p) * mpmath.log((1 - p) / (1 - q)) if p < 1 else 0)


@pytest.mark.parametrize("p", [0.0, 1e-6, 0.01, 0.3, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("level", [1e-8, 1e-3, 0.1, 1.0, 7.0, 30.0])
def test_upper_bounds_agree_with_fifty_digits(p, level):
    found = upper(np.array([p]), np.array([level]))[0]
    if p == 1.0:
        assert found == 1.0
        return
    with mpmath.workdps(50):
        low, high = mpmath.mpf(p), mpmath.mpf(1)
        for _ in range(160):
            middle = (low + high) / 2
            low, high = (middle, high) if kl(p, middle) <= level else (low, middle)
        assert float(abs(found - low)) <= 1e-10
        assert float(low - found) <= 1e-12  # hardly ever inside


def test_lower_bounds_mirror_upper_ones():
    means, level = np.array([0.2, 0.2]), np.array([0.4, 0.4])
    found = bounds(means, level, np.array([True, False]))
    assert found[0] == pytest.approx(1 - upper(np.array([0.8]), np.array([0.4]))[0], abs=1e-12)
    assert found[0] < 0.2 < found[1]


def test_the_rate_of_kl_lucb_is_a_union_bound():
    """P(an arm leaves its bound in round t) <= e ceil(beta log t) exp(-beta), all rounds."""
    alpha, k1, n_arms, delta = 1.1, 405.5, 2, 0.5
    assert 405.4 < kl_lucb.least_k1(alpha) < k1
    rounds = np.arange(2, 200_000)
    beta = np.array([kl_lucb.beta(int(t), delta, n_arms, alpha, k1) for t in rounds])
    total = math.exp(-kl_lucb.beta(1, delta, n_arms, alpha, k1))
    total += float((math.e * np.ceil(beta * np.log(rounds)) * np.exp(-beta)).sum())
    # beyond: ceil(beta log t)/x <= (1 + 1/e) log t + 1/x, under the integral of t^-alpha
    last, x = float(rounds[-1]), math.log(k1 * n_arms / delta)
    power = last ** (1 - alpha) / (alpha - 1)
    logs = power * (math.log(last) + 1 / (alpha - 1))
    total += math.e * delta / (k1 * n_arms) * ((1 + 1 / math.e) * logs + power / x)
    assert n_arms * total <= delta


def test_the_rate_of_kl_racing_is_a_union_bound():
    assert zeta(1.1) <= 1 + 1 / 0.1 < 11.1  # sum of t^-alpha
    assert kl_racing.beta(7, 0.1, 5, 1.1, 11.1) == pytest.approx(math.log(11.1 * 5 * 7**1.1 / 0.1))


def bound(p, n, beta, side):
    """By bisection."""
    near, far = p, 1.0 if side > 0 else 0.0
    for _ in range(60):
        middle = (near + far) / 2
        inside = n * float(kl(p, middle)) <= beta if middle not in (0.0, 1.0) else False
        near, far = (middle, far) if inside else (near, middle)
    return near


def lucb_written_out(table, k, delta, epsilon):
    """Algorithm 2, slowly."""
    n_arms = len(table)
    seen, t = [1] * n_arms, 1
    while True:
        mean = [float(np.mean(table[a][: seen[a]])) for a in range(n_arms)]
        order = sorted(range(n_arms), key=lambda a: (-mean[a], a))
        x = math.log(405.5 * n_arms * t**1.1 / delta)
        beta = x + math.log(x)
        up = {a: bound(mean[a], seen[a], beta, 1) for a in order[k:]}
        low = {a: bound(mean[a], seen[a], beta, -1) for a in order[:k]}
        u = max(order[k:], key=lambda a: (up[a], -a))
        l = min(order[:k], key=lambda a: (low[a], a))  # noqa: E741
        if up[u] - low[l] <= epsilon:
            return sorted(order[:k]), seen
        seen[u] += 1
        seen[l] += 1
        t += 1


def race_written_out(table, k, delta, epsilon):
    """Algorithm 1, slowly."""
    n_arms = len(table)
    race, chosen, seen, t = list(range(n_arms)), [], [0] * n_arms, 0
    while len(chosen) < k and n_arms - len(race) - len(chosen) < n_arms - k:
        t += 1
        for a in race:
            seen[a] += 1
        mean = {a: float(np.mean(table[a][:t])) for a in race}
        order = sorted(race, key=lambda a: (-mean[a], a))
        m = k - len(chosen)
        beta = math.log(11.1 * n_arms * t**1.1 / delta)
        up = {a: bound(mean[a], t, beta, 1) for a in order[m:]}
        low = {a: bound(mean[a], t, beta, -1) for a in order[:m]}
        best, worst = order[0], order[-1]
        selects = max(up.values()) - low[best] < epsilon
        discards = up[worst] - min(low.values()) < epsilon
        if selects and discards:
            selects = mean[best] - mean[order[m]] >= mean[order[m - 1]] - mean[worst]
        if selects:
            chosen.append(best)
            race.remove(best)
        elif discards:
            race.remove(worst)
    return sorted(chosen if len(chosen) == k else chosen + race), seen


@pytest.mark.parametrize(
    ("policy", "written_out"), [(KLLUCB, lucb_written_out), (KLRacing, race_written_out)]
)
@pytest.mark.parametrize(
    ("chances", "k", "epsilon"),
    [((0.9, 0.2), 1, 0.0), ((0.05, 0.9, 0.95, 0.1), 2, 0.0), ((0.8, 0.7, 0.1), 1, 0.3)],
)
def test_they_are_what_the_paper_says(policy, written_out, chances, k, epsilon):
    rng = np.random.default_rng(5)
    table = (rng.random((len(chances), 1500)) < np.array(chances)[:, None]).astype(float)
    seen = np.zeros(len(chances), int)
    problem = question(len(chances), k, rewards=COINS, epsilon=epsilon)

    def draw(_, arm):
        seen[arm] += 1
        return table[arm, seen[arm] - 1]

    answer, pulls = play(policy(), problem, draw)
    assert (answer, pulls.tolist()) == written_out(table, k, 0.05, epsilon)


@pytest.mark.parametrize("policy", [KLLUCB, KLRacing])
def test_of_costs_the_rarest_are_found(policy):
    chances = (0.9, 0.1, 0.8)
    draw = coins(chances)
    problem = question(3, 1, rewards=COINS, maximize=False)
    assert play(policy(), problem, lambda rng, arm: -draw(rng, arm))[0] == [1]


@pytest.mark.parametrize("policy", [KLLUCB, KLRacing])
def test_other_rewards_and_unproved_constants_are_refused(policy):
    with pytest.raises(InputError, match="gaussian rewards were refused"):
        policy().start(question(3, 1), None)
    for params in ({"alpha": 1.0}, {"k1": 10.0}):
        with pytest.raises(InputError, match=r"alpha must be above 1, and k1 then above"):
            policy().start(question(3, 1, rewards=COINS, **params), None)


def test_of_two_arms_that_may_leave_the_race_the_one_farther_from_the_line_does():
    policy = KLRacing()
    policy.start(question(3, 1, rewards=COINS), None)
    policy.t = 1000  # all three are told apart; 0.4 from the line, and 0.9
    policy.judge(np.array([1, 0, 2]), np.array([0.9, 0.5, 0.0]))
    assert (policy.selected, policy.racing.tolist()) == ([], [0, 1])
