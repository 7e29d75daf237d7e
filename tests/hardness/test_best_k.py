"""Claims about `bestk.hardness` and `bestk.bounds.lil`, each against an independent computation."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bestk.bounds.lil import c_eps, lil_radius
from bestk.errors import InputError
from bestk.hardness import Difficulty, difficulty, gaussian, kl_of_error, staircase, t_star
from bestk.kernels import bounds


def exponential(n: int, k: int, alpha: float) -> np.ndarray:
    """Section 5 of the paper: the alpha-exponential instance."""
    top = (n - k) / n + k / n * ((k - np.arange(1, k + 1)) / k) ** alpha
    rest = (n - k) / n * (1.0 - (np.arange(1, n - k + 1) / (n - k)) ** alpha)
    return np.concatenate((top, rest))


def naive_t_star(top, rest, sigma, top_sizes=None, rest_sizes=None) -> float:
    """min sum 1/y over y_i + y_j <= (mu_i - mu_j)^2 / (2 sigma^2), by a general solver."""
    sizes = np.concatenate(
        (
            np.ones(len(top)) if top_sizes is None else top_sizes,
            np.ones(len(rest)) if rest_sizes is None else rest_sizes,
        )
    )
    pairs = list(itertools.product(range(len(top)), range(len(top), len(sizes))))
    limit = np.array([(top[i] - rest[j - len(top)]) ** 2 for i, j in pairs])
    unit = limit.min()
    matrix = np.zeros((len(pairs), len(sizes)))
    for row, (i, j) in enumerate(pairs):
        matrix[row, [i, j]] = 1.0
    # in z = log y, so that y > 0 and far arms are as well scaled as near ones
    found = minimize(
        lambda z: math.log(np.sum(sizes * np.exp(-z))),
        np.full(len(sizes), math.log(0.4)),
        jac=lambda z: -sizes * np.exp(-z) / np.sum(sizes * np.exp(-z)),
        constraints={
            "type": "ineq",
            "fun": lambda z: 1.0 - matrix @ np.exp(z) / (limit / unit),
            "jac": lambda z: -matrix * np.exp(z) / (limit / unit)[:, None],
        },
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    scale = np.max(matrix @ np.exp(found.x) / (limit / unit))  # repair what it violates
    return float(scale * np.sum(sizes * np.exp(-found.x)) * 2.0 * sigma**2 / unit)


def value_of_shares(means: np.ndarray, k: int, sigma: float, shares: np.ndarray) -> float:
    """1 / (min over pairs of (mu_i - mu_j)^2 / (2 sigma^2 (1/w_i + 1/w_j))), spelt out."""
    order = np.argsort(-means)
    worst = min(
        (means[i] - means[j]) ** 2 / (2.0 * sigma**2 * (1.0 / shares[i] + 1.0 / shares[j]))
        for i in order[:k]
        for j in order[k:]
    )
    return 1.0 / worst


def assert_certified(found: Difficulty) -> None:
    assert found.t_star_low <= found.t_star * (1.0 + 1e-11)
    assert found.t_star <= found.t_star_low * (1.0 + 1e-11)


# --- T* -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(2, 1), (10, 2), (10, 9), (100, 50), (1000, 1), (10000, 2)])
@pytest.mark.parametrize(("gap", "sigma"), [(0.5, 0.5), (1e-3, 2.0)])
def test_t_star_of_1_sparse_is_the_closed_form(n, k, gap, sigma):
    means = np.concatenate((np.full(k, 3.0 + gap), np.full(n - k, 3.0)))
    value, shares = t_star(means, k, sigma)
    roots = math.sqrt(k) + math.sqrt(n - k)
    assert value == pytest.approx(2.0 * sigma**2 / gap**2 * roots**2, rel=1e-9)
    assert shares[0] == pytest.approx(1.0 / (math.sqrt(k) * roots), rel=1e-9)
    assert shares[-1] == pytest.approx(1.0 / (math.sqrt(n - k) * roots), rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_t_star_agrees_with_a_general_solver_on_random_means(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    k = int(rng.integers(1, n))
    means = np.sort(rng.random(n))[::-1]
    means[:k] += rng.choice([0.05, 0.3, 2.0])  # far arms, then ever more alike ones
    value, _ = t_star(rng.permutation(means), k, 0.5)
    assert value == pytest.approx(naive_t_star(means[:k], means[k:], 0.5), rel=1e-6)


def clusters(rng: np.random.Generator, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances from the boundary, and sizes that let a far group weigh as much as a near one."""
    far = np.cumsum(rng.uniform(0.05, 0.6, groups))
    return far, np.ceil(far**4 / far[0] ** 4 * rng.uniform(0.3, 3.0, groups)).clip(1, 2000)


