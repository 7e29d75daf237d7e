"""e-lucb, glr, and the paper's policies with evidence bounds, decision by decision (`lockstep.py`).

Run as a script this file prints the decisions of some instances, which is how compiled and
interpreted kernels are compared.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from bestk.decisions import TopK
from bestk.kernels import bounds
from bestk.kernels import evidence as ev
from bestk.kernels.types import HIGH, LOW, SIGN
from bestk.rewards import Bounded, Ratings
from bestk.rewards.evidence import Setting
from helpers.compiled import check
from helpers.lockstep import (
    CONTINUOUS,
    FAMILIES,
    Problem,
    Tally,
    agree,
    load,
    page_of,
    slow_family,
)
from reference import naive_evidence as naive
from reference.naive_hybrid import Levels, hybrid_weights

CASES = [
    *(("e-lucb", {"rule": rule}) for rule in ("random", "radius", "both", "least-sampled")),
    ("e-lucb", {"independent": False}),
    ("e-lucb", {"weights": [0.1, 0.2, 0.7]}),
    *(("glr", {"threshold": threshold}) for threshold in ("growing", "fixed")),
    ("lil-rand-lucb", {}),
    ("lil-rand-lucb", {"levels": "uniform", "rule": "radius"}),
    ("lil-lucb", {}),
    ("lucb++", {}),
    ("uniform", {}),
]
every_family = pytest.mark.parametrize("family", FAMILIES)
# two rules of e-lucb meet all families; other cases coins and, in turn, half of the others: always
# normal rewards and bets
PAIRS = [
    pytest.param(case, family, id="-".join(map(str, (case[0], *case[1].values(), family))))
    for i, case in enumerate(CASES)
    for j, family in enumerate(FAMILIES)
    if i < 2 or (i + j) % 2 == 0 or family == "bernoulli"
]


def some(dice, family, n, case, **settings) -> Problem:
    """A random instance; means in (0, 1), the best K apart from the rest or not."""
    policy, params = case
    k, gap = dice.randint(1, n - 1), dice.choice([0.0, 0.3, 0.6])
    slacks = [0.0] if policy == "glr" else [0.0, 0.0, 0.1, 0.4]
    means = [dice.uniform(0.05, 0.35) + (gap if i < k else 0.0) for i in range(n)]
    if dice.random() < 0.3:  # arms alike tie all the time where rewards are discrete
        means = [0.9] * k + [0.1] * (n - k)
    dice.shuffle(means)
    return Problem(
        TopK(n, k),
        family,
        means,
        policy=policy,
        params=params,
        nu=dice.choice([0.001, 0.05, 0.3]),
        epsilon=dice.choice(slacks),
        maximize=dice.random() < 0.6,
        seed=dice.randrange(1 << 40),
        **settings,
    )


@pytest.mark.parametrize(("case", "family"), PAIRS)
def test_the_kernel_makes_every_decision_of_the_pseudocode(case, family):
    dice, tally = random.Random(1), Tally()
    for n in (2, 4, 7):
        agree(some(dice, family, n, case, strays=0.05), tally)
    # of continuous rewards only the hybrid stop, between nu and 0.99 nu, leaves a choice
    assert tally.ties <= (2 if family in CONTINUOUS else 0.1 * tally.asks)
    assert tally.stopped > 0


@every_family
@pytest.mark.parametrize("maximize", [True, False])
def test_it_does_so_until_it_stops(family, maximize):
    tally, dice = Tally(), random.Random(2)
    for n, k in ((2, 1), (4, 1), (5, 3), (6, 3)):
        means = [0.85] * k + [0.1] * (n - k)
        dice.shuffle(means)
        decision = TopK(n, k if maximize else n - k)
        agree(Problem(decision, family, means, nu=0.1, cap=3000, maximize=maximize, seed=n), tally)
    assert tally.stopped == 4
    assert tally.early >= 3


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "bounded"])
def test_where_pulls_have_costs_the_kernel_follows_the_rule_for_them(family):
    dice, tally = random.Random(3), Tally()
    for n in (2, 4, 7):  # costs whose roots are exact, so that no two sides round apart
        costs = tuple(dice.choice([1.0, 16.0, 256.0]) for _ in range(n))
        agree(some(dice, family, n, CASES[1], costs=costs, cap=100), tally)
    means = [0.85, 0.1, 0.1]
    costs = (16.0, 1.0, 256.0)
    agree(Problem(TopK(3, 1), family, means, nu=0.1, costs=costs), tally)
    assert tally.stopped > 0


def test_it_keeps_every_arm_sampled_and_checks_the_hybrid_stop_more_seldom():
    """A third arm that is never in doubt gets a hundredth of an even share."""
    tally = Tally()
    agree(Problem(TopK(3, 1), "gaussian", [0.5, 0.4, -9.0], cap=2500, seed=3), tally, (0, 1))
    assert tally.stopped == tally.early == 2
    assert tally.asks > 2 * 600
    assert tally.ties <= 2


# --- evidence and bounds --------------------------------------------------------------------------


def test_the_weights_of_both_sides_and_their_product_follow_the_stated_rule():
    for n in (2, 3, 10, 64, 1000):
        for k in {1, 2, n // 2, n - 1} & set(range(1, n)):
            for independent in (True, False):
                for family, epsilon in product(("gaussian", "bernoulli"), (0.0, 0.1)):
                    check_weights(n, k, independent, family, epsilon)


def check_weights(n, k, independent, family, epsilon):
    params = {"independent": independent}
    found = Problem(TopK(n, k), family, [], params=params, epsilon=epsilon).configured
    wanted = hybrid_weights(n, k, independent, epsilon == 0.0, family == "gaussian")
    assert found.params["weights"] == pytest.approx(wanted, rel=1e-12)
    assert sum(wanted) == pytest.approx(1.0, rel=1e-12)
    levels, spec = Levels(0.05, n, k, "hybrid", wanted), found.spec
    logs = spec.log_lower, spec.log_upper, spec.log_both, spec.log_exact, spec.log_pair
    ours = levels.high, levels.low, levels.both, levels.exact, levels.pair
    assert [np.exp(x) for x in logs] == pytest.approx(ours, rel=1e-12)
    assert spec.ratio == pytest.approx(levels.ratio)


def test_what_policies_mix_over_is_fixed_and_weighs_1():
    for family, (rewards, _) in FAMILIES.items():
        for n, k in ((2, 1), (10, 1), (100, 50)):
            e = Problem(TopK(n, k), family, []).configured.evidence
            assert np.exp(e.log_weights).sum() == pytest.approx(1.0, abs=1e-14)
            assert (e.points > 0).all()
            if isinstance(rewards, Ratings | Bounded):
                np.testing.assert_allclose(e.points, [0.8 * 2.0**-j for j in range(12)])
                assert e.levels.size == (3 if family == "ratings" else 65)


@pytest.mark.parametrize("family", [*FAMILIES, "bernstein"])
def test_log_e_and_bounds_are_those_of_plain_formulas(family):
    dice = random.Random(4)
    for t in (1, 2, 5, 30, 200):
        for x in (0.02, 0.4, 0.9):
            slow, e, seen, stats = observed(dice, family, t, x)
            ends = (-4.0, 4.0) if e.kind == ev.NORMAL else (slow.low, slow.high)
            for side in (ev.PLUS, ev.MINUS):
                c = np.linspace(*ends, 23)
                ours = [ev.log_evidence(e, side, *stats, 0, point)[0] for point in c]
                np.testing.assert_allclose(ours, slow.log_e(side, seen, c), rtol=1e-10, atol=1e-10)
                for alpha in (0.3, 0.01, 1e-5):
                    found = ev.bound(e, side, *stats, 0, -np.log(alpha), np.nan)
                    wanted = naive.bound(slow, side, seen, alpha)
                    near = (
                        1e-8 if e.kind in (ev.BERNSTEIN, ev.NORMAL) else 1e-6
                    )  # a step of the grid
                    assert found == pytest.approx(wanted, rel=near, abs=near)
                    assert side * found <= side * wanted + 1e-9  # never too narrow


@pytest.mark.parametrize("k", [1, 3])
def test_normal_bounds_of_many_samples_are_at_most_a_touch_too_wide(k):
    """Radii are tabulated: a part in 4,000 is lost beyond the table, and none before it."""
    problem = Problem(TopK(6, k), "gaussian", [])
    kernel, slow = problem.stepper(), problem.naive(0)
    for t in (1, 100, 16384, 16385, 16391, 20479, 10**6 + 1, 10**9 + 12345, (1 << 50) - 1):
        load(kernel, [(t, t * x) for x in (0.0, 2.0, 2.0, 0.0, 0.0, 2.0)])
        for i, x in enumerate((0.0, 2.0, 2.0, 0.0, 0.0, 2.0)):
            for level, end in ((slow.levels.high, LOW), (slow.levels.low, HIGH)):
                exact = naive.normal_distance(slow.family, t, level)
                found = SIGN[end] * (bounds.bound(kernel.state, kernel.spec, i, end) - x)
                few = 1e-7 * exact + 1e-15  # digits of the cutting, and of the means
                assert exact - few <= found <= exact * (1 + (t > 16384) / 4000) + few


def observed(dice, family, t, x):
    """t rewards with mean about x: both sides' evidence of them, and both sides' statistics."""
    rewards, draw = FAMILIES["ranged" if family == "bernstein" else family]
    e = rewards.evidence() if family == "bernstein" else rewards.policy_evidence(Setting())
    slow = slow_family(rewards, e)
    data = [slow.see(draw(dice, x), dice.random()) for _ in range(t)]
    counts = np.array([[*(data.count(level) for level in e.levels), 0]])  # no holes
    s, v = 0.0, 0.0
    for n, reward in enumerate(data):
        v = ev.spread(e, float(n), s, v, reward) if family == "bernstein" else 0.0
        s += reward
    return slow, e, slow.summary(data), (float(t), s, v, counts)


# --- compiled and interpreted ---------------------------------------------------------------------


def journal() -> list:
    dice = random.Random(6)
    compiled = [("gaussian", "e-lucb"), ("bernoulli", "e-lucb"), ("ranged", "e-lucb")]
    cases = [(family, case) for family, policy in compiled for case in CASES if case[0] == policy]
    pages = [page_of(some(dice, family, 4, case, strays=0.1, cap=60)) for family, case in cases]
    costs = (1.0, 10.0, 3.0, 7.0)
    return pages + [page_of(some(dice, family, 4, CASES[1], costs=costs)) for family, _ in compiled]


def test_interpreted_kernels_decide_like_compiled_ones(monkeypatch):
    check(monkeypatch, journal)
