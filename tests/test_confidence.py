"""Confidence sequences cover the mean at all times at once, and bad data are refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bestk
from bestk.confidence import confidence_sequence
from bestk.errors import InputError
from bestk.rewards import (
    FAMILIES,
    Bernoulli,
    Bounded,
    Gaussian,
    Ratings,
    SubGaussian,
    make_rewards,
)

pytestmark = pytest.mark.compiled

STARS = Ratings((1, 2, 3, 4, 5))

# (assumption, true mean, draw): even and lopsided cases of each assumption
SOURCES = {
    "gaussian": (Gaussian(0.5), 0.3, lambda rng, n: rng.normal(0.3, 0.5, n)),
    "subgaussian": (SubGaussian(2.0), 1.0, lambda rng, n: rng.choice([-1.0, 3.0], n)),
    "bernoulli-half": (Bernoulli(), 0.5, lambda rng, n: rng.random(n) < 0.5),
    "bernoulli-rare": (Bernoulli(), 0.02, lambda rng, n: rng.random(n) < 0.02),
    "ratings-piled": (STARS, 1.2, lambda rng, n: rng.choice([1.0, 5.0], n, p=[0.95, 0.05])),
    "ratings-even": (Ratings((0, 1, 3)), 4 / 3, lambda rng, n: rng.choice([0.0, 1.0, 3.0], n)),
    "bounded-piled": (Bounded(-1, 3), -0.96, lambda rng, n: 4.0 * (rng.random(n) < 0.01) - 1.0),
    "bounded-even": (Bounded(), 0.2, lambda rng, n: rng.beta(2.0, 8.0, n)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_mean_leaves_the_interval_in_at_most_alpha_of_the_runs(name):
    """H: P(ever outside within 300 rewards) <= 0.1; 1,000 runs; false alarm below 1e-6."""
    rewards, mean, draw = SOURCES[name]
    rng = np.random.default_rng(20260)
    left = 0
    for _ in range(1000):
        found = confidence_sequence(rewards, draw(rng, 300), alpha=0.1)
        left += bool(np.any((found.low > mean) | (found.high < mean)))
    assert left <= stats.binom.isf(1e-6, 1000, 0.1)


@pytest.mark.parametrize("name", SOURCES)
def test_the_interval_surrounds_the_mean_of_the_data_and_shrinks(name):
    """The width is at most twice that of a fixed-time interval at the level 0.001 a side."""
    rewards, _, draw = SOURCES[name]
    data = draw(np.random.default_rng(5), 20_000)
    found = confidence_sequence(rewards, data)
    np.testing.assert_allclose(found.mean, np.cumsum(data) / np.arange(1, 20_001), rtol=1e-12)
    assert np.all((found.low <= found.mean) & (found.mean <= found.high))
    scale = rewards.sigma if rewards.name in ("gaussian", "subgaussian") else np.std(data)
    assert found.high[-1] - found.low[-1] <= 2.0 * 2.0 * 3.1 * scale / np.sqrt(20_000)
    if not rewards.name.endswith("gaussian"):
        assert found.low.min() >= rewards.low
        assert found.high.max() <= rewards.high


def test_variance_that_is_small_is_rewarded():
    """Ratings with a standard deviation of a quarter of half the range: a third of the width."""
    rng = np.random.default_rng(3)
    data = rng.choice([2.0, 3.0, 4.0], 3000, p=[0.125, 0.75, 0.125])
    widths = {}
    for rewards in (STARS, Bounded(1, 5), SubGaussian(2.0)):
        found = confidence_sequence(rewards, data)
        widths[rewards.name] = found.high[-1] - found.low[-1]
    assert widths["ratings"] < widths["subgaussian"] / 3
    assert widths["bounded"] < widths["subgaussian"] / 3


@settings(max_examples=60)
@given(st.lists(st.floats(-1e12, 1e12), max_size=20), st.floats(-1e6, 1e6))
def test_normal_intervals_move_with_the_data(data, shift):
    here = confidence_sequence(SubGaussian(3.0), data)
    there = confidence_sequence(SubGaussian(3.0), [x + shift for x in data])
    close = {"rtol": 1e-9, "atol": 1e-9 * (1 + abs(shift)) + 1e-9 * max(map(abs, data), default=0)}
    np.testing.assert_allclose(here.low + shift, there.low, **close)
    np.testing.assert_allclose(here.high + shift, there.high, **close)


def test_bounded_intervals_scale_with_the_range():
    data = np.random.default_rng(1).beta(2, 3, 500)
    unit = confidence_sequence(Bounded(), data)
    scaled = confidence_sequence(Bounded(-3.0, 5.0), 8.0 * data - 3.0)
    np.testing.assert_allclose(scaled.low, 8.0 * unit.low - 3.0, atol=1e-8)
    np.testing.assert_allclose(scaled.high, 8.0 * unit.high - 3.0, atol=1e-8)


def test_a_large_offset_does_not_eat_the_digits():
    data = np.random.default_rng(2).integers(0, 64, 5000) / 64.0
    near = confidence_sequence(Gaussian(0.5), data)
    far = confidence_sequence(Gaussian(0.5), data + 2.0**40)
    np.testing.assert_allclose(far.low - 2.0**40, near.low, atol=2.0**-11)


def test_integers_booleans_and_fractions_are_numbers():
    ints = confidence_sequence(Bernoulli(), [1, 0, 1, 1])
    for data in (
        [True, False, True, True],
        np.array([1, 0, 1, 1], dtype=np.int8),
        iter((1, 0, 1, 1)),
    ):
        np.testing.assert_array_equal(confidence_sequence(Bernoulli(), data).low, ints.low)
    halves = confidence_sequence(Bounded(), [Fraction(1, 2), 1])
    np.testing.assert_array_equal(halves.mean, [0.5, 0.75])
    assert confidence_sequence(Gaussian(), []).mean.shape == (0,)


BAD = [
    (Bernoulli(), [0, 1, 0.5], r"data\[2\].*0 or 1"),
    (Bernoulli(), [0, float("nan")], r"data\[1\].*0 or 1"),
    (STARS, [1, 2, 6], r"data\[2\].*levels are 1, 2, 3, 4, 5"),
    (STARS, [1.5], r"data\[0\].*levels are"),
    (Bounded(), [0.0, 1.0 + 1e-15], r"data\[1\].*lie in \[0.0, 1.0\]"),
    (Bounded(), [float("inf")], r"data\[0\].*lie in"),
    (Gaussian(), [0.0, float("nan")], r"data\[1\].*finite"),
    (Gaussian(), [1.0, "2.0"], r"data\[1\]: reward '2.0' was refused"),
    (Gaussian(), [1.0, None], r"data\[1\]: reward None"),
    (Gaussian(), [1.0, 1e200], r"data\[1\].*too large"),
    (Gaussian(), np.array(["1.0"]), r"data\[0\].*finite numbers"),
    (Gaussian(), [[1.0, 2.0]], r"data\[0\].*finite numbers"),
    (Gaussian(), np.zeros((2, 2)), "one row"),
    (Gaussian(), [1j], r"data\[0\].*finite numbers"),
]


@pytest.mark.parametrize(("rewards", "data", "message"), BAD)
def test_data_that_contradict_the_assumption_are_refused(rewards, data, message):
    with pytest.raises(InputError, match=message):
        confidence_sequence(rewards, data)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_an_alpha_that_is_no_error_probability_is_refused(alpha):
    with pytest.raises(InputError, match=r"alpha=.* must lie in"):
        confidence_sequence(Gaussian(), [1.0], alpha)


# --- the assumptions themselves -------------------------------------------------------------------


def test_levels_are_kept_sorted_and_distinct():
    assert Ratings([9, -1, 0.5, 2.25, -1]).levels == (-1.0, 0.5, 2.25, 9.0)
    assert Ratings((3, 1)) == Ratings((1, 3, 3))
    assert [STARS.index(x) for x in (1, 3.0, 5)] == [0, 2, 4]
    assert (STARS.low, STARS.high, STARS.sigma) == (1.0, 5.0, 2.0)


@pytest.mark.parametrize("levels", [(), (1,), (2, 2.0), (0, float("nan")), (0, float("inf")), "ab"])
def test_levels_that_are_no_scale_are_refused(levels):
    with pytest.raises(InputError, match="levels"):
        Ratings(levels)


@pytest.mark.parametrize("ends", [(1, 1), (1, 0), (0, float("inf")), (float("nan"), 1), ("a", "b")])
def test_a_range_that_is_none_is_refused(ends):
    with pytest.raises(InputError, match="range"):
        Bounded(*ends)


def test_a_family_is_made_by_name_and_its_own_sigma_may_be_repeated():
    for rewards, given_ in (
        (bestk.Gaussian(0.3), {"sigma": 0.3}),
        (Bernoulli(), {"sigma": 0.5}),
        (STARS, {"sigma": 2.0, "levels": [5, 4, 3, 2, 1]}),
        (Bounded(), {"sigma": 0.5}),
        (Bounded(-1, 3), {"low": -1, "high": 3, "sigma": 2.0}),
        (bestk.Quantile(0.9, relative=True), {"q": 0.9, "relative": True}),
    ):
        assert make_rewards(rewards.name, **given_) == rewards
    assert set(FAMILIES) == {
        "gaussian", "subgaussian", "bernoulli", "ratings", "bounded", "quantile",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given_", "message"),
    [
        ("ratings", {}, "need their levels"),
        ("ratings", {"levels": [1, 2], "sigma": 1.0}, "sigma 1/2"),
        ("bounded", {"high": 4.0, "sigma": 0.5}, "bounded rewards have sigma 2"),
        ("bounded", {"levels": [1, 2]}, "belong to ratings"),
        ("gaussian", {"low": 0.0}, "belong to bounded"),
    ],
)
def test_parameters_that_a_family_does_not_have_are_refused(name, given_, message):
    with pytest.raises(InputError, match=message):
        make_rewards(name, **given_)
