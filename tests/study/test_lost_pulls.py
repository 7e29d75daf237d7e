"""Pulls that fail, are given up, or whose process is gone."""

import os
import signal
import subprocess
import sys

import pytest

import bestk
from bestk.errors import ArmFailedError, PullError
from bestk.storage import MemoryStorage, SQLiteStorage
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import Runner, Study
from bestk.study.fold import Fold


class Log(MemoryStorage):
    """A storage that a test can look into; studies on it write their specification."""


def test_a_failed_pull_is_lost_and_the_next_attempt_is_another_pull():
    study = Study("s", "ab", k=1, seed=1)
    (pull,) = study.ask()
    assert study.fail(pull, "no luck") == 1
    with pytest.raises(PullError):
        study.tell(pull, 0.5)
    with pytest.raises(PullError):
        study.fail(pull, "again")
    (again,) = study.ask()
    assert again.arm == pull.arm
    assert again.id != pull.id
    assert "1 pull was lost" in study.result.assumptions[0]
    assert "assumed: 1 pull was lost" in str(study.result)


def test_what_is_given_up_after_the_stop_was_not_lost():
    means = {"a": 0.9, "b": 0.1}
    result = bestk.identify("ab", means.get, k=1, rewards=bestk.Gaussian(0.1), parallel=8, seed=1)
    assert result.certified
    assert result.assumptions == ()
    study = Study("s", "ab", k=1, rewards=bestk.Gaussian(0.1), seed=1)
    while pulls := study.ask(4):
        study.tell_many([(pull, means[pull.arm]) for pull in pulls[:3]])
        if not study.check():
            study.tell_many([(pull, means[pull.arm]) for pull in pulls[3:]])
    assert study.open
    for pull in study.open:
        study.forget(pull)
    assert (study.result.assumptions, study.result.waiting) == ((), ())


def test_what_counts_as_the_worst_assumes_nothing():
    study = Study("s", "ab", k=1, seed=1, lost="worst")
    study.forget(study.ask()[0])
    assert study.result.assumptions == ()


def test_pulls_of_a_process_that_lives_are_its_own(tmp_path):
    """And those of one that was killed are made again, under their ids."""
    code = (
        "import sys, bestk\n"
        "study = bestk.Study('s', 'ab', k=1, storage=sys.argv[1])\n"
        "print(study.ask()[0].id, flush=True)\n"
        "sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "s.db"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    theirs = other.stdout.readline().strip()
    study = Study("s", storage=tmp_path / "s.db")
    mine = study.ask()[0]
    assert mine.id != theirs
    os.kill(other.pid, signal.SIGKILL)
    other.communicate()
    del study
    study = Study("s", storage=tmp_path / "s.db")
    assert {pull.id for pull in study.ask(2)} == {theirs, mine.id}
    assert "2 pulls were made again" in study.result.assumptions[0]


def test_a_pull_that_another_process_lost_is_taken_over_when_all_wait_for_it(tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("forks")
    settings = {"k": 1, "rewards": bestk.Gaussian(0.1), "storage": tmp_path / "s.db", "seed": 1}
    mine = Study("s", "ab", **settings)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, Study("s", "ab", **settings).ask()[0].id.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    theirs = os.read(reading, 99).decode()  # asked before it was killed; perhaps not dead yet
    for n in range(20):
        mine.add("a", 0.9, f"a{n}")
        mine.add("b", 0.1, f"b{n}")
    os.waitpid(child, 0)
    (pull,) = mine.ask()
    assert pull.id == theirs


def abandoned(file, **settings):
    """The id of a pull whose process was killed."""
    child = os.fork()
    if not child:
        Study("s", "ab", storage=file, **settings).ask()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    log = SQLiteStorage(file).read("s")
    return next(event.key for event in log if event.kind == ev.ASKED)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_an_abandoned_pull_is_handed_to_one_worker_only(tmp_path):
    """However often is asked while all wait for it, and whoever opens the study meanwhile."""
    file, settings = tmp_path / "s.db", {"k": 1, "rewards": bestk.Gaussian(0.1), "seed": 1}
    lost = abandoned(file, **settings)
    study = Study("s", storage=file)
    (pull,) = study.ask()
    assert pull.id == lost
    for n in range(20):
        study.add("a", 0.9, f"a{n}")
        study.add("b", 0.1, f"b{n}")
    assert study.ask(5) == []
    other = Study("s", storage=file)
    assert other.ask(5) == []
    assert [each.id for each in other.waiting_for] == [lost]
    before = f"{study._fold.holders[lost]} "
    stale = Event(ev.REISSUED, lost, data=f"{lost.rpartition('-')[0]} slower")  # it came second
    SQLiteStorage(file).append("s", [stale])
    assert study.ask(5) == []
    assert f"{study._fold.holders[lost]} " == before
    study.tell(pull, 0.9)
    assert study.ask() == []
    assert study.is_stopped


def test_two_objects_of_one_process_do_not_share_a_pull(tmp_path):
    one = Study("s", "abcd", k=1, storage=tmp_path / "s.db")
    mine = one.ask(2)
    two = Study("s", storage=tmp_path / "s.db")
    theirs = two.ask(2)
    assert not {pull.id for pull in mine} & {pull.id for pull in theirs}
    assert two.result.assumptions == ()
    del one  # nobody makes its pulls any more
    again = Study("s", storage=tmp_path / "s.db").ask(2)
    assert {pull.id for pull in again} == {pull.id for pull in mine}


def test_a_run_that_was_cut_short_leaves_its_pulls_to_the_next():
    study = Study("s", "ab", k=1, rewards=bestk.Gaussian(0.1), seed=1)
    broken = []

    def pull(arm):
        if not broken:
            broken.append(arm)
            raise ValueError("no luck")
        return 0.9 if arm == "a" else 0.1

    with pytest.raises(ArmFailedError):
        Runner(study, pull, parallel=4, retries=0).run()
    assert Runner(study, pull, parallel=4).run().certified


def test_plans_forget_holes_that_have_passed():
    """Only holes leave the queue: what is held next must still be planned with."""
    storage = Log()
    study = Study("s", "ab", k=1, rewards=bestk.Gaussian(0.1), storage=storage, seed=1)
    pulls = study.ask(22)
    for pull in pulls[1:21]:
        study.fail(pull)
    study.ask()
    study.forget(pulls[0])
    for _ in range(12):
        out = study.ask()
        if out:
            study.tell(out[0], 0.9 if out[0].arm == "a" else 0.1)
        resumed = Fold(study.specification)
        resumed.apply(storage.read("s"))
        assert resumed.plan() == study._fold.plan()


def test_what_came_too_early_does_not_turn_a_certified_result_upside_down():
    study = Study("s", "ab", k=1, rewards=bestk.Gaussian(0.3), seed=1)
    pulls = study.ask(120)
    for n, pull in enumerate(pulls):
        if n != 60:
            good = (pull.arm == "a") == (n < 60)
            study.tell(pull, 0.9 if good else 0.1)
    assert study.check()
    result = study.result
    assert (result.top, result.held, result.samples) == (("a",), 59, 119)
    for arm in result.arms:
        assert arm.low <= arm.mean <= arm.high
    assert sum(arm.pulls for arm in result.arms) == 60
    assert "59 observations came back before an earlier pull: not counted" in str(result)
