"""Simulated rewards around a quantile: the law has the quantile that the instance names."""

import json

import numpy as np
import pytest

import bestk
from bestk.errors import InputError, UnknownName
from bestk.kernels import rng
from bestk.rewards import Quantile
from bestk.simulation.laws import LAWS, Law
from helpers.command import good


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("q", [0.1, 0.5, 0.95])
def test_the_quantile_is_where_the_instance_says(name, q):
    world = Law(name, 0.4).world(np.array([2.0, 3.0]), q)
    drawn = np.array([rng.draw(world, 1, 0, 1, n) for n in range(4000)])
    below = np.count_nonzero(drawn < 3.0)
    assert abs(below - 4000 * q) <= 5.0 * np.sqrt(4000 * q * (1 - q))


def test_replayed_data_are_compared_by_their_quantiles():
    table = np.array([[1.0, 2.0, 9.0, 9.0], [3.0, 3.0, 3.0, 100.0]])
    instance = bestk.replay(table, k=1)
    assert instance.under(Quantile(0.5)).means.tolist() == [2.0, 3.0]
    assert instance.under(Quantile(0.6)).means.tolist() == [9.0, 3.0]
    assert instance.under(bestk.Gaussian()) is instance
    found = bestk.simulate(instance, rewards=Quantile(0.6), delta=0.2, runs=5)
    assert found.wrong == 0


def test_laws_that_do_not_fit_are_refused():
    with pytest.raises(UnknownName):
        Law("cauchy")
    with pytest.raises(InputError, match="positive"):
        bestk.simulate([0.0, 1.0], k=1, rewards=Quantile(), law="log-normal")
    with pytest.raises(InputError, match="log-normal"):
        bestk.simulate([1.0, 2.0], k=1, rewards=Quantile(relative=True))
    with pytest.raises(InputError, match="law"):
        bestk.simulate([1.0, 2.0], k=1, law="normal")
    with pytest.raises(InputError, match="spread"):
        Law("normal", 0.0)


def test_the_command_compares_quantiles():
    line = "simulate --means 1,3 --k 1 --minimize --quantile 0.9 --law log-normal --spread 0.1"
    data = json.loads(good(*f"{line} --runs 5 --delta 0.1 --json".split()))
    assert (data["q"], data["law"], data["spread"], data["sigma"]) == (0.9, "log-normal", 0.1, None)
    assert (data["wrong"], data["lower_bound"]) == (0, None)
    assert "0.9-quantiles" in good(*f"{line} --runs 2 --relative --epsilon 0.1".split())
