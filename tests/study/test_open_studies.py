"""Studies in which arms come and go, and logs told in one piece."""

import numpy as np
import pytest

import bestk
from bestk.compiled.live import Machine
from bestk.errors import InputError, PullError
from bestk.kernels.types import RUN
from bestk.problem import Problem
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import Study
from bestk.study.fold import Fold

WORTH = {"a": 0.2, "b": 0.9, "c": 0.5, "d": 0.35, "e": 0.95, "f": 0.1}
FAMILIES = [bestk.Bernoulli(), bestk.Bounded(), bestk.Ratings((0, 0.5, 1)), bestk.Gaussian(0.5)]


class Raters:
    """Rewards that depend on the arm and the number of its pull."""

    def __init__(self, rewards):
        self.rewards, self.given = rewards, {}

    def __call__(self, arm):
        n = self.given[arm] = self.given.get(arm, 0) + 1
        dice = np.random.default_rng([ord(arm), n])
        if isinstance(self.rewards, bestk.Gaussian):
            return dice.normal(WORTH[arm], 0.5)
        if isinstance(self.rewards, bestk.Ratings):
            return (int(dice.random() < WORTH[arm]) + int(dice.random() < WORTH[arm])) / 2
        if isinstance(self.rewards, bestk.Bernoulli):
            return int(dice.random() < WORTH[arm])
        return min(1.0, max(0.0, dice.normal(WORTH[arm], 0.1)))


def go(study, raters, pulls=None):
    asked = []
    while (pulls is None or len(asked) < pulls) and (given := study.ask()):
        asked.append(given[0].arm)
        study.tell(given[0], raters(given[0].arm))
    return asked


@pytest.mark.parametrize("rewards", FAMILIES, ids=lambda rewards: rewards.name)
def test_arms_come_and_go_and_the_answer_is_of_those_that_are_there(tmp_path, rewards):
    file = tmp_path / "s.db"
    study = Study("s", "abcd", k=1, rewards=rewards, max_arms=6, seed=3, storage=file)
    raters = Raters(rewards)
    go(study, raters, 30)
    study.add_arm("f")
    go(study, raters, 10)
    go(study, raters)
    assert study.result.top == ("b",)
    assert (study.result.certified, study.result.error_bound) == (True, 0.05)
    assert study.result.theorem == "docs/e-lucb.md, Theorem 5"

    study.add_arm("e")  # better than all so far: what was certain is open again
    assert not study.result.certified
    assert go(study, raters, 1) != []
    go(study, raters)
    assert study.result.top == ("e",)
    before = study.result.samples
    study.withdraw_arm("e")
    assert study.result.samples == before
    assert {arm.label for arm in study.result.arms} == set("abcdf")
    assert go(study, raters) == []  # enough is known of the others already
    assert (study.result.top, study.result.certified) == (("b",), True)

    again = Study("s", storage=file)
    assert again.result.to_dict() | {"seconds": 0} == study.result.to_dict() | {"seconds": 0}
    assert again.arms == study.arms


def test_an_arm_that_comes_back_brings_what_is_known_of_it():
    study = Study("s", "abc", k=1, max_arms=3, seed=3)
    raters = Raters(bestk.Bounded())
    go(study, raters, 40)
    before = {arm.label: arm for arm in study.result.arms}
    study.withdraw_arm("c")
    assert study.arms == ("a", "b")
    study.add_arm("c")
    after = {arm.label: arm for arm in study.result.arms}
    assert (after["c"].mean, after["c"].pulls) == (before["c"].mean, before["c"].pulls)
    assert after["c"].low == pytest.approx(before["c"].low, abs=1e-6)


def test_open_pulls_of_a_withdrawn_arm_are_given_up():
    study = Study("s", "abc", k=1, max_arms=3, seed=3)
    pulls = study.ask(3)
    study.withdraw_arm("b")
    study.tell(pulls[0], 0.5)
    with pytest.raises(PullError, match="given up"):
        study.tell(pulls[1], 0.5)
    assert [pull.arm for pull in study.open] == ["c"]
    assert set(go(study, Raters(bestk.Bounded()), 20)) <= {"a", "c"}


def test_a_resumed_open_study_asks_what_the_undisturbed_one_asks(tmp_path):
    def journey(reopen):
        file = tmp_path / f"{reopen}.db"
        study, raters, asked = None, Raters(bestk.Ratings((0, 0.5, 1))), []
        for change in (None, ("add", "e"), ("withdraw", "a"), ("add", "f"), ("add", "a"), None):
            if study is None or reopen:
                study = Study("s", "abcd", k=2, max_arms=8, seed=9, storage=file,
                              rewards=bestk.Ratings((0, 0.5, 1)))  # fmt: skip
            if change is not None:
                {"add": study.add_arm, "withdraw": study.withdraw_arm}[change[0]](change[1])
            asked += go(study, raters, 25 if change else None)
        return asked, study.result.to_dict() | {"seconds": 0}

    assert journey(True) == journey(False)


