"""Claims about `bestk.hardness.combinatorial`, each against an enumeration of all feasible sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bestk.bounds.lil import c_eps, lil_radius
from bestk.decisions import (
    ExplicitSets,
    Oracle,
    Path,
    SpanningTree,
    TopK,
)
from bestk.errors import InputError, OracleError
from bestk.hardness import difficulty, first_time, kl_of_error, separation
from bestk.hardness.combinatorial import combinatorial_difficulty
from bestk.hardness.cutting_planes import restricted
from helpers.enumerated import (
    CASES,
    assert_certified,
    competitors,
    draw,
    explicit,
    matching,
    naive_gaps,
    naive_t_star,
    tree,
    value_of_shares,
)

# --- gaps, H and the theorem ----------------------------------------------------------------------


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_gaps_h_and_theorem_are_those_of_the_enumeration(family, seed):
    decision, rows, means = draw(family, seed)
    found = combinatorial_difficulty(decision, means, delta=0.1, sigma=0.3, eps=0.05)
    optimum, gaps = naive_gaps(rows, means)
    assert (found.optimum == optimum).all()
    assert found.value == pytest.approx(means[optimum].sum(), rel=1e-12)
    assert found.gaps == pytest.approx(gaps, rel=1e-9)
    assert pytest.approx(sum(gap**-2 for gap in gaps), rel=1e-9) == found.H
    assert found.width == decision.width

    n = means.size
    faithful = (0.1 * n**0.05 / c_eps(0.05)) ** (1 / 1.05)
    assert c_eps(0.05) * faithful**1.05 / n**0.05 == pytest.approx(0.1)  # Theorem 4.2's error
    tau = first_time(gaps / (3 * decision.width), faithful / n, 0.3, 0.05)
    assert found.theorem == pytest.approx(tau.sum(), rel=1e-9)


def test_theorem_sums_the_smallest_sufficient_counts():
    # OPT = {0, 1}; arm 2 enters with gap 2.5, arm 3 is in no set, arm 1 is in every set
    found = combinatorial_difficulty(
        ExplicitSets([[0, 1], [1, 2]], 4), [3.0, 1.0, 0.5, 9.0], delta=0.2, sigma=0.1, eps=0.3
    )
    assert found.gaps == pytest.approx([2.5, math.inf, 2.5, math.inf])
    level = (0.2 * 4**0.3 / c_eps(0.3)) ** (1 / 1.3) / 4
    t = 1
    while lil_radius(t, level, 0.1, 0.3) >= 2.5 / (3 * found.width):
        t += 1
    assert t > 1
    assert found.theorem == 2 * t + 2
    assert pytest.approx(2 / 2.5**2) == found.H


# --- T* -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_t_star_agrees_with_a_general_solver_over_all_competing_sets(family, seed):
    decision, rows, means = draw(family, seed)
    found = combinatorial_difficulty(decision, means, sigma=0.7)
    expected = naive_t_star(rows, means, 0.7)  # never below the true T*
    assert found.t_star == pytest.approx(expected, rel=1e-5)
    assert found.t_star <= expected * (1.0 + 1e-9)
    assert_certified(found)


@pytest.mark.parametrize(("family", "seed"), CASES)
def test_the_shares_attain_the_upper_end_over_all_competing_sets(family, seed):
    decision, rows, means = draw(family, seed)
    found = combinatorial_difficulty(decision, means, sigma=0.7)
    assert found.shares.sum() == pytest.approx(1.0)
    assert ((found.shares > 0.0) == np.isfinite(found.gaps)).all()
    attained = value_of_shares(rows, means, 0.7, found.shares)
    assert found.t_star * (1 - 1e-9) <= attained <= found.t_star_high * (1 + 1e-9)


@pytest.mark.parametrize("calls", [1, 40, 100, 200, 400])
def test_both_ends_hold_when_the_search_ends_early(calls):
    decision, rows, means = draw(matching, 1)
    found = combinatorial_difficulty(decision, means, max_calls=calls)
    expected = naive_t_star(rows, means, 0.5)
    assert found.t_star <= expected * (1 + 1e-9)
    assert expected * (1 - 1e-6) <= found.t_star_high < math.inf
    attained = value_of_shares(rows, means, 0.5, found.shares)
    assert attained <= found.t_star_high * (1 + 1e-9)


def test_a_binding_set_below_the_hull_of_the_others_is_found(monkeypatch):
    # the spanning trees of four nodes; only a search that divides the sets sees all that bind
    tree_of_four = SpanningTree(list(itertools.combinations(range(4), 2)))
    decision, means = Oracle(6, tree_of_four.best), [8.75, 4.5, 3.75, 5.75, 8.25, 9.0]
    found = combinatorial_difficulty(decision, means)
    assert_certified(found)
    assert found.t_star == pytest.approx(combinatorial_difficulty(tree_of_four, means).t_star)
    monkeypatch.setattr(separation, "_split", lambda *_: -1)
    blind = combinatorial_difficulty(decision, means)
    assert blind.t_star < 0.998 * found.t_star < found.t_star < blind.t_star_high


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (10, 2), (10, 9), (24, 12)])
def test_top_k_agrees_with_the_exact_solver_of_best_k(n, k, general):
    means = np.random.default_rng(n + k).random(n)
    decision = Oracle(n, TopK(n, k).best) if general else TopK(n, k)
    found, exact = combinatorial_difficulty(decision, means), difficulty(means, k)
    assert found.gaps == pytest.approx(exact.gaps, rel=1e-9)
    assert found.t_star == pytest.approx(exact.t_star, rel=1e-8)
    assert found.lower_bound == pytest.approx(exact.lower_bound, rel=1e-8)
    assert_certified(found)


@pytest.mark.parametrize(("n", "k"), [(100, 3), (60, 30)])
def test_matroids_of_many_arms_are_certified(n, k):
    means = np.random.default_rng(n).random(n)
    found = combinatorial_difficulty(TopK(n, k), means)
    assert_certified(found)
    assert found.t_star == pytest.approx(difficulty(means, k).t_star, rel=1e-8)


@pytest.mark.parametrize(("n", "k"), [(10, 1), (12, 4), (40, 20)])
def test_t_star_of_1_sparse_is_the_closed_form(n, k):
    means = np.concatenate((np.full(k, 3.5), np.full(n - k, 3.0)))
    found = combinatorial_difficulty(TopK(n, k), means, sigma=2.0)
    roots = math.sqrt(k) + math.sqrt(n - k)
    assert found.t_star == pytest.approx(2.0 * 4.0 / 0.25 * roots**2, rel=1e-8)


def test_t_star_of_two_sets_is_the_closed_form():
    # one constraint: sum of 1/n_i <= gap^2 / (2 sigma^2) over the 5 arms that differ, so n_i equal
    found = combinatorial_difficulty(
        ExplicitSets([[0, 1, 2, 5], [3, 4, 5]], 6), [1.0, 1.0, 1.0, 1.0, 0.5, 7.0], sigma=0.5
    )
    assert found.t_star == pytest.approx(2 * 0.25 / 1.5**2 * 25, rel=1e-9)
    assert found.shares == pytest.approx([0.2, 0.2, 0.2, 0.2, 0.2, 0.0], rel=1e-6)


def test_the_search_is_exact_for_every_y():
    # not only for the y of a solution: whatever y, the bound holds and is reached but for LIMIT
    rng = np.random.default_rng(11)
    for _ in range(30):
        decision, rows = explicit(rng)
        means = rng.normal(size=decision.n_arms)
        arms, gaps = competitors(rows, means)
        seen = separation.Rivals(decision.best, means)
        _, per_arm = naive_gaps(rows, means)
        y = np.where(np.isfinite(per_arm), rng.exponential(size=means.size) ** 2, 0.0)
        worst = np.max(arms @ y / (gaps / gaps.min()) ** 2)
        for share in (0.5, 1.0 - 1e-9, 1.001, 3.0):
            bound, violated = separation.separate(seen, per_arm, y / worst * share, 10**9)
            assert bound >= share * (1 - 1e-9)
            assert bool(violated) == (share > 1.0)
            assert violated or bound <= separation.LIMIT
            assert all((row == arms).all(axis=1).any() for row in violated)


def test_the_worst_place_below_lines_is_that_of_a_fine_grid():
    rng = np.random.default_rng(4)
    for _ in range(100):
        # lines that touch a few points from above, as the oracle gives them
        points = np.cumsum(rng.exponential(size=(6, 2)) ** 2, axis=0)
        slopes = [0.0, *rng.exponential(size=int(rng.integers(1, 5))) * 3.0]
        lines = [(float(np.max(points[:, 1] - q * points[:, 0])), float(q)) for q in slopes]
        grid = points[0, 0] + np.concatenate((np.linspace(0, 3, 20_001), np.linspace(3, 60, 5_001)))
        values = np.min([p + q * grid for p, q in lines], axis=0) / grid**2
        worst, at = separation._worst_place(float(points[0, 0]), lines)
        assert worst >= values.max() * (1 - 1e-12)
        assert min(p + q * at for p, q in lines) / at**2 == pytest.approx(worst)


def test_the_restricted_problem_is_solved_to_its_own_certificate():
    rng = np.random.default_rng(2)
    for _ in range(50):
        n, m = int(rng.integers(1, 12)), int(rng.integers(1, 60))
        rows = np.vstack((rng.random((m, n)) < 0.4, np.eye(n))).astype(float)
        rows = rows[rows.any(axis=1)]
        limits = 10.0 ** rng.uniform(0, 12, len(rows))
        y, dual = restricted(rows, limits)
        assert (rows @ y <= limits).all()
        assert dual <= (1.0 / y).sum() <= dual * (1 + 1e-9)


families = st.lists(
    st.sets(st.integers(0, 6), min_size=1, max_size=5).map(lambda arms: tuple(sorted(arms))),
    min_size=2, max_size=25, unique=True,
)  # fmt: skip
whole_means = st.lists(st.integers(-20, 20), min_size=7, max_size=7)


@given(families, whole_means, st.floats(0.1, 10.0), st.floats(1e-3, 1e3))
@settings(max_examples=60)
def test_t_star_is_certified_attained_and_follows_scale_and_sign_of_arms(sets, means, sigma, scale):
    mu = np.array(means) / 8.0
    rows = np.array([[arm in chosen for arm in range(7)] for chosen in sets])
    found = combinatorial_difficulty(ExplicitSets(sets, 7), mu, sigma=sigma)
    assume(math.isfinite(found.t_star))
    assert_certified(found)
    attained = value_of_shares(rows, mu, sigma, found.shares)
    assert found.t_star * (1 - 1e-9) <= attained <= found.t_star_high * (1 + 1e-9)
    h_sigma = 2.0 * sigma**2 * found.H
    assert h_sigma <= found.t_star_high * (1 + 1e-9)  # y_i <= Delta_i^2

    moved = combinatorial_difficulty(ExplicitSets(sets, 7), mu * scale, sigma=sigma)
    assert moved.t_star == pytest.approx(found.t_star / scale**2, rel=2e-5)
    assert moved.gaps == pytest.approx(found.gaps * scale, rel=1e-9)
    # a set and its complement in one arm: nothing changes if the mean changes its sign
    flipped = [tuple(arm for arm in range(7) if (arm in s) != (arm == 3)) for s in sets]
    assume(all(flipped))
    mirror = np.where(np.arange(7) == 3, -mu, mu)
    other = combinatorial_difficulty(ExplicitSets(flipped, 7), mirror, sigma=sigma)
    assert other.t_star == pytest.approx(found.t_star, rel=2e-5)


@given(families, whole_means)
@settings(max_examples=100)
def test_a_tie_for_the_best_and_nothing_else_is_infinitely_hard(sets, means):
    mu = np.array(means) / 10.0  # tenths: totals that tie differ by rounding
    exact = sorted(sum(means[arm] for arm in chosen) for chosen in sets)
    found = combinatorial_difficulty(ExplicitSets(sets, 7), mu)
    tied = exact[-1] == exact[-2]
    assert (found.gaps.min() == 0.0) == tied
    for value in (found.H, found.t_star, found.t_star_high, found.lower_bound, found.theorem):
        assert (value == math.inf) == tied
    if tied:
        assert found.shares == pytest.approx(np.full(7, 1 / 7))


def test_lower_bound_is_kl_times_t_star_and_nothing_at_one_half():
    decision, _, means = draw(tree, 0)
    found = combinatorial_difficulty(decision, means, delta=0.01)
    assert found.lower_bound == pytest.approx(kl_of_error(0.01) * found.t_star, rel=1e-12)
    assert found.theorem > found.lower_bound > 0.0
    assert combinatorial_difficulty(decision, means, delta=0.7).lower_bound == 0.0


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("means", "wrong", "says"),
    [
        ([1.0, 0.0], {}, "3 finite"),
        ([[1.0, 0.0, 0.5]], {}, "flat"),
        ([1.0, math.nan, 0.0], {}, "finite"),
        ([1.0, 0.5, 0.0], {"sigma": 0.0}, "sigma=0.0"),
        ([1.0, 0.5, 0.0], {"sigma": math.inf}, "sigma=inf"),
        ([1.0, 0.5, 0.0], {"delta": 0.0}, r"delta=0.0 .* \(0, 1\)"),
        ([1.0, 0.5, 0.0], {"eps": 1.0}, r"eps=1.0 .* \(0, 1\)"),
    ],
)
def test_inputs_without_a_meaning_are_refused(means, wrong, says):
    with pytest.raises(InputError, match=says):
        combinatorial_difficulty(TopK(3, 1), means, **wrong)


def test_paths_in_graphs_with_cycles_are_refused_with_the_reason():
    decision = Path([(0, 1), (1, 2), (0, 2)], 0, 2, directed=False)
    with pytest.raises(InputError, match="through a given edge"):
        combinatorial_difficulty(decision, [-1.0, -1.0, -3.0])


def test_an_oracle_that_is_not_exact_is_refused():
    honest = ExplicitSets([[0], [1], [2]], 3)

    def hasty(weights: np.ndarray) -> np.ndarray:
        return honest.best(-weights if weights.tolist() == [0.3, 0.2, 0.1] else weights)

    with pytest.raises(OracleError, match=r"worse.*Weights: \[0\.3, 0\.2, 0\.1\]"):
        combinatorial_difficulty(Oracle(3, hasty), [0.3, 0.2, 0.1])
