"""Pulls that raters skip: given back, handed to others first, not lost, no failures."""

import pytest

from bestk import Bernoulli, Study
from bestk.storage import MemoryStorage
from bestk.study.shared import Answer, Request, SharedStudy, Worker

ANN, BEN = Worker("token1", "ann"), Worker("token2", "ben")


@pytest.fixture(params=[None, 60.0], ids=["no lease", "lease"])
def storage(request):
    found = MemoryStorage()
    lease = {} if request.param is None else {"lease": request.param}
    Study("s", ["a", "b"], k=1, epsilon=0.5, rewards=Bernoulli(), storage=found, seed=1, **lease)
    return found


def opened(storage):
    return SharedStudy("s", storage=storage, patience=60.0, most=100)


def ask(study, worker, request):
    (pull,) = study.hand_out(Request(worker, request, 1, rating=9))
    return pull.id


def test_what_one_skips_goes_to_another_and_the_one_who_skipped_gets_something_else(storage):
    study = opened(storage)
    first = ask(study, ANN, "1")
    study.skip([first], ANN.owner)
    other = ask(study, ANN, "2")
    assert other != first
    assert ask(study, BEN, "1") == first
    assert study.n_open == 2
    study.take_answers([Answer(first, 1.0), Answer(other, 0.0)])
    assert study.samples == 2
    assert study.told[BEN] == study.told[ANN] == 1
    assert sum(arm.failed for arm in study.result.arms) == 0


def test_a_skip_again_and_a_late_repetition_of_the_ask_take_nothing_from_the_next_rater(storage):
    study = opened(storage)
    first = ask(study, ANN, "1")
    study.skip([first], ANN.owner)
    assert ask(study, BEN, "1") == first
    study.skip([first], ANN.owner)
    assert study.hand_out(Request(ANN, "1")) == []
    assert study.holder(first) == BEN
    assert ask(study, BEN, "1") == first


def test_nobody_skips_what_others_have(storage):
    study = opened(storage)
    first = ask(study, ANN, "1")
    study.skip([first, "nobody asked for this"], BEN.owner)
    assert study.holder(first) == ANN


@pytest.mark.parametrize("name", ["", "gpu-1", "reader 1", "a/b ~%41-", "Jürgen\n", 100 * "-"])
def test_a_worker_is_called_what_it_calls_itself(storage, name):
    who = Worker("token1", name)
    pull = ask(opened(storage), who, "1")
    assert opened(storage).holder(pull) == who  # after a restart too


def test_what_was_skipped_is_given_to_others_after_a_restart_too(storage):
    study = opened(storage)
    first = ask(study, ANN, "1")
    study.skip([first], ANN.owner)
    assert ask(opened(storage), BEN, "1") == first


def test_one_who_is_alone_sees_it_again_when_nothing_else_is_left(storage):
    study = opened(storage)
    skipped = ask(study, ANN, "skipped")
    study.skip([skipped], ANN.owner)
    for number in range(500):
        pull = ask(study, ANN, f"next {number}")
        if pull == skipped:
            break
        arm = study.hand_out(Request(ANN, f"next {number}"))[0].arm
        study.take_answers([Answer(pull, float(arm == "a"))])
    assert pull == skipped
    study.take_answers([Answer(pull, 1.0)])
    study.hand_out(Request(ANN, "last"))
    assert study.is_stopped


def test_an_item_of_an_evaluation_can_be_skipped():
    storage = MemoryStorage()
    Study("s", ["a", "b"], k=1, items=list(range(50)), storage=storage, seed=1)
    study = opened(storage)
    first = ask(study, ANN, "1")
    study.skip([first], ANN.owner)
    assert ask(study, ANN, "2") != first
    assert ask(study, BEN, "1") == first


def test_the_lease_of_a_pull_begins_anew_when_it_is_handed_out_again(monkeypatch):
    storage, now = MemoryStorage(), [1000.0]
    monkeypatch.setattr("bestk.study.handover.time.monotonic", lambda: now[0])
    Study("s", ["a", "b"], k=1, rewards=Bernoulli(), storage=storage, seed=1, lease=60.0)
    study = opened(storage)
    first = ask(study, ANN, "1")
    now[0] += 50.0
    study.skip([first], ANN.owner)
    assert ask(study, BEN, "1") == first
    now[0] += 50.0
    ask(study, ANN, "2")
    assert first in [pull.id for pull in study.open]
    now[0] += 11.0
    ask(study, Worker("token3", "cy"), "1")
    assert first not in [pull.id for pull in study.open]


def test_what_is_remembered_of_workers_has_an_end_and_what_they_hold_is_kept(monkeypatch):
    monkeypatch.setattr("bestk.study.shared.MANY", 20)
    storage, now = MemoryStorage(), [1000.0]
    monkeypatch.setattr("bestk.study.shared.time.monotonic", lambda: now[0])
    Study("s", ["a", "b"], k=1, epsilon=0.0, rewards=Bernoulli(), storage=storage, seed=1)
    study = opened(storage)
    study.skip([ask(study, ANN, "1")], ANN.owner)
    kept = ask(study, BEN, "1")  # handed out anew: its name does not tell the request
    now[0] += 50.0
    assert ask(study, BEN, "1") == kept
    for number in range(200):
        worker = Worker("token3", f"worker {number}")
        study.skip([ask(study, worker, "1")], worker.owner)
        study.take_answers([Answer(ask(study, worker, "2"), 1.0)])
    now[0] += 30.0  # more than the patience, but for what was heard
    assert ask(study, Worker("token3", "late"), "1") != kept
    assert ask(study, BEN, "1") == kept
    remembered = (study._heard, study._again, study._skipped)
    assert all(len(each) < 50 for each in remembered), [len(each) for each in remembered]
