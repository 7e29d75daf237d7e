"""Studies: live decisions equal simulated ones, answers count once, and nothing told is lost."""

import math

import numpy as np
import pytest

import bestk
from bestk.errors import InputError, PullError
from bestk.kernels import rng
from bestk.kernels.types import GAUSSIAN, World
from bestk.storage import MemoryStorage, SQLiteStorage
from bestk.study import Study

MEANS = np.array([0.1, 0.9, 0.5, 0.3, 0.8, 0.2])
SEED = 5


class Source:
    """Rewards that are a function of arm and number, the simulator's own."""

    def __init__(self, source=GAUSSIAN, means=MEANS):
        self.world, self.told = World(source, means, 0.5), [0] * len(means)

    def __call__(self, arm):
        reward = rng.draw(self.world, SEED, 0, arm, self.told[arm])
        self.told[arm] += 1
        return reward


def run(study, source, parallel=1):
    """To the end; the arms in the order in which they were asked for."""
    asked = []
    while pulls := study.ask(parallel):
        for pull in pulls:
            asked.append(pull.arm)
            study.tell(pull, source(pull.arm))
    return asked


@pytest.mark.parametrize("rewards", [bestk.Bernoulli(), bestk.Bounded(), bestk.Ratings((0, 1))])
def test_a_study_makes_the_decisions_of_the_simulator(rewards):
    """As every policy does with normal rewards (tests/contracts)."""
    instance = bestk.replay(np.array([[9, 1], [1, 9], [5, 5]]), k=1)
    simulated = bestk.simulate(instance, rewards=rewards, runs=1, seed=SEED, delta=0.05)
    study = Study("s", "abc", k=1, rewards=rewards, seed=SEED)
    world = instance.world(rewards)
    told = dict.fromkeys("abc", 0)
    while pulls := study.ask():
        arm = pulls[0].arm
        study.tell(pulls[0], rng.draw(world, SEED, 0, "abc".index(arm), told[arm]))
        told[arm] += 1
    assert study.result.samples == simulated.samples[0]
    assert study.result.top == ("b",)


def test_a_study_minimises_in_the_users_own_units():
    study = Study("s", "abc", k=1, maximize=False, rewards=bestk.Bounded(0, 10), seed=1)
    costs = {"a": 7.0, "b": 2.0, "c": 8.0}
    while pulls := study.ask():
        study.tell(pulls[0], costs[pulls[0].arm])
    result = study.result
    assert result.top == ("b",)
    assert [line.split()[1] for line in str(result).splitlines()[1:4]] == ["b", "a", "c"]
    for arm in result.arms:
        assert arm.mean == pytest.approx(costs[arm.label])
        assert arm.low <= arm.mean <= arm.high


