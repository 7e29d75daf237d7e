"""Places where a promise was once wider than what holds: each of these failed in version 0.1."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import bestk
from bestk.errors import InputError
from bestk.kernels import rng
from bestk.kernels.statistics import tell_many
from bestk.kernels.types import RUN
from bestk.policies.stepper import Stepper
from bestk.problem import Problem
from bestk.study import Study
from bestk.study.certificate import make_certificate
from bestk.study.tally import Tally
from bestk.verification import verify

OLD = Path(__file__).parents[1] / "data" / "v01"  # files that version 0.1 wrote
RESULTS = json.loads((OLD / "results.json").read_text())


def stepper(rewards, n=2, k=1, **settings):
    problem = Problem(bestk.TopK(n, k), delta=0.05, rewards=rewards, **settings)
    return Stepper(problem.decision, problem.configure(1), rewards)


# --- the guarantee --------------------------------------------------------------------------------


@pytest.mark.parametrize("tell", ["add", "tell_many"])
def test_lucb_certifies_no_slack_below_its_own_intervals(tell):
    """After observations that it did not ask for, its round lags behind the samples of an arm."""
    study = Study("s", "abc", k=1, policy="lucb", rewards=bestk.Gaussian(), seed=1)
    if tell == "tell_many":
        study.tell_many([(pull, 0.1 * pull.index) for pull in study.ask(90)])
    else:
        for n in range(300):
            study.add("abc"[n % 3], 0.3 * (n % 3), str(n))
    result = study.result
    (top,) = result.top
    low = next(arm.low for arm in result.arms if arm.label == top)
    rival = max(arm.high for arm in result.arms if arm.label != top)
    assert result.certifiable_epsilon == pytest.approx(max(0.0, rival - low), rel=2e-3)


def tell_all(ours, values, n):
    for arm, value in enumerate(values):
        tell_many(ours.state, ours.spec, np.full(n, arm), np.full(n, value))
    ours.machine.call("rebuild")


@pytest.mark.parametrize("policy", ["e-lucb", "lil-rand-lucb"])
def test_normal_rewards_far_from_zero_keep_their_digits(policy):
    """Constants at 9e8 + 0.374 and 9e8 + 0.32: plain sums round a third of each away."""
    better, worse, n = 9e8 + 0.374, 9e8 + 0.32, 2_400_000
    ours = stepper(bestk.Gaussian(1.0), policy=policy)
    tell_all(ours, (better, worse), n)
    np.testing.assert_array_equal(ours.state.means, [better, worse])
    assert ours.answer() == [0]
    near = stepper(bestk.Gaussian(1.0), policy=policy)
    tell_all(near, (0.374, 0.32), n)
    assert ours.certifiable_epsilon == pytest.approx(near.certifiable_epsilon, abs=1e-4)
    assert ours.ask() == near.ask()


def test_the_hybrid_stop_does_not_care_where_zero_is():
    """Evidence is of differences: far from zero the same decisions, one after the other."""
    dice = np.random.default_rng(4)
    near, far = (stepper(bestk.Gaussian(0.5), 4, 2) for _ in range(2))
    offset = 2.0**28  # a multiple of a power of two: the offset itself rounds nothing below
    while arms := near.ask():
        assert far.ask() == arms
        for arm in arms:
            value = round(float(dice.normal(0.4 * (arm < 2), 0.5)) * 2**20) / 2**20
            near.tell(arm, value)
            far.tell(arm, offset + value)
    assert far.ask() == []


def test_a_stepper_refuses_what_a_study_refuses():
    ours = stepper(bestk.Gaussian(0.5))
    study = Study("s", range(2), k=1, rewards=bestk.Gaussian(0.5))
    (pull,) = study.ask()
    for value in (1e12, -1e12, np.nan, np.inf, "text", None, 10**400, 1j):
        for refused in (lambda x=value: ours.tell(0, x), lambda x=value: study.tell(pull, x)):
            with pytest.raises((InputError, TypeError)):
                refused()
    assert ours.state.counts.sum() == study.samples == 0
    assert [other.id for other in study.open] == [pull.id]


def test_plans_have_coins_of_their_own():
    """What stands in for an open pull is rounded, but not by the coin of the next observation."""
    study = Study("s", range(40), k=3, seed=9)
    study.tell_many([(pull, 0.505) for pull in study.ask(40)])
    study.ask(40)
    fold = study._fold
    fold.planner.recount()
    fold.state.means[:] = 0.505  # between two levels, so that stand-ins are rounded
    shadow = fold.planner.shadow(fold.stepper.machine).state
    up = (shadow.levels - fold.state.levels)[:, :-1] @ np.arange(65) - 32
    run = int(fold.state.clock[RUN])
    coins = np.array([rng.uniform(9, run, arm, 1, rng.ROUNDING) for arm in range(40)])
    by_next = coins < 0.505 * 64 - 32
    assert 0 < (up == by_next).sum() < 40  # neither always the same nor never


class Moody:
    """An oracle that finds either of two tied sets, depending on its mood."""

    def __init__(self):
        self.last = 1  # which of the tied arms is preferred

    def __call__(self, weights):
        order = sorted(range(4), key=lambda i: (-weights[i], i != self.last))
        return [i in order[:2] for i in range(4)]


def test_the_answer_around_an_oracle_is_the_set_that_was_tested():
    oracle = Moody()
    decision = bestk.Oracle(4, oracle)
    problem = Problem(decision, delta=0.05, epsilon=0.5, rewards=bestk.Gaussian(0.01))
    ours = Stepper(decision, problem.configure(1))
    for arm, value in enumerate((0.9, 0.5, 0.5, 0.1)):
        ours.tell(arm, value)
    assert ours.ask() == []
    assert ours.tested() == [0, 1]
    oracle.last = 2
    assert ours.tested() == [0, 1]
    assert ours.answer() == [0, 2]  # asked anew


def test_an_oracle_that_changes_its_mind_at_the_stop_ends_the_run():
    """Otherwise the stop would be written and not be believed, for ever."""
    oracle = Moody()
    decision = bestk.Oracle(4, oracle)
    study = Study("s", range(4), decision=decision, epsilon=0.5, rewards=bestk.Gaussian(0.01))
    study.tell_many([(pull, (0.9, 0.5, 0.5, 0.1)[pull.arm]) for pull in study.ask(4)])
    append = study._journal.storage.append

    def append_in_another_mood(name, events):
        append(name, events)
        oracle.last = 3 - oracle.last

    study._journal.storage.append = append_in_another_mood
    with pytest.raises(bestk.errors.OracleError, match="changed its mind"):
        study.ask()
    assert not study.result.certified


# --- data against the assumption ------------------------------------------------------------------


def test_data_that_contradict_the_assumption_are_said_to():
    dice = np.random.default_rng(3)
    study = Study("s", "ab", k=1, rewards=bestk.SubGaussian(0.5), seed=1)
    fits = Study("s", "ab", k=1, rewards=bestk.SubGaussian(3.0), seed=1)
    for n in range(60):
        value = float(dice.lognormal(0.0, 1.0))
        for each in (study, fits):
            each.add("ab"[n % 2], value + (n % 2), str(n))
    (warning,) = study.result.warnings
    assert "SubGaussian(sigma=0.5)" in warning
    assert warning in str(study.result)
    assert study.result.to_dict()["warnings"] == [warning]
    assert fits.result.warnings == ()


def test_normal_data_are_hardly_ever_called_a_contradiction():
    """20,000 arms of 200 samples; one of them with probability 1e-9 or less."""
    dice = np.random.default_rng(8)
    tally = Tally(bestk.Gaussian(0.5), 20_000)
    arms = np.tile(np.arange(20_000), 200)
    tally.add(arms, dice.normal(7.0, 0.5, arms.size))
    assert tally.contradicting().size == 0


def test_a_tally_is_the_same_whatever_the_pieces():
    dice = np.random.default_rng(8)
    arms, values = dice.integers(0, 5, 400), dice.normal(1e4, 0.5, 400)
    whole, single, pieces = (Tally(bestk.Gaussian(0.5), 5) for _ in range(3))
    whole.add(arms, values)
    for arm, value in zip(arms.tolist(), values.tolist(), strict=True):
        single.add_one(arm, value)
    for part in np.array_split(np.arange(400), 37):
        pieces.add(arms[part], values[part])
    for other in (single, pieces):
        assert other.sums.tobytes() == whole.sums.tobytes()
        assert other.means.tobytes() == whole.means.tobytes()
        assert other._pairs.tobytes() == whole._pairs.tobytes()
    pairs = [values[arms == 2][i : i + 2] for i in range(0, (arms == 2).sum() // 2 * 2, 2)]
    assert whole._pairs[1, 2] == pytest.approx(sum((a - b) ** 2 / 2 for a, b in pairs))


# --- studies of version 0.1 -----------------------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_old_studies_open_as_they_were(name, tmp_path):
    file = shutil.copy(OLD / "studies.db", tmp_path)
    study = Study(name, storage=file)
    found, known = study.result.to_dict(), RESULTS[name]
    for key in known.keys() - {"next", "arms", "certifiable_epsilon"}:
        assert found[key] == known[key], key
    for mine, theirs in zip(found["arms"], known["arms"], strict=True):
        assert mine == pytest.approx(theirs)
    assert found["certifiable_epsilon"] == pytest.approx(known["certifiable_epsilon"])
    assert "answers count as they arrive, as in version 0.1" in found["assumptions"][0]


def test_an_old_study_goes_on_under_its_old_rule(tmp_path):
    worth = {"a": 0.45, "b": 0.47, "c": 0.43, "d": 0.42}
    study = Study("going", storage=shutil.copy(OLD / "studies.db", tmp_path))
    asked = []
    for _ in range(60):
        pulls = study.ask()
        asked.append([pull.arm for pull in pulls])
        study.tell(pulls[0], worth[pulls[0].arm])
    assert asked == RESULTS["going"]["next"]
    first, second = study.ask(2)
    study.tell(second, 0.5)
    assert study.result.held == 0  # it counts at once
    study.fail(first, "no luck")
    study.tell(first, 0.5)  # it stayed open


@pytest.mark.parametrize("name", sorted(path.name[:-10] for path in OLD.glob("*.cert.json")))
def test_old_certificates_verify_and_old_studies_certify(name, tmp_path):
    file = shutil.copy(OLD / "studies.db", tmp_path)
    old = json.loads((OLD / f"{name}.cert.json").read_text())
    assert verify(old, file).verified
    made = make_certificate(file, name)
    assert made["format"] == 1
    assert verify(made, file).verified
    for key in old.keys() - {"made", "bestk"}:
        assert is_alike(made[key], old[key]), key


def is_alike(one, other):
    """Equal, but for bounds of coins, which a grid moves outwards by up to 1e-7."""
    if isinstance(one, float):
        return one == pytest.approx(other, rel=0, abs=1e-7)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_alike, one, other))
    return one == other
