"""How a study went: at every checkpoint what the study itself said at that moment."""

import math

import numpy as np
import pytest

import bestk
from bestk.storage import MemoryStorage, SQLiteStorage
from bestk.study import Study
from bestk.study.certificate import make_certificate
from bestk.study.trajectory import replay

MEANS = {"a": 0.2, "b": 0.5, "c": 0.8, "d": 0.75}


def run(study, seed=1, most=10**6, after=lambda _: None):
    """Ask and tell until the study stops."""
    rng = np.random.default_rng(seed)
    while study.samples < most and (pulls := study.ask()):
        study.tell(pulls[0], float(rng.random() < MEANS[pulls[0].arm]))
        after(study)


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("policy", ["e-lucb", "lil-rand-lucb", "clucb"])
def test_every_checkpoint_is_what_the_study_said_then(maximize, policy):
    log = MemoryStorage()
    study = Study("s", MEANS, k=2, rewards=bestk.Bernoulli(), epsilon=0.2, policy=policy,
                  maximize=maximize, storage=log, seed=3)  # fmt: skip
    said = {}
    run(study, most=600, after=lambda s: said.update({s.samples: s.result}))
    found = replay(study.specification, log.read("s"), list("cad"), study.result.top)
    assert found.samples[-1] == study.samples
    assert 10 < len(found.samples) <= 60
    assert np.all(np.diff(found.samples) > 0)
    for column, samples in enumerate(found.samples):
        arms = {arm.label: arm for arm in said[samples].arms}
        for row, label in enumerate("cad"):
            arm = arms[label]
            known = [found.means[row, column], found.low[row, column], found.high[row, column]]
            wanted = [math.nan if x is None else x for x in (arm.mean, arm.low, arm.high)]
            np.testing.assert_allclose(known, wanted, rtol=1e-12)
            assert found.pulls[row, column] == arm.pulls
        answered = sum(arms[label].pulls for label in study.result.top)
        assert found.answer[column] == answered


def test_the_hash_is_that_of_the_certificate_and_later_events_do_not_change_it(tmp_path):
    file = tmp_path / "s.db"
    study = Study("s", MEANS, k=2, rewards=bestk.Bernoulli(), epsilon=0.2, storage=file, seed=3)
    run(study)
    log = make_certificate(file)["log"]
    study.add("a", 1.0, "late")
    found = replay(study.specification, SQLiteStorage(file).read("s"), ["a"])
    assert (found.hashed, found.sha256) == (log["events"], log["sha256"])
    assert found.events == found.hashed + 1


def test_lost_pulls_are_counted_once():
    log = MemoryStorage()
    study = Study("s", MEANS, k=2, storage=log, lease=1e-9)
    (pull,) = study.ask()
    study.ask()  # the lease of the first has run out by now
    lapsed = replay(study.specification, log.read("s"), [])
    assert lapsed.expired == 1
    assert lapsed.given_up == {pull.arm: 1}
    assert lapsed.began <= lapsed.ended

    patient = Study("p", MEANS, k=2, storage=log)
    (pull,) = patient.ask()
    patient.forget(pull)
    forgotten = replay(patient.specification, log.read("p"), [])
    assert (forgotten.expired, forgotten.given_up) == (0, {pull.arm: 1})
    assert len(forgotten.samples) == 0


def test_an_arm_is_unknown_before_it_comes_and_after_it_leaves():
    log = MemoryStorage()
    study = Study("s", ["a", "b", "c"], k=1, rewards=bestk.Bernoulli(), storage=log, max_arms=5)
    run(study, most=20)
    study.add_arm("d")
    run(study, most=40)
    study.withdraw_arm("a")
    run(study, most=60)
    found = replay(study.specification, log.read("s"), ["a", "d"])
    before, after = found.samples <= 20, found.samples > 40
    assert np.isnan(found.means[1, before]).all()
    assert np.isfinite(found.means[1, after]).all()
    assert np.isnan(found.means[0, -1])
    assert np.isfinite(found.means[0, ~after]).any()
