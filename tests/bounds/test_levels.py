"""Every constant of the LIL bound against 50 digits of mpmath."""

from itertools import combinations

import mpmath as mp
import numpy as np
import pytest

from bestk.bounds import levels as lv
from bestk.bounds.lil import c_eps
from bestk.decisions import PartitionMatroid, TopK
from bestk.errors import InputError
from bestk.kernels import bounds, evidence, step
from bestk.policies import CATALOGUE, configure
from bestk.rewards import Gaussian

mp.mp.dps = 50


def exact_c(eps):
    eps = mp.mpf(eps)
    return (2 + eps) / eps * (1 / mp.log(1 + eps)) ** (1 + eps)


def exact_u(t, w, sigma, eps):
    t, w, sigma, eps = map(mp.mpf, (t, w, sigma, eps))
    inner = mp.log(mp.log((1 + eps) * t + 2) / w)
    return (1 + mp.sqrt(eps)) * mp.sqrt(2 * sigma**2 * (1 + eps) / t * inner)


def setup(name, variant, n=100, k=2, nu=0.01, **params):
    return configure(
        name,
        variant,
        params,
        decision=TopK(n, k),
        delta=nu,
        epsilon=0.0,
        rewards=Gaussian(0.5),
        seed=0,
    )


@pytest.mark.parametrize("eps", [0.001, 0.01, 0.1, 0.5, 0.99])
def test_c_eps_is_the_constant_of_the_lemma(eps):
    assert c_eps(eps) == pytest.approx(float(exact_c(eps)), rel=1e-13)


def test_c_at_one_percent_is_the_published_figure():
    assert round(c_eps(0.01)) == 21153


@pytest.mark.parametrize("eps", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("w", [1e-10, 5e-5, 0.005])
@pytest.mark.parametrize("t", [1, 2, 3, 100, 16384, 16385, 10**6, 10**9])
def test_the_radius_is_the_lemmas(eps, w, t):
    assert bounds.lil(float(t), w, 0.5, eps) == pytest.approx(
        float(exact_u(t, w, 0.5, eps)), rel=1e-13
    )


@pytest.mark.parametrize("variant", ["faithful", "heuristic"])
def test_tabulated_and_computed_radii_are_one_function(variant):
    spec = setup("lil-rand-lucb", variant).spec
    state = step.new_state(spec)
    for side, level in ((0, spec.level_lower), (1, spec.level_upper)):
        for t in (1, 2, 77, bounds.TABLE - 1, bounds.TABLE, bounds.TABLE + 1, 10**7):
            expected = float(exact_u(t, level, 0.5, spec.eps))
            computed = bounds.radius(state, spec, side, t)
            assert computed == pytest.approx(expected, rel=1e-13)
            assert bounds.radius(state, spec, side, t) == computed  # now from the table


def test_radii_of_evidence_beyond_the_table_are_a_little_wide_and_never_narrow():
    made = setup("e-lucb", None)
    state, e = made.new_state(), made.evidence
    for t in (bounds.TABLE, bounds.TABLE + 1, 10**5 + 7, 2**20 - 1, 2**20, 10**9 + 1, 2**61 + 5):
        for side, log_level in ((0, made.spec.log_lower), (1, made.spec.log_upper)):
            exact = -evidence.bound(e, 1.0, float(t), 0.0, 0.0, state.levels, 0, -log_level, np.nan)
            radius = bounds.radius(state, made.spec, side, t)
            assert exact * (1 - 1e-12) <= radius <= exact * (1 + 1 / 2000)
            assert bounds.radius(state, made.spec, side, t) == radius


@pytest.mark.parametrize("nu", [0.001, 0.01, 0.1])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (100, 2), (100, 50), (1000, 999)])
@pytest.mark.parametrize("eps", [0.01, 0.1])
def test_faithful_levels_give_exactly_the_error_of_their_theorem(nu, n, k, eps):
    c, nu_ = exact_c(eps), mp.mpf(nu)
    split = nu_ / c  # Theorem 3.1: c delta = nu
    uniform = (nu_ * mp.mpf(n) ** eps / c) ** (1 / (1 + mp.mpf(eps)))  # Theorem 4.1
    assert float(c * uniform ** (1 + mp.mpf(eps)) / mp.mpf(n) ** eps) == pytest.approx(nu)
    for name in ("lil-rand-lucb", "lucb++"):
        spec = setup(name, "faithful", n, k, nu, eps=eps).spec
        assert spec.level_lower == pytest.approx(float(split / (2 * (n - k))), rel=1e-12)
        assert spec.level_upper == pytest.approx(float(split / (2 * k)), rel=1e-12)
    for name, more in (
        ("lil-lucb", {}),
        ("lil-clucb", {}),
        ("uniform", {}),
        ("lil-rand-lucb", {"levels": "uniform"}),
    ):
        spec = setup(name, "faithful", n, k, nu, eps=eps, **more).spec
        assert spec.level_lower == pytest.approx(float(uniform / n), rel=1e-12)
        assert spec.level_upper == pytest.approx(float(uniform / n), rel=1e-12)


def test_the_published_deltas_at_one_percent():
    assert lv.faithful_delta("split", 0.01, 100, 0.01) == pytest.approx(4.73e-7, rel=1e-3)
    assert lv.lil_ucb_delta(0.01, 0.01) == pytest.approx(2.94e-10, rel=2e-3)


