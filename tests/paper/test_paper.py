"""Panels, intervals and verdicts."""

import math

import numpy as np
import pytest
from scipy import stats

from bestk.paper import claims, further_claims, verdicts
from bestk.paper import statistics as st
from bestk.paper.panels import PANELS, choose
from bestk.paper.results import Row
from bestk.paper.statistics import Estimate
from bestk.paper.verdicts import Comparison


def test_the_panels_are_those_of_the_paper_in_its_order():
    assert [panel.id for panel in PANELS] == [f"fig1{c}" for c in "abcdefgh"] + [
        f"fig2{c}" for c in "abcdef"
    ]
    assert [panel.variant for panel in PANELS] == ["faithful", "heuristic"] * 7
    kinds = [(p.instance, p.alpha, p.k) for p in PANELS[::2]]
    assert kinds == [
        ("1-sparse", None, "2"),
        ("1-sparse", None, "N/2"),
        ("exponential", 0.3, "2"),
        ("exponential", 0.3, "N/2"),
        ("1-sparse", None, "1"),
        ("lil-exponential", 0.3, "1"),
        ("lil-exponential", 0.6, "1"),
    ]
    # lil'UCB is plotted in the heuristic panels of Figure 2 only (Section 5.2)
    with_lil_ucb = [panel.id for panel in PANELS if "lil-ucb" in panel.policies]
    assert with_lil_ucb == ["fig2b", "fig2d", "fig2f"]
    assert [panel.id for panel in choose("fig2a, fig1a")[0]] == ["fig1a", "fig2a"]
    assert choose("cpe") == ((), True)


def test_a_ratio_interval_covers_the_true_ratio_as_often_as_it_says():
    # 2,000 pairs of estimates of 3 and 2; coverage 95%, tail 1e-6
    rng = np.random.default_rng(1)
    hits = 0
    for a, b in zip(rng.normal(3, 0.05, 2000), rng.normal(2, 0.05, 2000), strict=True):
        interval = st.ratio(Estimate(a, 0.05), Estimate(b, 0.05))
        hits += interval.low <= 1.5 <= interval.high
    assert min(stats.binom.cdf(hits, 2000, 0.95), stats.binom.sf(hits, 2000, 0.95)) > 1e-6


def test_simultaneous_intervals_are_wider():
    one, many = (st.ratio(Estimate(1, 0.1), Estimate(1, 0.1), comparisons=n) for n in (1, 20))
    assert many.low < one.low < 1 < one.high < many.high
    assert math.log(many.high) / math.log(one.high) == pytest.approx(
        stats.norm.ppf(1 - 0.025 / 20) / stats.norm.ppf(0.975)
    )


def test_the_slope_is_that_of_weighted_least_squares():
    x, y, errors = [0.0, 1.0, 2.0, 4.0], [1.0, 2.1, 2.9, 5.3], [0.1, 0.2, 0.1, 0.3]
    fit, covariance = np.polyfit(x, y, 1, w=1 / np.array(errors), cov="unscaled")
    slope = st.slope(x, y, errors)
    assert slope.value == pytest.approx(fit[0])
    assert slope.high - slope.low == pytest.approx(2 * 1.959964 * covariance[0, 0] ** 0.5, rel=1e-6)


def test_proportions_are_clopper_pearson():
    for count, total in ((0, 50), (3, 50), (50, 50)):
        expected = stats.binomtest(count, total).proportion_ci(0.95, "exact")
        interval = st.proportion(count, total)
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def compare(*ratios, error=0.001):
    return [Comparison(f"case {r}", Estimate(r, error), Estimate(1.0, error)) for r in ratios]


def test_verdicts_tell_support_contradiction_and_doubt_apart():
    assert verdicts.below("x", "x", compare(0.5, 0.9)).holds
    against = verdicts.below("x", "x", compare(0.5, 1.1))
    assert not against.holds
    assert "contradicted in 1: case 1.1" in against.detail
    doubt = verdicts.below("x", "x", compare(0.99, error=0.1))
    assert not doubt.holds
    assert "not resolved in 1" in doubt.detail
    assert verdicts.within("x", "x", compare(0.98, 1.03), 0.95, 1.05).holds
    assert not verdicts.within("x", "x", compare(0.98, 1.08), 0.95, 1.05).holds
    assert verdicts.not_below("x", "x", compare(1.0, 1.2, error=0.1)).holds
    assert not verdicts.not_below("x", "x", compare(0.8, 1.2)).holds


def rows(ratio_at, wrong=0):
    """Every panel, with lil-rand-lucb at ratio_at(N) of all others, e-lucb a little below it."""
    table = {}
    for panel in PANELS:
        for n in (10, 100):
            for policy in panel.policies:
                factor = ratio_at(n) if policy in ("lil-rand-lucb", "e-lucb") else 1.0
                factor *= 0.95 if policy == "e-lucb" else 1.0
                row = Row(panel.id, panel.instance, panel.alpha, n, 1, policy,
                          panel.variant_of(policy), 1000.0 * n * factor, 0.1 * n, 100,
                          wrong, 0, 1)  # fmt: skip
                table[row.key] = row
    return table


def test_claims_hold_where_the_rows_say_so_and_fail_where_they_do_not():
    good = {c.id: c for c in claims.from_panels(rows(lambda n: 0.5 if n == 100 else 0.6))}
    assert {name for name, c in good.items() if c.holds} == {
        "1-below", "1-grows", "12-heuristic", "2-below", "4-below", "6",
    }  # fmt: skip
    assert not good["2-level"].holds
    flat = {c.id: c for c in claims.from_panels(rows(lambda _: 1.001, wrong=1))}
    assert {name for name, c in flat.items() if c.holds} == {
        "12-heuristic", "2-level", "4-level",
    }  # fmt: skip
    assert flat["6"].statistic == 0.01


def test_claims_of_panels_that_were_not_run_are_left_out():
    few = {key: row for key, row in rows(lambda _: 0.5).items() if row.panel == "fig1a"}
    assert [claim.id for claim in claims.from_panels(few)] == [
        "1-below", "12-faithful", "1-grows",
    ]  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("test", further_claims.FURTHER, ids=lambda test: test.__name__)
def test_claims_with_runs_of_their_own_have_a_number_inside_their_interval(test):
    claim = test(further_claims.Lab(runs=4, jobs=2))
    assert claim.ci[0] <= claim.statistic <= claim.ci[1]
    assert claim.detail