def test_a_decision_class_is_studied_too():
    path = bestk.Path([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")], "a", "d")
    worth = dict(zip(path.names, (0.9, 0.8, 0.2, 0.1), strict=True))
    study = Study("route", decision=path, seed=1)
    while pulls := study.ask():
        study.tell(pulls[0], worth[pulls[0].arm])
    assert set(study.result.top) == {("a", "b"), ("b", "d")}
    assert study.result.theorem == "docs/e-clucb.md, Theorem 7"


def test_a_table_keeps_to_a_line_an_arm_whatever_the_labels_hold():
    study = Study("s", ["a\nb", "\x1b[2J", "c"], k=1)
    assert len(str(study.result).splitlines()) == 5
    assert "\x1b" not in str(study.result)


def test_the_certificate_is_in_the_result():
    study = Study("s", range(6), k=2, rewards=bestk.Gaussian(), seed=SEED)
    before = study.result
    assert (before.certified, before.error_bound, before.top) == (False, None, ())
    run(study, Source())
    result = study.result
    assert (result.certified, result.error_bound, result.stopped) == (True, 0.05, "rule")
    assert {arm.label for arm in result.arms if arm.status == "in"} == {1, 4}
    assert result.certifiable_epsilon <= 1e-9
    assert "certified: error <= 0.05" in str(result)
    assert study.ask() == []


def test_a_heuristic_certifies_nothing():
    study = Study("s", range(6), k=2, policy="lil-rand-lucb", variant="heuristic",
                  rewards=bestk.Gaussian(), seed=SEED)  # fmt: skip
    run(study, Source())
    assert (study.result.certified, study.result.theorem) == (False, None)
    assert study.result.stopped == "rule"


def test_an_answer_counts_once():
    study = Study("s", "ab", k=1, seed=1)
    (pull,) = study.ask()
    study.tell(pull, 0.25)
    study.tell(pull.id, 0.25)  # the same again
    assert study.result.samples == 1
    with pytest.raises(PullError, match="second answer"):
        study.tell(pull, 0.5)
    with pytest.raises(PullError, match="nobody asked"):
        study.tell("made up", 0.5)
    assert study.result.arms[0].mean == 0.25


@pytest.mark.parametrize("reward", [math.nan, math.inf, -0.1, 1.1, "0.5", None])
def test_a_reward_that_cannot_be_is_refused_and_the_pull_stays_open(reward):
    study = Study("s", "ab", k=1)
    (pull,) = study.ask()
    with pytest.raises(InputError, match="refused"):
        study.tell(pull, reward)
    assert study.open == [pull]
    assert study.result.samples == 0
    study.tell(pull, 0.5)


def test_a_pull_given_up_takes_no_answer():
    study = Study("s", "ab", k=1)
    (pull,) = study.ask()
    study.forget(pull)
    with pytest.raises(PullError, match="given up"):
        study.tell(pull, 0.5)
    with pytest.raises(PullError, match="not open"):
        study.forget(pull)


def test_observations_from_elsewhere_count_once_for_each_id():
    study = Study("s", "ab", k=1)
    study.add("a", 0.5, id="x1")
    study.add("a", 0.5, id="x1")
    study.add("b", 0.25, id="x2")
    assert study.result.samples == 2
    with pytest.raises(PullError, match="x1"):
        study.add("a", 0.75, id="x1")
    with pytest.raises(InputError, match="no such arm"):
        study.add("c", 0.5, id="x3")
    with pytest.raises(InputError, match="own rule"):
        Study("s", "ab", k=1, policy="lil-ucb").add("a", 0.5, id="x")


def test_open_pulls_are_taken_into_account():
    study = Study("s", range(6), k=2, rewards=bestk.Gaussian(), seed=SEED)
    first = study.ask(6)
    assert sorted(pull.arm for pull in first) == list(range(6))  # not six times the same
    assert len({pull.id for pull in first}) == 6
    source = Source()
    for pull in reversed(first):  # out of order
        study.tell(pull, source(pull.arm))
    run(study, source, parallel=4)
    assert set(study.result.top) == {1, 4}


@pytest.mark.parametrize("stops", [1, 7, 40])
def test_a_study_opened_again_goes_on_as_if_nothing_had_happened(tmp_path, stops):
    whole = run(Study("s", range(6), k=2, rewards=bestk.Gaussian(), seed=SEED), Source())
    settings = {"k": 2, "rewards": bestk.Gaussian(), "seed": SEED}
    path, source, asked = tmp_path / "s.db", Source(), []
    study = Study("s", range(6), storage=path, **settings)
    while pulls := study.ask():
        if len(asked) % stops == 0:  # lose the object with a pull open
            study = Study("s", storage=path)
            again = study.ask()
            assert again == pulls
        asked.append(pulls[0].arm)
        study.tell(pulls[0], source(pulls[0].arm))
    assert asked == whole
    assert Study("s", range(6), storage=path, **settings).result.certified


def test_a_study_is_opened_with_what_it_was_begun_with(tmp_path):
    path = tmp_path / "s.db"
    Study("s", "abc", k=1, storage=path)
    with pytest.raises(InputError, match="arms were refused"):
        Study("s", "abd", k=1, storage=path)
    with pytest.raises(InputError, match=r"delta=0.1 was refused"):
        Study("s", "abc", k=1, delta=0.1, storage=path)
    assert Study("other", "xy", k=1, storage=path).arms == ("x", "y")
    assert SQLiteStorage(path).studies() == ["s", "other"]


def test_two_objects_share_a_file(tmp_path):
    one = Study("s", "ab", k=1, storage=tmp_path / "s.db", lease=1000)
    two = Study("s", storage=tmp_path / "s.db")
    first, second = one.ask()[0], two.ask()[0]
    assert first.arm != second.arm  # each sees the other's open pull
    two.tell(second, 0.5)
    one.tell(second, 0.5)  # the same value from the other side
    with pytest.raises(PullError, match="second answer"):
        one.tell(second, 0.75)
    assert one.result.samples == 1


def test_a_lease_runs_out(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    study = Study("s", "ab", k=1, lease=10.0)
    (pull,) = study.ask()
    now[0] += 11
    assert study.ask()[0].arm == pull.arm  # free again
    with pytest.raises(PullError, match="lease ran out"):
        study.tell(pull, 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arms": "ab"}, "either k"),
        ({"arms": "aba", "k": 1}, "listed twice"),
        ({"k": 1}, "arms are missing"),
        ({"arms": "ab", "k": 2}, "K must be 1 to 1"),
        ({"arms": "ab", "k": 1, "lease": 0}, "lease"),
        ({"arms": [[1], [2]], "k": 1}, "hashable"),
        ({"arms": "ab", "k": 1, "delta": 2}, "delta"),
    ],
)
def test_what_makes_no_study_is_refused(settings, message):
    storage = MemoryStorage()
    with pytest.raises(InputError, match=message):
        Study("s", storage=storage, **settings)
    assert not list(storage.read("s"))
