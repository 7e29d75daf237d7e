"""Claims about T* for Bernoulli means, each against an independent computation."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, rel_entr

from bestk.errors import InputError
from bestk.hardness import Difficulty, bernoulli, difficulty, kl_of_error, staircase, t_star
from bestk.rewards import Bernoulli, Bounded, Gaussian, Ratings, SubGaussian

COIN = Bernoulli()


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1.0 - np.asarray(p), 1.0 - np.asarray(q))


def evidence(n_i, mu_i, n_j, mu_j):
    """The smallest n_i kl(mu_i, c) + n_j kl(mu_j, c) over c, spelt out."""
    c = (n_i * mu_i + n_j * mu_j) / (n_i + n_j)
    return n_i * kl(mu_i, c) + n_j * kl(mu_j, c)


def exact_evidence(n_i, mu_i, n_j, mu_j):
    """The same for means inside (0, 1), however different the counts."""
    with mpmath.workdps(100):
        n, mu = [mpmath.mpf(n_i), mpmath.mpf(n_j)], [mpmath.mpf(mu_i), mpmath.mpf(mu_j)]
        c = (n[0] * mu[0] + n[1] * mu[1]) / (n[0] + n[1])
        parts = [
            a * (m * mpmath.log(m / c) + (1 - m) * mpmath.log((1 - m) / (1 - c)))
            for a, m in zip(n, mu, strict=True)
        ]
        return float(sum(parts))


def weakest_pair(means: np.ndarray, k: int, counts: np.ndarray) -> float:
    order = np.argsort(-means, kind="stable")
    i, j = order[:k, None], order[None, k:]
    return float(evidence(counts[i], means[i], counts[j], means[j]).min())


def naive_t_star(means: np.ndarray, k: int) -> float:
    """min sum n with all pairs at 1 or more, by a general solver; never below the true value."""
    order = np.argsort(-means)
    pairs = list(itertools.product(order[:k], order[k:]))

    def pair_evidence(z):
        n = np.exp(z)
        return np.array([evidence(n[i], means[i], n[j], means[j]) for i, j in pairs]) - 1.0

    def jacobian(z):
        n, rows = np.exp(z), np.zeros((len(pairs), len(means)))
        for row, (i, j) in enumerate(pairs):
            c = (n[i] * means[i] + n[j] * means[j]) / (n[i] + n[j])
            rows[row, i], rows[row, j] = n[i] * kl(means[i], c), n[j] * kl(means[j], c)
        return rows

    middle = np.sort(means)[[-k - 1, -k]].mean()
    found = minimize(
        lambda z: math.log(np.exp(z).sum()),
        -np.log(kl(means, middle)),  # in z = log n
        jac=lambda z: np.exp(z) / np.exp(z).sum(),
        constraints={"type": "ineq", "fun": pair_evidence, "jac": jacobian},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    n = np.exp(found.x)
    return float(n.sum() / weakest_pair(means, k, n))


def best_arm_t_star(means: np.ndarray) -> float:
    """K = 1 by Theorem 5 of Garivier and Kaufmann (2016): one equation in one unknown."""
    best, *others = np.sort(means)[::-1]

    def ratio(y, mu):
        """x = w_a/w_1 with evidence y per sample of the best arm."""
        return brentq(lambda x: evidence(1.0, best, x, mu) - y, 0.0, 1e9, xtol=1e-300, rtol=1e-14)

    def excess(y):
        total = -1.0
        for mu in others:
            c = (best + ratio(y, mu) * mu) / (1.0 + ratio(y, mu))
            total += kl(best, c) / kl(mu, c)
        return total

    top = kl(best, others[0])
    y = brentq(excess, 1e-9 * top, (1.0 - 1e-9) * top, xtol=1e-300, rtol=1e-14)
    return (1.0 + sum(ratio(y, mu) for mu in others)) / y


def assert_certified(found: Difficulty, within: float = 1e-12) -> None:
    assert 0.0 < found.t_star_low <= found.t_star * (1.0 + within) < math.inf
    assert found.t_star <= found.t_star_low * (1.0 + within)
    assert found.shares.sum() == pytest.approx(1.0)
    assert (found.shares > 0.0).all()


# --- T* against other computations ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_t_star_agrees_with_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    k = int(rng.integers(1, n))
    means = rng.random(n) ** rng.choice([0.2, 1.0, 4.0])  # near 1, anywhere, near 0
    if seed % 4 == 0:
        means[[0, 1]] = 0.0, 1.0
    found = difficulty(means, k, rewards=COIN)
    assert found.t_star == pytest.approx(naive_t_star(means, k), rel=1e-6)
    assert_certified(found)


@pytest.mark.parametrize("seed", range(15))
def test_t_star_agrees_with_the_equation_for_the_best_arm(seed):
    means = np.random.default_rng(seed).random(8)
    expected = best_arm_t_star(means)
    assert t_star(means, 1, rewards=COIN)[0] == pytest.approx(expected, rel=1e-9)
    assert t_star(1.0 - means, 7, rewards=COIN)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("means", "published"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.42, 0.39, 0.14, 0.06]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.34, 0.25, 0.18, 0.13, 0.10]),
    ],
)
def test_the_shares_are_those_of_garivier_and_kaufmann(means, published):
    _, shares = t_star(means, 1, rewards=COIN)
    assert np.round(shares, 2) == pytest.approx(published)


@pytest.mark.parametrize("high", [0.7, 1.0, 1e-5])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (10, 3), (1000, 1), (1000, 999), (10_000, 2)])
@pytest.mark.parametrize("low", [0.0, 3e-6])
def test_t_star_of_two_values_is_a_problem_in_one_number(n, k, high, low):
    means = np.concatenate((np.full(n - k, low), np.full(k, high)))

    def cost(z):
        """log T of giving the top arms together the share 1/(1 + exp(-z))."""
        top, rest = 1.0 / (1.0 + math.exp(-z)), 1.0 / (1.0 + math.exp(z))
        return -math.log(evidence(top / k, high, rest / (n - k), low))

    found = minimize_scalar(cost, bracket=(-3.0, 3.0), tol=1e-10)
    value, shares = t_star(means, k, rewards=COIN)
    assert value == pytest.approx(math.exp(found.fun), rel=1e-8)
    assert k * shares[-1] == pytest.approx(1.0 / (1.0 + math.exp(-found.x)), rel=1e-3)


def test_certain_arms_take_one_bit():
    # kl(1, c) + kl(0, c) is smallest at 1/2, where it is 2 log 2
    assert t_star([1.0, 0.0], 1, rewards=COIN)[0] == pytest.approx(1.0 / math.log(2.0), rel=1e-13)


@pytest.mark.parametrize("k", [1, 7, 25])
@pytest.mark.parametrize("width", [1e-3, 1e-6])
def test_near_one_half_t_star_is_that_of_gaussian_rewards_with_sigma_one_half(k, width):
    means = 0.5 + width * (np.random.default_rng(k).permutation(30) - 15.0)
    coin, normal = difficulty(means, k, rewards=COIN), difficulty(means, k)
    assert coin.t_star == pytest.approx(normal.t_star, rel=1000.0 * width**2)
    assert coin.shares == pytest.approx(normal.shares, rel=100.0 * width)
    assert coin.t_star != normal.t_star


# few distinct values, so that ties are common; 1 - mu is exact
instances = st.lists(st.integers(0, 64), min_size=2, max_size=40).flatmap(
    lambda means: st.tuples(st.just(np.array(means) / 64.0), st.integers(1, len(means) - 1))
)


@given(instances, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_t_star_follows_mirror_and_order_and_is_at_most_that_of_sigma_one_half(instance, random):
    means, k = instance
    found = difficulty(means, k, rewards=COIN)
    order = list(range(len(means)))
    random.shuffle(order)
    shuffled = difficulty(means[order], k, rewards=COIN)
    assert shuffled.t_star == pytest.approx(found.t_star, rel=1e-12)
    assert shuffled.shares == pytest.approx(found.shares[order], rel=1e-9)
    if math.isinf(found.t_star):
        return
    assert_certified(found)
    mirror = difficulty(1.0 - means, len(means) - k, rewards=COIN)
    assert mirror.t_star == pytest.approx(found.t_star, rel=1e-12)
    assert mirror.shares == pytest.approx(found.shares, rel=1e-5)
    assert 1.0 / found.t_star == pytest.approx(weakest_pair(means, k, found.shares), rel=1e-10)
    assert found.t_star <= difficulty(means, k).t_star * (1.0 + 1e-12)  # Pinsker: kl >= 2 gap^2


# --- certificates ---------------------------------------------------------------------------------


def all_orders(rng: np.random.Generator, k: int, n: int) -> np.ndarray:
    far = 0.4 * 10.0 ** -rng.uniform(0, 9, n)
    return np.concatenate((0.4 + far[:k], 0.4 - far[k:]))


def logit_normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-20.0 * rng.standard_normal(n)))  # many within rounding of 0 and 1


LARGE = {
    "half of all": (lambda rng: rng.random(10_000), 5_000),
    "one best": (lambda rng: rng.random(2_000), 1),
    "tiny gaps": (lambda rng: 0.3 + 1e-6 * rng.random(2_000), 1_000),
    "from 0 to 1": (lambda rng: logit_normal(rng, 10_000), 5_000),
    "gaps of all orders": (lambda rng: all_orders(rng, 10, 10_000), 10),
    "many equal": (lambda rng: np.append(rng.integers(0, 50, 9_999) / 50.0, 1.0), 1),
}


@pytest.mark.parametrize("name", LARGE)
def test_t_star_is_certified_at_thousands_of_means(name):
    make, k = LARGE[name]
    assert_certified(difficulty(make(np.random.default_rng(7)), k, rewards=COIN))


@pytest.mark.parametrize("near", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_t_star_is_certified_when_gaps_differ_by_many_orders_of_magnitude(seed, near):
    rng = np.random.default_rng(seed)
    n, sign = int(rng.integers(2, 300)), -1.0 if near == 1.0 else 1.0
    sign = rng.choice([-1.0, 1.0], n) if near == 0.3 else sign
    means = near + sign * 0.3 * 10.0 ** -rng.uniform(0, 12, n)
    means[0] = 0.0
    k = int(rng.integers(1, n))
    assert_certified(difficulty(means, k, rewards=COIN))


def clusters(rng: np.random.Generator, groups: int) -> np.ndarray:
    """Sizes that let a far group weigh as much as a near one: the active pairs split into parts."""
    far = np.cumsum(rng.uniform(0.05, 0.6, groups))
    sizes = np.ceil(far**4 / far[0] ** 4 * rng.uniform(0.3, 3.0, groups)).clip(1, 2000)
    return np.repeat(far, sizes.astype(int))


@pytest.mark.parametrize("middle", [0.5, 0.05])
@pytest.mark.parametrize("seed", range(20))
def test_t_star_is_certified_where_both_arms_of_a_pair_are_full_at_once(seed, middle):
    rng = np.random.default_rng(seed)
    top, rest = clusters(rng, 3), clusters(rng, 4)
    means = middle + 0.02 * np.concatenate((top, -rest))
    found = difficulty(means, len(top), rewards=COIN)
    assert_certified(found)
    attained = weakest_pair(means, len(top), found.shares)
    assert 1.0 / found.t_star == pytest.approx(attained, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0])
def test_the_certificates_hold_whatever_the_walk_did(seed, size, monkeypatch):
    rng = np.random.default_rng(seed)
    means = np.sort(rng.random(12))[::-1]
    truth = bernoulli.solve(means[:5], means[5:])
    walk = staircase._walk

    def stumble(case, i, j, start):
        path, excess = walk(case, i, j, start)
        noise = np.exp(size * rng.standard_normal((len(path), 5)))
        wrong = [(*c[:2], *(c[2:] * f).tolist()) for c, f in zip(path, noise, strict=True)]
        inside = [(i, j, min(x, 0.999 * case.gap), *others) for i, j, x, *others in wrong]
        return inside, excess if size < 1.0 else bool(rng.random() < 0.5)

    monkeypatch.setattr(staircase, "_walk", stumble)
    found = bernoulli.solve(means[:5], means[5:])
    assert found.low <= truth.high * (1.0 + 1e-12)
    assert found.high >= truth.low * (1.0 - 1e-12)
    for (n_i, i), (n_j, j) in itertools.product(
        zip(found.n_top, means[:5], strict=True), zip(found.n_rest, means[5:], strict=True)
    ):
        assert exact_evidence(n_i, i, n_j, j) >= 1.0 - 1e-12
    assert found.low < found.high


@pytest.mark.parametrize("seed", range(10))
def test_the_envelope_is_the_smallest_everywhere(seed):
    rng = np.random.default_rng(seed)
    top, rest = 0.4 + 0.6 * rng.random(50), 0.4 - 0.4 * rng.random(50)
    gap = top.min() - rest.max()
    case = bernoulli.make(top, rest)
    sides = (top, case.top, case.to_top), (rest, case.rest, case.to_rest)
    for drawn, side, d in sides:
        means, far = np.sort(drawn)[::-1], np.array(side.far)
        y = (means - 0.4) ** 2 * np.exp(0.01 * rng.standard_normal(50))
        kept, cut = staircase._envelope(d, far, y, gap)
        assert len(kept) == len(cut) + 1 > 1
        at = np.concatenate((rng.uniform(-12.0, 12.0, 500), cut))
        all_of_them = kl(means[:, None], rest.max() + gap * expit(at)) / y[:, None]
        owner = kept[np.searchsorted(cut, at)]
        assert all_of_them[owner, np.arange(len(at))] == pytest.approx(all_of_them.min(0), rel=1e-9)
        x, left = gap * expit(cut), gap * expit(-cut)
        before, after = (d(far[g], x, left) / y[g] for g in (kept[:-1], kept[1:]))
        assert before == pytest.approx(after, rel=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_increment_solves_its_equation_or_reaches_the_end(sign):
    rng = np.random.default_rng(1)
    for _ in range(500):
        c, share = rng.random(), rng.random()
        most = (1.0 - c) * rng.choice([1.0, rng.random()])
        e = most * share
        lift = math.log1p(e / c) - math.log1p(-e / (1.0 - c))
        slope = rng.exponential() + (lift if sign < 0.0 else 0.0)  # of two roots the smaller one
        goal = slope * e + sign * bernoulli._kl(e, c, 1.0 - c)
        found = bernoulli._increment(slope, goal, sign, c, 1.0 - c, most)
        assert found == pytest.approx(e, rel=1e-7)
        assert bernoulli._increment(slope, goal, sign, c, 1.0 - c, 0.9 * e) == 0.9 * e


@pytest.mark.parametrize("x", [1e-300, 1e-17, 1e-9, 1e-4, 0.00999, 0.0101, 0.3, 1.0])
@pytest.mark.parametrize("c", [1e-200, 1e-12, 0.3, 0.5])
def test_the_divergence_is_exact_however_close_to_c_to_0_and_to_1(x, c):
    for step in (x * c, -x * c, x * (1.0 - c)):
        with mpmath.workdps(1500):
            q, p = mpmath.mpf(c), mpmath.mpf(c) + mpmath.mpf(step)
            below = p * mpmath.log(p / q) if p > 0 else mpmath.mpf(0)
            above = (1 - p) * mpmath.log((1 - p) / (1 - q)) if p < 1 else mpmath.mpf(0)
            wanted = float(below + above)
        for found in (
            bernoulli._kl(step, c, 1.0 - c),
            bernoulli._kl(-step, 1.0 - c, c),
            float(bernoulli.kl(np.array(step), np.array(c), np.array(1.0 - c))),
        ):
            assert found == pytest.approx(wanted, rel=1e-13, abs=1e-307)


# --- the interface --------------------------------------------------------------------------------


def test_all_but_t_star_and_the_lower_bound_is_as_for_sigma_one_half():
    means = [0.9, 0.6, 0.55, 0.1]
    coin, normal = difficulty(means, 2, delta=0.01, rewards=COIN), difficulty(means, 2, delta=0.01)
    assert (coin.gaps == normal.gaps).all()
    assert (coin.H, coin.theorem) == (normal.H, normal.theorem)
    assert coin.lower_bound == kl_of_error(0.01) * coin.t_star < normal.lower_bound
    assert t_star(means, 2, rewards=COIN)[0] == coin.t_star


@pytest.mark.parametrize("rewards", [Gaussian(2.0), SubGaussian(2.0)])
def test_other_rewards_give_their_sigma(rewards):
    means = [3.0, 1.0, 0.0]
    found, expected = difficulty(means, 1, rewards=rewards), difficulty(means, 1, sigma=2.0)
    assert (found.t_star, found.theorem) == (expected.t_star, expected.theorem)
    assert t_star(means, 1, rewards=rewards)[0] == t_star(means, 1, 2.0)[0] == found.t_star


@pytest.mark.parametrize("means", [[0.5, 0.5], [0.9, 0.5, 0.1, 0.5, 0.5], [0.0, 0.0], [1.0, 1.0]])
def test_a_tie_at_the_boundary_is_infinitely_hard(means):
    found = difficulty(means, len(means) // 2, rewards=COIN)
    for value in (found.H, found.t_star, found.t_star_low, found.lower_bound, found.theorem):
        assert value == math.inf
    assert found.shares == pytest.approx(np.full(len(means), 1 / len(means)))


@pytest.mark.parametrize(
    ("means", "options", "says"),
    [
        ([1.1, 0.5], {"rewards": COIN}, r"means were refused: .* Bernoulli .* \[0, 1\]"),
        ([0.5, -1e-9], {"rewards": COIN}, r"means were refused: .* Bernoulli .* \[0, 1\]"),
        ([0.5, math.nan], {"rewards": COIN}, "finite"),
        ([0.5, 0.1], {"rewards": COIN, "sigma": 0.4}, "sigma=0.4 was refused: rewards=Bern"),
        ([0.5, 0.1], {"rewards": Gaussian(), "sigma": 0.4}, "sigma=0.4 was refused: rewards=Gau"),
        ([0.5, 0.1], {"rewards": Bounded()}, "refused: T. is solved for gaussian and bernoulli"),
        ([2.0, 1.0], {"rewards": Ratings((1, 2))}, "refused: T. is solved for gaussian and bern"),
    ],
)
def test_what_has_no_meaning_or_no_solution_is_refused(means, options, says):
    with pytest.raises(InputError, match=says):
        difficulty(means, 1, **options)
    with pytest.raises(InputError, match=says):
        t_star(means, 1, **options)
