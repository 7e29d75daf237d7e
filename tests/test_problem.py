"""The specification survives JSON, and refuses what cannot run."""

import json

import pytest

import bestk
from bestk.errors import InputError
from bestk.kernels.types import BETA, COINS
from bestk.problem import Problem
from bestk.rewards import make_rewards


@pytest.mark.parametrize(
    "rewards",
    [
        bestk.Gaussian(0.3),
        bestk.SubGaussian(2.0),
        bestk.Bernoulli(),
        bestk.Ratings((1, 2, 5)),
        bestk.Bounded(-1.0, 3.0),
    ],
)
def test_a_problem_survives_a_round_trip_through_json(rewards):
    problem = Problem(
        bestk.TopK(20, 3), rewards, 0.05, 0.1, "lil-rand-lucb", "faithful", {"rule": "both"}
    )
    assert Problem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


def test_a_problem_that_cannot_run_cannot_be_built():
    with pytest.raises(InputError, match="K must be 1"):
        Problem(bestk.TopK(20, 3), policy="lil-ucb")
    with pytest.raises(InputError, match="not a problem"):
        Problem.from_dict({"policy": "lucb"})


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf"), 1e251])
def test_a_sigma_that_is_no_scale_is_refused(sigma):
    with pytest.raises(InputError, match=r"sigma=.* was refused: it must be"):
        bestk.Gaussian(sigma)


def test_rewards_are_validated():
    bestk.Bernoulli().validate(1)
    with pytest.raises(InputError, match="0 or 1"):
        bestk.Bernoulli().validate(0.5)
    for family in (bestk.Gaussian(), bestk.SubGaussian()):
        family.validate(-7.0)
        with pytest.raises(InputError, match="finite"):
            family.validate(float("nan"))
    with pytest.raises(InputError, match="did you mean 'bernoulli'"):
        make_rewards("bernouli")
    with pytest.raises(InputError, match="sigma 1/2"):
        make_rewards("bernoulli", 0.3)


def test_every_public_name_loads():
    for name in bestk.__all__:
        assert getattr(bestk, name) is not None
    assert callable(bestk.difficulty)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = bestk.nonsense


def test_a_problem_keeps_the_edition_of_its_rules():
    old, new = (Problem(bestk.TopK(4, 2), bestk.Bernoulli(), edition=edition) for edition in (1, 2))
    assert Problem(bestk.TopK(4, 2)).edition == 2
    assert "edition" not in old.to_dict()  # as version 0.1 wrote it
    assert new.to_dict()["edition"] == 2
    for problem in (old, new):
        assert Problem.from_dict(problem.to_dict()) == problem
    kinds = [problem.configure(0).evidence.kind for problem in (old, new)]
    assert kinds == [BETA, COINS]
    assert old.configure(0).theorem == "docs/e-lucb.md, Theorem 1"
    assert new.configure(0).theorem == "docs/e-lucb.md, Theorem 7"
    assert Problem(bestk.TopK(4, 2)).configure(0).theorem == "docs/e-lucb.md, Theorem 8"


@pytest.mark.parametrize("edition", [0, 3, True, "2", None])
def test_an_edition_that_is_not_known_is_refused(edition):
    with pytest.raises(InputError, match="edition"):
        Problem(bestk.TopK(4, 2), edition=edition)