def test_every_bound_has_its_share_of_the_error():
    """Theorem 5: two sides of max_arms arms, whatever the number of arms there are."""
    for n, most in ((4, 10), (7, 10), (2, 2)):
        spec = Problem(bestk.TopK(n, 1), delta=0.08).configure(0, most).spec
        assert spec.level_lower == spec.level_upper == 0.08 / (2 * most)
        assert spec.log_both == -np.inf
    open_ = [Problem(bestk.TopK(n, 5)).configure(0, 30).evidence for n in (6, 10, 20)]
    for evidence in open_[1:]:  # the mixture is fixed before the data, not by the arms there are
        np.testing.assert_array_equal(evidence.points, open_[0].points)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_arms": 2}, "at least the 3 arms"),
        ({"max_arms": 9, "policy": "lucb"}, "depend on how many arms"),
        ({"max_arms": 9, "policy": "lil-rand-lucb"}, "bound=evidence"),
        ({"max_arms": 9, "params": {"weights": "0.5,0.5,0"}}, "no hybrid stop"),
        (
            {"max_arms": 9, "k": None, "decision": bestk.ExplicitSets([[0], [1, 2]])},
            "names its arms",
        ),
    ],
)
def test_what_cannot_change_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Study("s", "abc", **({"k": 1} | settings))


def test_the_paper_policy_with_evidence_may_change_too():
    study = Study("s", "abc", k=1, max_arms=5, seed=1, policy="lil-rand-lucb",
                  params={"bound": "evidence"})  # fmt: skip
    raters = Raters(bestk.Bounded())
    go(study, raters, 9)
    study.add_arm("e")
    go(study, raters)
    assert study.result.top == ("e",)


def test_changes_that_cannot_be_are_refused():
    closed = Study("s", "abc", k=1)
    for change in (closed.add_arm, closed.withdraw_arm):
        with pytest.raises(InputError, match="the study is closed"):
            change("c")
    study = Study("s", "abc", k=2, max_arms=4)
    for change, arm, message in (
        (study.withdraw_arm, "a", "none can be spared"),
        (study.withdraw_arm, "x", "no such arm"),
        (study.add_arm, "a", "already"),
    ):
        with pytest.raises(InputError, match=message):
            change(arm)
    study.add_arm("d")
    with pytest.raises(InputError, match="max_arms=4"):
        study.add_arm("e")
    study.withdraw_arm("d")
    with pytest.raises(InputError, match="max_arms=4"):  # a place is used once
        study.add_arm("e")
    study.add_arm("d")
    assert study.arms == ("a", "b", "c", "d")


def test_any_label_may_join_in_memory_and_only_what_json_holds_in_a_file(tmp_path):
    class Prompt:
        pass

    study = Study("s", [1, ("x", 2)], k=1, max_arms=4)
    study.add_arm(newcomer := Prompt())
    assert study.arms == (1, ("x", 2), newcomer)
    kept = Study("s", [1, ("x", 2)], k=1, max_arms=4, storage=tmp_path / "s.db")
    kept.add_arm(("y", 3))
    assert Study("s", storage=tmp_path / "s.db").arms == (1, ("x", 2), ("y", 3))
    with pytest.raises(InputError):
        kept.add_arm(newcomer)
    assert Study("s", storage=tmp_path / "s.db").arms == (1, ("x", 2), ("y", 3))


# --- many observations at once --------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["e-lucb", "lil-rand-lucb", "lucb", "ugape", "clucb"])
@pytest.mark.parametrize("rewards", FAMILIES, ids=lambda rewards: rewards.name)
@pytest.mark.parametrize("pieces", ["whole", "random"])
def test_a_log_read_in_pieces_gives_the_same_state_to_the_bit(policy, rewards, pieces):
    study = Study("s", "abcdef", k=2, policy=policy, rewards=rewards, seed=3)
    go(study, Raters(rewards), 400)
    log = list(study._journal.storage.read("s"))
    dice = np.random.default_rng(1)
    single, other = Fold(study.specification), Fold(study.specification)
    done = 0
    while done < len(log):
        size = len(log) if pieces == "whole" else int(dice.integers(1, 60))
        for event in log[done : done + size]:
            single.apply([event])
        other.apply(log[done : done + size])
        done += size
        assert other.plan() == single.plan()
        for name in ("counts", "sums", "means", "high", "keys", "levels"):
            left, right = (getattr(fold.state, name) for fold in (other, single))
            np.testing.assert_array_equal(left, right, err_msg=name)
    assert other.tally.sums.tobytes() == single.tally.sums.tobytes()
    assert (other.told, other.rounds, other.handed) == (single.told, single.rounds, single.handed)