@pytest.mark.parametrize("nu", [0.001, 0.01, 0.1, 0.25])
def test_lil_ucb_solves_the_equation_of_its_theorem(nu):
    d = mp.mpf(lv.lil_ucb_delta(nu, 0.01)) * exact_c(0.01)
    assert float(4 * mp.sqrt(d) + 4 * d) == pytest.approx(nu, rel=1e-12)
    spec = setup("lil-ucb", "faithful", 100, 1, nu).spec
    assert (spec.scale, spec.lam) == (2.0, 9.0)


def test_the_heuristic_variants_use_delta_itself():
    spec = setup("lil-rand-lucb", "heuristic").spec
    assert (spec.eps, spec.level_lower, spec.level_upper) == (0.0, 0.01 / 196, 0.01 / 4)
    spec = setup("lil-ucb", "heuristic", 100, 1).spec
    assert (spec.eps, spec.level_lower, spec.scale, spec.lam) == (0.0, 0.01, 1.5, 1.1)


@pytest.mark.parametrize("eps", [0.0, 1.0, -0.1, 2.0])
def test_eps_outside_the_lemma_is_refused(eps):
    with pytest.raises(InputError, match=r"Lemma 2\.1"):
        setup("lil-rand-lucb", "faithful", eps=eps)


def test_a_level_outside_the_lemma_is_refused():
    lv.check_lemma(0.00366, 0.01)
    with pytest.raises(InputError, match="not below"):
        lv.check_lemma(0.00367, 0.01)


def test_faithful_lil_ucb_is_refused_where_its_delta_is_too_large():
    setup("lil-ucb", "faithful", 10, 1, 0.25)
    with pytest.raises(InputError, match="smaller delta"):
        setup("lil-ucb", "faithful", 10, 1, 0.26)


UNPROVED = ("lil-ucb", "glr")


def test_a_guarantee_is_claimed_only_where_it_is_proved():
    for policy in CATALOGUE.values():
        if policy.is_python:  # what these claim is their authors' word
            continue
        k = 1 if policy.single else 2
        for variant in policy.variants or (None,):
            found = setup(policy.name, variant, k=k).guarantee
            expected = None if variant == "heuristic" or policy.name in UNPROVED else 0.01
            assert found == expected, policy.name


# --- the smaller union ----------------------------------------------------------------------------


def shares(first, second):
    """p_r, and the sizes of the sets that they belong to: of `first` arms, against `second`."""
    sizes = [second + r - 1 for r in range(1, first + 1)]
    weights = [size / r for r, size in enumerate(sizes, start=1)]
    return [w / sum(weights) for w in weights], sizes, sum(weights)


@pytest.mark.parametrize("n", range(2, 10))
def test_a_wrong_answer_makes_the_sum_behind_the_smaller_union_as_large_as_it_claims(n):
    """Every wrong answer, arms in the order of their means; evidence 1 where the answer needs it.

    Z'' = sum over r of p_r L-_a(r) (mean over P_r of L+) must be 1/G at least, in both forms.
    """
    for k in range(1, n):
        lowest, sizes, one = shares(k, n - k)
        highest, mirrored, other = shares(n - k, k)
        assert lv.union(n, k) == pytest.approx(min(one, other), rel=1e-14)
        assert lv.union(n, k) <= k * (n - k) * (1 + 1e-14)
        for answer in combinations(range(n), k):
            if answer == tuple(range(k)):
                continue
            outside = set(range(n)) - set(answer)
            r = next(r for r in range(1, k + 1) if k - r in outside)  # a(r): the r-th worst of best
            behind = set(range(k - r + 1, n)) & set(answer)  # of P_r
            assert lowest[r - 1] * len(behind) / sizes[r - 1] >= (1 - 1e-12) / one
            r = next(r for r in range(1, n - k + 1) if k + r - 1 in answer)
            ahead = set(range(k + r - 1)) & outside
            assert highest[r - 1] * len(ahead) / mirrored[r - 1] >= (1 - 1e-12) / other


def test_the_smaller_union_counts_without_slack_for_independent_arms_and_top_k_alone():
    def made(k=5, epsilon=0.0, n=20, **settings):
        decision = settings.pop("decision", TopK(n, k))
        max_arms = settings.pop("max_arms", None)
        edition = settings.pop("edition", lv.EDITION)
        policy = "e-lucb" if isinstance(decision, TopK) else "e-clucb"
        return configure(
            policy, None, settings, decision=decision, delta=0.01, epsilon=epsilon,
            rewards=Gaussian(0.5), seed=0, max_arms=max_arms, edition=edition,
        )  # fmt: skip

    assert made().theorem == "docs/e-lucb.md, Theorem 7"
    assert made().spec.log_exact > made().spec.log_both > -np.inf
    matroid = PartitionMatroid(["a"] * 4 + ["b"] * 4, {"a": 2, "b": 2})
    for other in (
        made(epsilon=0.1), made(k=1), made(independent=False), made(max_arms=30), made(edition=1),
        made(weights=[0.3, 0.3, 0.4]), made(decision=matroid),
    ):  # fmt: skip
        assert other.spec.log_exact == other.spec.log_both
        assert not other.spec.pairs
        assert "Theorem 7" not in other.theorem
