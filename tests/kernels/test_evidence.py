"""Evidence: right to many digits, valid by enumeration, monotone, and rightly inverted."""

import itertools
import math
from bisect import bisect_left
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bestk.errors import InputError
from bestk.kernels import special
from bestk.rewards import Bernoulli, Bounded, Gaussian, Ratings
from bestk.rewards.evidence import Setting
from helpers.compiled import CompiledEvidence
from reference.exact_evidence import exact_log_e

NAN = float("nan")
NO_COUNTS = np.zeros((1, 2), dtype=np.int64)
ev = CompiledEvidence()
SIDES = (ev.PLUS, ev.MINUS)
LEVELS = (1.0, 2.0, 2.5, 5.0)
FAMILIES = {
    "normal": Gaussian(0.5),
    "beta": Bernoulli(),
    "betting": Ratings(LEVELS),
    "bernstein": Bounded(-1.0, 3.0),
}
EVIDENCE = {name: rewards.evidence() for name, rewards in FAMILIES.items()}
FAMILIES["rayleigh"] = Gaussian(0.5)
EVIDENCE["rayleigh"] = Gaussian(0.5).policy_evidence(Setting(balanced=True))
FAMILIES["coins"] = Bernoulli()
EVIDENCE["coins"] = Bernoulli().policy_evidence(Setting())
BINARY_KINDS = ("beta", "coins")


def log_e(e, sign, stats, c):
    t, s, v, counts = stats
    value, slope = ev.log_evidence(e, sign, t, s, v, counts, 0, c)
    assert not math.isnan(slope)
    return value


def tell(e, stats, x):
    """The statistics after one more reward."""
    t, s, v, counts = stats
    counts = counts.copy()
    if e.kind == ev.BETTING:
        counts[0, int(np.searchsorted(e.levels, x))] += 1
    if e.kind == ev.BERNSTEIN:
        v = ev.spread(e, t, s, v, x)
    return t + 1.0, s + x, v, counts


def nothing(e):
    return 0.0, 0.0, 0.0, np.zeros((1, e.levels.size + 1), dtype=np.int64)


# --- digits ---------------------------------------------------------------------------------------


COUNTS = (1, 2, 7, 40, 1000, 10**6, 10**9)


def grid(name):
    """Statistics and candidates: ends of the range, near the mean, far from it."""
    e = EVIDENCE[name]
    low, high = (-3.0, 4.0) if e.kind == ev.NORMAL else (e.levels[0], e.levels[-1])
    width = high - low
    edges = [low, low + 1e-13 * width, high - 1e-13 * width, high]
    if low == 0.0:
        edges += [5e-324, 1e-200, 1e-20]
    for t in map(float, COUNTS):
        for share in (0.0, 1e-310, 1e-9, 0.02, 0.3, 0.5, 0.97, 1.0):
            counts = np.zeros((1, e.levels.size + 1), dtype=np.int64)
            if name == "betting":
                counts[0, -2] = round(share * t)
                counts[0, 1] = round(0.3 * (t - counts[0, -2]))
                counts[0, 0] = t - counts.sum()
                s = float(counts[0, :-1] @ e.levels)
            elif name in BINARY_KINDS and share in (1e-310, 0.3, 0.97):
                s = share * t  # rewards between 0 and 1 qualify
            elif name in BINARY_KINDS:
                s = float(round(share * t))
            else:
                s = t * (low + width * share)
            for v in (0.0, 0.01 * t, t) if name == "bernstein" else (0.0,):
                m, unit = s / t, width / math.sqrt(t)
                near = [m + k * unit for k in (-9.0, -1.0, -0.1, -1e-4, 0.0, 1e-4, 0.1, 1.0, 9.0)]
                inside = [low + share * width for share in (0.01, 0.4, 0.6, 0.99)]
                for c in {float(min(max(c, low), high)) for c in edges + near + inside}:
                    yield (t, s, v, counts), c


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("sign", SIDES)
def test_log_e_agrees_with_60_digits(name, sign):
    """Within 5e-14 + 2e-14 |log E| + 1e-16 T, which at T = 10^9 is an absolute 1e-7."""
    e = EVIDENCE[name]
    floor = 5e-13 if name == "rayleigh" else 5e-14  # there two terms cancel above the mean
    with mpmath.workdps(60):
        for stats, c in grid(name):
            ours, exact = log_e(e, sign, stats, c), exact_log_e(e, sign, stats, c)
            if mpmath.isinf(exact):
                assert ours == math.inf, (stats, c)
                continue
            allowed = floor + 2e-14 * abs(exact) + 1e-16 * stats[0]
            assert abs(ours - exact) <= allowed, (stats, c, ours, exact)


