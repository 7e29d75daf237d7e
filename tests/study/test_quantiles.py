"""Studies that compare quantiles: live, resumed, out of order, with holes, and with newcomers."""

import math

import numpy as np
import pytest

import bestk
from bestk.errors import InputError
from bestk.report.page.study import write
from bestk.report.terminal import standings
from bestk.study.advice import Adviser
from bestk.study.certificate import make_certificate
from bestk.verification import verify

SHIFTS = {"a": 0.0, "b": 0.6, "c": 1.2}


def times(seed, digits=2):
    dice = np.random.default_rng(seed)
    return lambda arm: round(float(dice.lognormal(SHIFTS.get(arm, 2.5), 0.3)), digits)


def begun(path=None, **settings):
    known = {"k": 1, "rewards": bestk.Quantile(), "delta": 0.1, "seed": 3, "storage": path}
    return bestk.Study("times", list(SHIFTS), **{**known, **settings})


def ended(study, draw, at_once=1, lose=0):
    asked = 0
    while pulls := study.ask(at_once):
        for pull in reversed(pulls):
            asked += 1
            if lose and asked % lose == 0:
                study.forget(pull)
            else:
                study.tell(pull, draw(pull.arm))
    return study.result


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        {"maximize": False},
        {"rewards": bestk.Quantile(0.8), "epsilon": 0.2},
        {"rewards": bestk.Quantile(relative=True), "epsilon": 0.2, "maximize": False},
        {"lost": "worst"},
        {"params": {"independent": False}},
        {"policy": "lil-rand-lucb", "params": {"bound": "evidence"}},
        {"costs": [1.0, 2.0, 3.0]},
    ],
)
def test_a_study_is_certified_resumed_and_verified(tmp_path, settings, at_once):
    path = tmp_path / "study.db"
    lose = 7 if settings.get("lost") else 0
    result = ended(begun(path, **settings), times(1), at_once, lose)
    assert result.certified
    assert result.top == (("a",) if settings.get("maximize") is False else ("c",))
    assert "9" in (result.theorem or "")
    again = bestk.Study("times", storage=path).result
    assert (again.top, again.arms) == (result.top, result.arms)
    certificate = make_certificate(path)
    assert verify(certificate, path).verified
    forged = {**certificate, "arms": [dict(arm) for arm in certificate["arms"]]}
    forged["arms"][0]["low"] = (forged["arms"][0]["low"] or 0.0) + 0.01
    assert not verify(forged, path).verified


def test_whatever_stops_is_certified_and_verified(tmp_path):
    """Many arms, drawn anew each time: the kernels' stop is that of the verifier."""
    certified = 0
    for seed in range(30):
        dice, path = np.random.default_rng(seed), tmp_path / f"{seed}.db"
        n = int(dice.integers(3, 8))
        means = dice.normal(0.0, 2.0, n)
        study = bestk.Study(
            "drawn", [f"arm {i}" for i in range(n)], k=int(dice.integers(1, n)), delta=0.1,
            epsilon=float(dice.choice([0.0, 0.3])), rewards=bestk.Quantile(), seed=seed,
            storage=path,
        )  # fmt: skip
        for _ in range(300):
            for pull in study.ask():
                study.tell(pull, round(float(means[int(pull.arm[4:])] + dice.normal()), 3))
        if study.result.certified:
            certified += 1
            assert verify(make_certificate(path), path).verified, seed
    assert certified > 15


def test_a_certificate_of_another_quantile_is_not_verified(tmp_path):
    path = tmp_path / "study.db"
    ended(begun(path), times(2))
    certificate = make_certificate(path)
    problem = {**certificate["problem"], "rewards": {"family": "quantile", "q": 0.6}}
    assert not verify({**certificate, "problem": problem}, path).verified


@pytest.mark.parametrize(
    ("maximize", "says"),
    [(False, "at most 20% above the smallest"), (True, "at most 20% of its own below the largest")],
)
def test_a_slack_that_is_a_factor_is_shown_in_percent(tmp_path, maximize, says):
    path, page = tmp_path / "study.db", tmp_path / "page.html"
    rewards = bestk.Quantile(relative=True)
    study = begun(path, rewards=rewards, epsilon=0.2, maximize=maximize)
    result = ended(study, times(1))
    assert "slack 20% (" in result.proof
    assert result.to_dict()["relative_slack"] is True
    assert "relative_slack" not in ended(begun(), times(1)).to_dict()
    assert "certified: error <= 0.1, slack 20% (" in standings.conclusion(result)[1]
    write(path, page)
    assert says in page.read_text()
    assert "<dd>20%</dd>" in page.read_text()


