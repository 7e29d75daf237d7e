"""The generator gives Random123's published words, and draws with the right distribution."""

import numpy as np
import pytest
from scipy import special, stats

from bestk.kernels import rng
from bestk.kernels.types import BERNOULLI, GAUSSIAN, World

# Random123 1.14, tests/kat_vectors, philox4x32-10: counter, key, result
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text):
    return [np.uint64(int(word, 16)) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_words(counter, key, expected):
    assert list(rng.philox(*words(counter), *words(key))) == words(expected)


def test_the_normal_quantile_agrees_with_scipy_to_fourteen_digits():
    p = np.concatenate(
        [np.linspace(1e-6, 1 - 1e-6, 20001), 10.0 ** -np.arange(3, 17), [2.0**-53, 1 - 2.0**-53]]
    )
    ours = np.array([rng.normal_quantile(x) for x in p])
    np.testing.assert_allclose(ours, special.ndtri(p), rtol=1e-13, atol=1e-15)


def test_a_uniform_lies_strictly_inside_the_unit_interval_and_is_uniform():
    u = np.array([rng.uniform(5, 0, arm, n, rng.REWARD) for arm in range(40) for n in range(1000)])
    assert u.min() > 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-6


def test_every_coordinate_of_the_counter_matters():
    base = (7, 3, 2, 11, 0)
    drawn = {rng.uniform(*base)}
    for changed in range(5):
        for bump in (1, 2):
            drawn.add(rng.uniform(*(v + bump * (i == changed) for i, v in enumerate(base))))
    drawn.add(rng.uniform(7, 3, 2, 11 + 2**32, 0))  # counts beyond 32 bits
    drawn.add(rng.uniform(7 + 2**32, 3, 2, 11, 0))  # and seeds
    assert len(drawn) == 13


def test_rewards_have_their_mean_and_spread():
    means = np.array([0.3, -1.0])
    z = np.array([rng.draw(World(GAUSSIAN, means, 0.5), 1, 0, 1, n) for n in range(20000)])
    assert abs(z.mean() + 1.0) < 5 * 0.5 / 20000**0.5
    assert stats.kstest((z + 1.0) / 0.5, "norm").pvalue > 1e-6
    b = np.array([rng.draw(World(BERNOULLI, means, 0.5), 1, 0, 0, n) for n in range(20000)])
    assert set(b) == {0.0, 1.0}
    assert stats.binomtest(int(b.sum()), 20000, 0.3).pvalue > 1e-6