@pytest.mark.parametrize("c", [5e-324, 1e-310, 1e-305])
def test_bets_stay_finite_next_to_the_end(c):
    e = Ratings((0.0, 0.5, 1.0)).evidence()
    stats = 10.0, 5.5, 0.0, np.array([[2, 5, 3, 0]])
    with mpmath.workdps(60):
        assert log_e(e, ev.PLUS, stats, c) == pytest.approx(
            float(exact_log_e(e, ev.PLUS, stats, c)), rel=1e-14
        )


def test_log_erfcx_agrees_with_60_digits():
    """Within 1e-14, relative above 1, across the switch of branches at 10."""
    with mpmath.workdps(60):
        for x in [*np.linspace(-26.0, 40.0, 133), 9.999999, 10.0, 1e3]:
            exact = mpmath.mpf(x) ** 2 + mpmath.log(mpmath.erfc(mpmath.mpf(x)))
            assert abs(special.log_erfcx(x) - exact) <= 1e-14 * max(1.0, abs(exact)), x


# --- validity -------------------------------------------------------------------------------------

BINARY = [(Bernoulli(), (0.0, 1.0), (1 - p, p)) for p in (0.03, 0.5, 0.8)]
RATED = [
    (Ratings((0.0, 0.5, 1.0)), (0.0, 0.5, 1.0), (0.7, 0.2, 0.1)),
    (Ratings((-1.0, 2.0, 7.0)), (-1.0, 2.0, 7.0), (0.05, 0.0, 0.95)),
]
RANGED = [
    (Bounded(), (0.0, 0.4, 1.0), (0.1, 0.8, 0.1)),
    (Bounded(-1.0, 3.0), (-1.0, 3.0), (0.98, 0.02)),
]
CANDIDATES = np.concatenate([np.linspace(0.0, 1.0, 21), [1e-9, 1e-4, 1 - 1e-4, 1 - 1e-9]])


def tree(e, values, shares, depth):
    """Every sequence of outcomes up to the depth: (outcomes, probability, statistics)."""
    level = [((), 1.0, nothing(e))]
    yield from level
    for _ in range(depth):
        level = [
            ((*path, x), p * q, tell(e, stats, x))
            for path, p, stats in level
            for x, q in zip(values, shares, strict=True)
            if q > 0.0
        ]
        yield from level


def dominating(e, sign, stats, mean):
    """log L: E at the true mean; for the Beta mixture the two-sided one."""
    if e.kind == ev.BETA:
        return max(log_e(e, side, stats, mean) for side in SIDES)
    return log_e(e, sign, stats, mean)