def test_results_show_the_quantile_of_what_was_observed():
    study, draw, seen = begun(), times(4), {arm: [] for arm in SHIFTS}
    while pulls := study.ask():
        for pull in pulls:
            seen[pull.arm].append(draw(pull.arm))
            study.tell(pull, seen[pull.arm][-1])
    for arm in study.result.arms:
        assert arm.mean == pytest.approx(np.median(seen[arm.label]))
        assert arm.low is None or arm.low in seen[arm.label]
    assert study.result.compares == "median"
    assert "median" in str(study.result)
    assert "median" in study.result._repr_html_()
    assert study.result.to_dict()["compares"] == "median"


def test_arms_come_and_go_and_keep_their_observations():
    study, draw = begun(max_arms=5), times(5)
    for _ in range(30):
        for pull in study.ask():
            study.tell(pull, draw(pull.arm))
    before = {arm.label: (arm.mean, arm.pulls) for arm in study.result.arms}
    study.withdraw_arm("a")
    study.add_arm("d")
    study.add_arm("a")
    after = {arm.label: (arm.mean, arm.pulls) for arm in study.result.arms}
    assert {label: after[label] for label in before} == before
    assert ended(study, draw).top == ("d",)


def test_any_finite_reward_will_do_and_no_other():
    study = begun()
    pull, *_ = study.ask()
    for bad in (math.nan, math.inf, 1e300, "1"):
        with pytest.raises(InputError):
            study.tell(pull, bad)
    study.tell(pull, -1e249)
    positive = begun(rewards=bestk.Quantile(relative=True))
    pull, *_ = positive.ask()
    with pytest.raises(InputError, match="positive"):
        positive.tell(pull, -1.0)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"policy": "lucb"}, "sigma"),
        ({"policy": "lil-rand-lucb"}, "bound=evidence"),
        ({"policy": "glr"}, "sigma"),
        ({"policy": "e-clucb"}, "sigma"),
        ({"policy": "lil-clucb", "params": {"bound": "evidence"}}, "sigma"),
        ({"policy": "sar", "params": {"budget": 50}}, "sar compares means"),
        ({"policy": "sequential-halving", "params": {"budget": 50}}, "compares means"),
        ({"policy": "csar", "params": {"budget": 50}}, "compares means"),
        ({"policy": "successive-elimination"}, "compares means"),
        ({"policy": "track-and-stop"}, "compares means"),
    ],
)
def test_policies_that_compare_means_are_refused(settings, why):
    with pytest.raises(InputError, match=why):
        begun(**settings)


def test_totals_of_quantiles_are_refused():
    with pytest.raises(InputError, match="total"):
        bestk.Problem(bestk.SpanningTree([(0, 1), (1, 2), (0, 2)]), bestk.Quantile())


def test_evaluations_and_plans_are_refused():
    with pytest.raises(InputError, match="range"):
        bestk.Problem(bestk.TopK(2, 1), bestk.Quantile(), items=5)
    with pytest.raises(InputError, match="simulate"):
        bestk.plan([1.0, 2.0], k=1, rewards=bestk.Quantile())


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, 1e-17, math.nan, "0.5", True])
def test_a_quantile_lies_between_zero_and_one(q):
    with pytest.raises(InputError):
        bestk.Quantile(q)


@pytest.mark.parametrize("is_even", [False, True])
def test_nothing_is_foretold_where_the_slack_jumps_from_value_to_value(is_even):
    dice = np.random.default_rng(5)
    study = begun()
    for _ in range(40):
        (pull,) = study.ask()
        value = dice.normal()  # all arms alike
        study.tell(pull, value if is_even else float(value > 0.0))
    assert study.result.certifiable_epsilon is not None
    assert study.forecasts is is_even
    assert (study.result.forecast is not None) is is_even
    assert (study.slack_for(100) is not None) is is_even
    said = Adviser(study, budget=45).look() or ""
    assert ("will reach about epsilon" in said) is is_even


@pytest.mark.parametrize(("q", "maximize"), [(0.99, False), (0.99, True), (0.01, True)])
def test_tails_take_many_samples_however_clear_they_are(q, maximize):
    """The most that one sample can be worth is 1/0.99 on one of both sides."""
    rewards = bestk.Quantile(q)
    study = bestk.Study("tails", ["a", "b"], k=1, rewards=rewards, maximize=maximize, seed=3)
    dice = np.random.default_rng(1)
    for _ in range(100):
        for pull in study.ask(1):
            study.tell(pull, 100 * SHIFTS[pull.arm] + dice.random())
    left = study.result.forecast
    assert left > 200
    total = 100 + left
    samples = ended(study, lambda arm: 100 * SHIFTS[arm] + dice.random()).samples
    assert 0.3 < total / samples < 1.5