@pytest.mark.parametrize("seed", range(20))
def test_t_star_agrees_with_a_general_solver_where_the_active_pairs_split_into_parts(seed):
    # Of these 20 instances the bisection of `gaussian` has to go on after a tie in 16.
    rng = np.random.default_rng(seed)
    (top, p), (rest, q) = clusters(rng, 3), clusters(rng, 4)
    means = np.concatenate((np.repeat(top, p.astype(int)), np.repeat(-rest, q.astype(int))))
    found = difficulty(means, int(p.sum()))
    assert found.t_star == pytest.approx(naive_t_star(top, -rest, 0.5, p, q), rel=1e-6)
    assert_certified(found)


@pytest.mark.parametrize("n", [10, 300])
@pytest.mark.parametrize("alpha", [0.3, 0.6])
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_t_star_is_certified_on_the_instances_of_the_paper(n, alpha, k):
    assert_certified(difficulty(exponential(n, k, alpha), k))


@pytest.mark.parametrize("seed", range(10))
def test_t_star_is_certified_when_gaps_differ_by_many_orders_of_magnitude(seed):
    rng = np.random.default_rng(seed)
    k, rest = rng.integers(1, 300, 2)
    means = np.concatenate((10.0 ** -rng.uniform(0, 9, k), -(10.0 ** -rng.uniform(0, 9, rest))))
    assert_certified(difficulty(means, int(k)))


def test_t_star_is_certified_at_ten_thousand_random_means():
    means = np.random.default_rng(7).random(10_000)
    assert_certified(difficulty(means, 5_000))


@pytest.mark.parametrize("far", [3.0, 2e4, 1e7])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_t_star_is_certified_when_one_arm_weighs_less_than_the_rounding_of_the_others(far, side):
    assert_certified(difficulty([0.5, -0.5, side * far], 2 if side > 0 else 1))


def test_the_certificate_looks_at_every_pair():
    rng = np.random.default_rng(5)
    case = gaussian.make(rng.random(7), rng.random(5))
    far_top, far_rest, y_top, y_rest = case.top.far, case.rest.far, rng.random(7), rng.random(5)
    for i, j in itertools.product(range(7), range(5)):
        spike_top, spike_rest = y_top.copy(), y_rest.copy()
        spike_top[i] += 9.0
        spike_rest[j] += 9.0
        assert staircase._scale(case, spike_top, spike_rest) == pytest.approx(
            max(
                (spike_top[a] + spike_rest[b]) / (1.0 + far_top[a] + far_rest[b]) ** 2
                for a, b in itertools.product(range(7), range(5))
            )
        )


def test_a_mean_out_of_reach_costs_nothing():
    near, _ = t_star([1.0, 0.0], 1, 0.5)
    assert t_star([1.0, 0.0, -1e200], 1, 0.5)[0] == pytest.approx(near, rel=1e-12)


def test_the_shares_attain_t_star():
    rng = np.random.default_rng(3)
    for k in (1, 7, 29):
        means = rng.random(30)
        value, shares = t_star(means, k, 0.7)
        assert value_of_shares(means, k, 0.7, shares) == pytest.approx(value, rel=1e-12)


# few distinct values, so that ties are common
instances = st.lists(st.integers(-40, 40), min_size=2, max_size=40).flatmap(
    lambda means: st.tuples(st.just(np.array(means) / 8.0), st.integers(1, len(means) - 1))
)