@pytest.mark.compiled
@pytest.mark.parametrize("batch", [5, 6, 13])
def test_answers_told_in_batches_leave_what_one_by_one_leaves(batch):
    """Also for arms that were among the best and are no more, which a rebuilt tree must forget."""
    study = Study("s", "abcdef", k=2, seed=3)
    dice = np.random.default_rng(2)
    for _ in range(60):
        study.tell_many([(pull, float(dice.random())) for pull in study.ask(batch)])
        single = Fold(study.specification)
        for event in study._journal.storage.read("s"):
            single.apply([event])
        assert study._fold.plan() == single.plan()
        np.testing.assert_array_equal(study._fold.state.keys, single.state.keys)


def test_a_log_is_read_by_numpy_and_its_trees_are_built_once(monkeypatch):
    study = Study("s", "abcdef", k=2, seed=3)
    go(study, Raters(bestk.Bounded()), 30)
    assert not study.is_stopped
    log = list(study._journal.storage.read("s"))
    called, original = [], Machine.call
    monkeypatch.setattr(
        Machine, "call", lambda self, *a: (called.append(a[0]), original(self, *a))[1]
    )
    fold = Fold(study.specification)
    fold.apply(log)
    assert called == []
    fold.plan()
    assert called[:2] == ["rebuild", "ask"]


def test_the_shadow_of_open_pulls_is_the_one_that_would_be_built_anew():
    kept, anew = (Study("s", "abcdef", k=2, seed=3) for _ in range(2))
    asked = []
    for study in (kept, anew):
        raters, out = Raters(bestk.Bounded()), []
        asked.append([])
        for turn in range(150):
            if study is anew:
                study._fold.planner.recount()
            out += study.ask(1 + turn % 3)
            asked[-1] += [pull.arm for pull in out[-1 - turn % 3 :]]
            while len(out) > (1 if turn % 10 == 4 else 7):  # late, and the last asked first
                pull = out.pop(-2)
                if turn % 10 == 4:
                    study.forget(pull)
                else:
                    study.tell(pull, raters(pull.arm))
    assert asked[0] == asked[1]


def test_an_observation_that_two_processes_logged_counts_once(tmp_path):
    study = Study("s", "abc", k=1, storage=tmp_path / "s.db")
    twice = [Event(ev.OBSERVED, "id", 1, reward) for reward in (0.25, 0.75)]
    study._journal.storage.append("s", twice)
    assert (study.result.samples, study.result.arms[1].mean) == (1, 0.25)
    with pytest.raises(PullError, match=r"it was 0.25"):
        study.add("b", 0.75, "id")


def test_a_stop_that_an_arm_overtook_is_no_stop(tmp_path):
    """Two processes: one sees the rule hold, but another lets an arm in before that is written."""
    study = Study("s", "abcd", k=1, max_arms=6, seed=3, storage=tmp_path / "s.db")
    raters = Raters(bestk.Bounded())
    while study._fold.plan():
        for pull in study.ask():
            study.tell(pull, raters(pull.arm))
    overtaken = Event(ev.STOPPED, "", study._fold.changes, 0.0, "[1]")
    Study("s", storage=tmp_path / "s.db").add_arm("e")
    study._journal.storage.append("s", [overtaken])
    assert not study.result.certified
    go(study, raters)
    assert (study.result.top, study.result.certified) == (("e",), True)


def test_an_arm_in_the_place_of_another_gets_coins_of_its_own():
    """Bounded rewards are rounded by coins; one that was seen before would not be a coin."""
    study = Study("s", "abc", k=1, max_arms=4, seed=3)
    tossed = []  # what a coin is numbered by: the run, the row, the observation

    def observe(arm, number):
        for _ in range(40):
            row = study._fold.rows[number]
            count, run = study._fold.state.counts[row], study._fold.state.clock[RUN]
            tossed.append((int(run), row, int(count)))
            study.add(arm, 0.123, str(len(tossed)))

    observe("b", 1)
    observe("c", 2)
    study.withdraw_arm("a")  # b and c move up a row
    study.add_arm("d")  # where c was
    observe("d", 3)
    observe("c", 2)
    assert len(set(tossed)) == len(tossed)


def test_two_processes_that_let_arms_in_at_once_both_succeed(tmp_path):
    one = Study("s", "abc", k=1, max_arms=6, storage=tmp_path / "s.db")
    two = Study("s", storage=tmp_path / "s.db")
    seen = two._journal.sync
    two._journal.sync = lambda: None  # it has not read the other's arm yet
    one.add_arm("x")

    def append(name, events, original=two._journal.storage.append):
        two._journal.sync = seen
        original(name, events)

    two._journal.storage.append = append
    two.add_arm("y")
    assert Study("s", storage=tmp_path / "s.db").arms == ("a", "b", "c", "x", "y")
    one._journal.storage.append(
        "s", [Event(ev.ARM_WITHDRAWN, "", 3), Event(ev.ARM_ADDED, "", 3, 0.0, '"z"')]
    )
    assert Study("s", storage=tmp_path / "s.db").arms == ("a", "b", "c", "y")  # x stays out