@pytest.mark.parametrize(("rewards", "values", "shares"), BINARY + RATED + RANGED)
@pytest.mark.parametrize("sign", SIDES)
def test_evidence_is_valid_over_all_outcomes_up_to_eight_samples(rewards, values, shares, sign):
    """L is a supermartingale from 1, and E(c) <= L for every c beyond the true mean.

    So E L <= 1 at every T and every stopping time; 50 random ones are checked all the same.
    """
    e = rewards.evidence()
    mean, depth = float(np.dot(values, shares)), 8
    expected, wealth, known = np.zeros(depth + 1), {}, {}
    candidates = rewards.low + (rewards.high - rewards.low) * np.sort(CANDIDATES)
    for path, p, stats in tree(e, values, shares, depth):
        same = *stats[:3], *stats[3][0]  # many outcomes differ in their order only
        if same not in known:
            curve = np.array([log_e(e, sign, stats, c) for c in candidates])
            known[same] = dominating(e, sign, stats, mean), curve
        top, curve = known[same]
        expected[len(path)] += p * math.exp(top)
        wealth[path] = p, math.exp(top)
        rises = np.diff(curve[np.isfinite(curve)]) * sign
        assert np.all(rises <= 1e-12)  # nonincreasing for E+, nondecreasing for E-
        beyond = curve[sign * (candidates - mean) >= 0.0]
        assert np.all(beyond <= top + 1e-12)
    assert np.all(expected <= 1.0 + 1e-12)
    if e.kind != ev.BERNSTEIN:  # the others are martingales: nothing is lost
        np.testing.assert_allclose(expected, 1.0, rtol=1e-12)

    assert wealth[()] == (1.0, 1.0)
    for path, (p, value) in wealth.items():
        if len(path) < depth:
            later = sum(np.prod(wealth.get((*path, x), (0.0, 0.0))) for x in values)
            assert later <= p * value * (1.0 + 1e-12), path

    rng = np.random.default_rng(7)
    for _ in range(50):
        total, stopped = 0.0, set()
        for path, (p, value) in wealth.items():  # shorter outcomes come first
            if path[:-1] in stopped and path:
                stopped.add(path)
            elif len(path) == depth or rng.random() < 0.3 * min(value, 2.0):
                total += p * value
                stopped.add(path)
        assert total <= 1.0 + 1e-12


@pytest.mark.parametrize("points", [(3.0,), (1.0, 30.0, 1000.0)])
@pytest.mark.parametrize("sign", SIDES)
def test_normal_evidence_is_a_martingale_under_normal_rewards_and_less_under_coins(points, sign):
    """One step ahead by Gauss-Hermite quadrature with 120 nodes; a coin of +-sigma gives less."""
    sigma, mean = 0.7, 0.4
    e = Gaussian(sigma).evidence(points)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()

    def value(t, s, c):
        return math.exp(log_e(e, sign, (t, s, 0.0, NO_COUNTS), c))

    for t, lead in itertools.product((0.0, 1.0, 2.0, 5.0, 50.0), (-3.0, -0.5, 0.0, 1.0, 4.0)):
        s = t * mean + lead * sigma * math.sqrt(t)
        now = value(t, s, mean)
        later = sum(
            w * value(t + 1.0, s + mean + sigma * x, mean)
            for w, x in zip(weights, nodes, strict=True)
        )
        assert later == pytest.approx(now, rel=1e-9)
        coin = 0.5 * sum(value(t + 1.0, s + mean + x, mean) for x in (-sigma, sigma))
        assert coin <= now * (1.0 + 1e-12)


# --- shape and inverse ----------------------------------------------------------------------------