@given(instances, st.floats(0.1, 10.0))
@settings(max_examples=200)
def test_t_star_lies_between_h_and_twice_h(instance, sigma):
    means, k = instance
    found = difficulty(means, k, sigma=sigma)
    h_sigma = 2.0 * sigma**2 * found.H
    assert h_sigma <= found.t_star * (1 + 1e-12)
    assert found.t_star_low <= 2.0 * h_sigma * (1 + 1e-12)
    if math.isfinite(found.H):
        assert_certified(found)


@given(instances, st.floats(1e-3, 1e3), st.floats(-10.0, 10.0), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_t_star_follows_scale_shift_mirror_and_order_of_the_means(instance, scale, shift, random):
    means, k = instance
    value, shares = t_star(means, k, 0.5)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0.0).all()

    moved, moved_shares = t_star(means * scale, k, 0.5)
    assert moved == pytest.approx(value / scale**2, rel=1e-9)
    assert moved_shares == pytest.approx(shares, rel=1e-6)
    if math.isfinite(value):  # a shift may part tied means by rounding, or join them
        assert t_star(means + shift, k, 0.5)[0] == pytest.approx(value, rel=1e-9)
    assert t_star(-means, len(means) - k, 0.5)[0] == pytest.approx(value, rel=1e-9)

    order = list(range(len(means)))
    random.shuffle(order)
    shuffled, shuffled_shares = t_star(means[order], k, 0.5)
    assert shuffled == pytest.approx(value, rel=1e-12)
    assert shuffled_shares == pytest.approx(shares[order], rel=1e-9)


# --- the rest of Difficulty -----------------------------------------------------------------------


def test_gaps_are_those_of_section_2_in_the_order_given():
    found = difficulty([0.1, 0.9, 0.5, 0.4, 0.9], 3)
    assert found.gaps == pytest.approx([0.4, 0.5, 0.1, 0.1, 0.5])
    assert pytest.approx(1 / 0.16 + 2 / 0.25 + 2 / 0.01) == found.H