@st.composite
def situations(draw):
    """A family and statistics it could have seen, up to 10^9 samples."""
    name = draw(st.sampled_from(list(EVIDENCE)))
    e = EVIDENCE[name]
    size = draw(st.sampled_from([10, 1000, 10**9]))
    counts = np.zeros((1, e.levels.size + 1), dtype=np.int64)
    if name == "betting":
        parts = st.one_of(st.just(0), st.integers(0, size // 4))
        counts[0, :-1] = [draw(parts) for _ in LEVELS]
        counts[0, draw(st.integers(0, 3))] += 1
        t = float(counts.sum())
        return name, (t, float(counts[0, :-1] @ e.levels), 0.0, counts)
    t = float(draw(st.integers(1, size)))
    if name in BINARY_KINDS:
        s = min(draw(st.one_of(st.integers(0, int(t)).map(float), st.floats(0.0, t))), t)
        return name, (t, s, 0.0, counts)
    if e.kind == ev.NORMAL:
        return name, (t, t * draw(st.floats(-1e6, 1e6)), 0.0, counts)
    share = draw(st.floats(0.0, 1.0))
    return name, (t, t * (-1.0 + 4.0 * share), t * draw(st.floats(0.0, 16.0)), counts)


def span(name):
    e = EVIDENCE[name]
    return (-2e6, 2e6) if e.kind == ev.NORMAL else (e.levels[0], e.levels[-1])


@settings(max_examples=400)
@given(situations(), st.lists(st.floats(-0.1, 1.1), min_size=2, max_size=2), st.floats())
def test_evidence_is_never_nan_and_monotone(situation, shares, anything):
    name, stats = situation
    e = EVIDENCE[name]
    low, high = span(name)
    a, b = (low + share * (high - low) for share in sorted(shares))
    for sign in SIDES:
        near, far = (a, b) if sign > 0 else (b, a)
        x, y = log_e(e, sign, stats, near), log_e(e, sign, stats, far)
        assert x == y or x >= y - 1e-12 * max(1.0, abs(y)) - 1e-15 * stats[0]
        if not math.isnan(anything):
            assert not math.isnan(log_e(e, sign, stats, anything))


@settings(max_examples=400)
@given(situations(), st.floats(0.01, 60.0), st.one_of(st.just(NAN), st.floats(-0.1, 1.1)))
@example(("bernstein", (142815151.0, 7269127.565826198, 0.0, NO_COUNTS)), 12.0, NAN)
def test_a_bound_is_the_last_candidate_with_enough_evidence(situation, target, warm):
    """Exactly enough in doubles; 1e-6 too much, or none 8 ulp (or one step of the grid) in."""
    name, stats = situation
    e = EVIDENCE[name]
    t, s, v, counts = stats
    low, high = span(name)
    for sign in SIDES:
        start = low + warm * (high - low)
        found = ev.bound(e, sign, t, s, v, counts, 0, target, start)
        end = low if sign > 0 else high
        assert not math.isnan(found)
        if e.kind == ev.NORMAL:
            assert math.isfinite(found)
        else:
            assert low <= found <= high
        value = log_e(e, sign, stats, found)
        if found != end:
            assert value >= target
        further = found
        for _ in range(8):
            further = np.nextafter(further, sign * np.inf)
        if e.kind in (ev.BETA, ev.BETTING, ev.COINS):
            further += sign * abs(found - end) * 2.0 ** (1 - ev.GRID_BITS)
        slack = 1e-6 + 1e-15 * t
        assert value <= target + slack or log_e(e, sign, stats, further) <= target + slack


@settings(max_examples=300)
@given(situations(), st.floats(0.01, 30.0), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6))
def test_a_bound_on_a_grid_is_the_same_wherever_the_search_began(situation, target, starts):
    name, (t, s, v, counts) = situation
    e = EVIDENCE[name]
    if e.kind in (ev.BETA, ev.BETTING, ev.COINS):
        low, high = span(name)
        for sign in SIDES:
            warm = [low + start * (high - low) for start in starts]
            found = {ev.bound(e, sign, t, s, v, counts, 0, target, at) for at in warm}
            assert len(found) == 1


@settings(max_examples=200)
@given(situations(), st.floats(0.01, 30.0), st.floats(0.01, 30.0))
def test_more_confidence_means_wider_bounds_around_the_mean(situation, target, more):
    name, (t, s, v, counts) = situation
    e = EVIDENCE[name]
    for sign in SIDES:
        narrow = ev.bound(e, sign, t, s, v, counts, 0, target, NAN)
        wide = ev.bound(e, sign, t, s, v, counts, 0, target + more, NAN)
        assert sign * wide <= sign * narrow <= sign * (s / t)


def test_infinite_candidates_are_fully_refuted_or_not_at_all():
    stats = 4.0, 2.0, 0.0, NO_COUNTS
    for sign in SIDES:
        assert log_e(EVIDENCE["normal"], sign, stats, -sign * math.inf) == math.inf
        assert log_e(EVIDENCE["normal"], sign, stats, sign * math.inf) == -math.inf
    for sign, s in ((ev.PLUS, 0.0), (ev.MINUS, 4.0)):  # all rewards at the end: no contradiction
        for name in BINARY_KINDS:
            assert log_e(EVIDENCE[name], sign, (4.0, s, 0.0, NO_COUNTS), s / 4.0) < 0.0
            assert log_e(EVIDENCE[name], sign, stats, s / 4.0) == math.inf


def test_nothing_seen_says_nothing():
    for e in EVIDENCE.values():
        stats = nothing(e)
        for sign in SIDES:
            end = -sign * math.inf if e.kind == ev.NORMAL else e.levels[0 if sign > 0 else -1]
            assert log_e(e, sign, stats, 0.3) == 0.0
            assert ev.bound(e, sign, *stats, 0, 3.0, NAN) == end


def test_the_two_sides_mirror_each_other():
    e = Ratings((0.0, 1.0, 4.0)).evidence()
    mirrored = Ratings((-4.0, -1.0, 0.0)).evidence()
    counts, mirror = np.array([[5, 2, 1, 0]]), np.array([[1, 2, 5, 0]])
    for c in (0.1, 0.75, 2.0):
        here = log_e(e, ev.PLUS, (8.0, 6.0, 0.0, counts), c)
        there = log_e(mirrored, ev.MINUS, (8.0, -6.0, 0.0, mirror), -c)
        assert here == pytest.approx(there, rel=1e-14)


def test_coins_are_ratings_of_two_levels_that_need_no_counts():
    e = Bernoulli().evidence([0.9, 0.3, 0.01], [1.0, 2.0, 3.0])
    rated = Ratings((0, 1)).evidence([0.9, 0.3, 0.01], [1.0, 2.0, 3.0])
    for zeros, ones in ((0, 1), (3, 0), (7, 12), (4000, 5)):
        t, counts = float(zeros + ones), np.array([[zeros, ones, 0]])
        for sign in SIDES:
            for c in (1e-9, 0.2, 0.5, 0.999):
                here = ev.log_evidence(e, sign, t, float(ones), 0.0, NO_COUNTS, 0, c)
                there = ev.log_evidence(rated, sign, t, float(ones), 0.0, counts, 0, c)
                assert here == pytest.approx(there, rel=1e-12, abs=1e-12)


def test_bets_on_coins_outweigh_the_two_sided_beta_mixture_where_it_matters():
    """At the mean path of two coins: the samples at which evidence 1/nu is reached, and kept."""
    beta, bets, steps = Bernoulli().evidence(), EVIDENCE["coins"], 1.05 ** np.arange(40, 700)
    for p, gap in itertools.product((0.001, 0.01, 0.1, 0.4, 0.5), (1e-5, 0.001, 0.01, 0.1, 0.5)):
        c = np.linspace(p, p + gap, 41)[1:-1]

        def enough(e, t, p=p, gap=gap, c=c):
            x = np.array([log_e(e, ev.MINUS, (t, t * p, 0.0, NO_COUNTS), at) for at in c])
            y = np.array([log_e(e, ev.PLUS, (t, t * (p + gap), 0.0, NO_COUNTS), at) for at in c])
            return (x + y).min() >= math.log(20.0)

        first = [steps[bisect_left(steps, True, key=partial(enough, e))] for e in (beta, bets)]
        assert first[1] <= 0.93 * first[0], (p, gap, first)


def test_a_mixture_that_is_none_is_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        Ratings((0, 1)).evidence([0.5, 1.0])
    with pytest.raises(InputError, match="between 0 and inf"):
        Gaussian().evidence([])
    with pytest.raises(InputError, match="positive one for each"):
        Gaussian().evidence([1.0, 2.0], [1.0])