@pytest.mark.parametrize("means", [[0.5, 0.5], [0.9, 0.5, 0.1, 0.5, 0.5]])
def test_a_tie_at_the_boundary_is_infinitely_hard(means):
    found = difficulty(means, len(means) // 2)
    for value in (found.H, found.t_star, found.t_star_low, found.lower_bound, found.theorem):
        assert value == math.inf
    assert found.shares == pytest.approx(np.full(len(means), 1 / len(means)))
    assert t_star(means, len(means) // 2, 0.5)[0] == math.inf
    assert found.gaps.min() == 0.0


def test_ties_elsewhere_are_ordinary():
    found = difficulty([1.0, 1.0, 0.5, 0.2, 0.2], 3)
    assert math.isfinite(found.theorem)
    assert found.shares[0] == found.shares[1]
    assert found.shares[3] == found.shares[4]


@pytest.mark.parametrize(("delta", "sigma", "eps"), [(0.05, 0.5, 0.01), (0.3, 0.1, 0.9)])
def test_theorem_sums_the_smallest_sufficient_counts(delta, sigma, eps):
    means = np.array([2.0, 1.6, 0.9, 0.0, -30.0])
    found = difficulty(means, 2, delta=delta, sigma=sigma, eps=eps)
    level = delta / c_eps(eps) / (2 * 5)
    total = 0
    for gap in (1.1, 0.7, 0.7, 1.6, 31.6):
        t = 1
        while lil_radius(t, level, sigma, eps) >= gap / 8:
            t += 1
        total += t
    assert found.theorem == 2.0 * total


def test_theorem_is_found_for_counts_beyond_the_integers_of_a_float():
    found = difficulty([1e-9, 0.0], 1)
    level = 0.05 / c_eps(0.01) / 4
    tau = found.theorem / 4  # two arms, 2 tau each
    assert tau > 2.0**53
    assert lil_radius(tau, level, 0.5, 0.01) < 1e-9 / 8
    assert lil_radius(tau * (1 - 1e-12), level, 0.5, 0.01) >= 1e-9 / 8


def test_theorem_is_infinite_for_counts_beyond_all_floats():
    found = difficulty([1e-153, 0.0], 1)
    assert found.theorem == math.inf
    assert found.t_star < math.inf
    assert math.isinf(difficulty([1e-154, 0.0], 1).H)


def test_theorem_exceeds_the_lower_bound():
    for k in (2, 50):
        found = difficulty(exponential(100, k, 0.3), k, delta=0.01)
        assert found.theorem > found.lower_bound > 0.0


def test_lower_bound_is_kl_times_t_star_and_nothing_at_one_half():
    found = difficulty([1.0, 0.5, 0.0], 1, delta=0.01)
    assert found.lower_bound == pytest.approx(0.98 * math.log(99) * found.t_star, rel=1e-12)
    assert difficulty([1.0, 0.5, 0.0], 1, delta=0.7).lower_bound == 0.0


@pytest.mark.parametrize("nu", [1e-300, 1e-17, 1e-3, 0.01, 0.3, 0.5, 0.9])
def test_kl_of_the_error_is_exact_for_the_smallest_nu_too(nu):
    exact = mpmath.mpf(min(nu, 0.5))
    with mpmath.workdps(400):
        other = 1 - exact
        wanted = exact * mpmath.log(exact / other) + other * mpmath.log(other / exact)
    assert kl_of_error(nu) == pytest.approx(float(wanted), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(
    ("means", "k", "sigma", "says"),
    [
        ([1.0, 0.0], 0, 0.5, "k=0 .* 1 to 1"),
        ([1.0, 0.0], 2, 0.5, "k=2 .* 1 to 1"),
        ([1.0, math.nan], 1, 0.5, "finite"),
        ([1.0, math.inf], 1, 0.5, "finite"),
        ([[1.0, 0.0]], 1, 0.5, "flat"),
        ([1.0, 0.0], 1, 0.0, "sigma=0.0"),
        ([1.0, 0.0], 1, math.nan, "sigma=nan"),
    ],
)
def test_inputs_without_a_meaning_are_refused(means, k, sigma, says):
    with pytest.raises(InputError, match=says):
        difficulty(means, k, sigma=sigma)
    with pytest.raises(InputError, match=says):
        t_star(means, k, sigma)


# --- the LIL formulas -----------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.3, 0.99])
def test_c_eps_is_the_constant_of_lemma_2_1(eps):
    with mpmath.workdps(40):
        e = mpmath.mpf(eps)
        expected = (2 + e) / e * (1 / mpmath.log(1 + e)) ** (1 + e)
    assert c_eps(eps) == pytest.approx(float(expected), rel=1e-12)


def test_c_eps_at_one_percent_is_21153():
    assert round(c_eps(0.01)) == 21153


@pytest.mark.parametrize("eps", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("w", [1e-12, 1e-3, 0.1])
def test_lil_radius_is_u_of_lemma_2_1_with_the_plus_two_of_section_5(eps, w):
    t = np.array([1.0, 2.0, 17.0, 1e4, 1e15])
    e = mpmath.mpf(eps)
    expected = [
        (1 + mpmath.sqrt(e))
        * mpmath.sqrt(2 * 0.3**2 * (1 + e) / s * mpmath.log(mpmath.log((1 + e) * s + 2) / w))
        for s in t
    ]
    assert lil_radius(t, w, 0.3, eps) == pytest.approx([float(u) for u in expected], rel=1e-12)


def test_lil_radius_falls_with_every_sample_at_every_level_the_lemma_allows():
    for eps in (0.01, 0.5, 0.99):
        radii = lil_radius(np.arange(1, 5000), math.log1p(eps) / math.e, 1.0, eps)
        assert (np.diff(radii) < 0.0).all()


@pytest.mark.parametrize("wrong", [{"delta": 0.0}, {"delta": 1.0}, {"eps": 0.0}, {"eps": 1.0}])
def test_an_error_or_eps_outside_its_range_is_refused(wrong):
    with pytest.raises(InputError, match=r"\(0, 1\)"):
        difficulty([1.0, 0.0], 1, **wrong)


@pytest.mark.parametrize("t", [1, 2, 1000, 10**8])
def test_the_formula_is_that_of_the_kernels(t):
    assert bounds.lil(float(t), 1e-6, 0.5, 0.01) == pytest.approx(
        float(lil_radius(t, 1e-6, 0.5, 0.01)), rel=1e-14
    )
