"""Certificates of logs with lost pulls, overtaken stops, and arms that come and go."""

import copy
import json
import sqlite3

import numpy as np
import pytest

from bestk.errors import NothingToCertifyError
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study
from bestk.study.certificate import make_certificate
from bestk.verification import verify
from bestk.verification.schema import WARNINGS
from helpers import damage
from helpers.certified import (
    BY_EVIDENCE,
    CASES,
    MEANS,
    begin,
    copied,
    draw,
    drive,
    failed,
    forge,
    sha_of,
)


def test_what_is_told_after_the_stop_is_not_covered(tmp_path):
    path, dice = tmp_path / "study.db", np.random.default_rng(1)
    study = begin(path, CASES[0])
    means = dict(zip(study.arms, MEANS, strict=True))
    last = study.ask()[0]
    while not study.is_stopped:
        first, last = last, (study.ask() or [None])[0]  # one is always open, asked after the other
        study.tell(first, draw(dice, "gaussian", means[first.arm]))
        study.check()
    certificate = make_certificate(path)
    assert sum(arm["open"] for arm in certificate["arms"]) == 1
    study.tell(last, 9.0)
    assert verify(certificate, path).verified
    later = make_certificate(path)
    assert later["log"] == certificate["log"]
    assert later["arms"] == certificate["arms"]


def test_a_stop_that_another_process_overtook_does_not_count(tmp_path):
    """The log then has a value before the stop, which was decided without it."""
    study = begin(tmp_path / "study.db", CASES[0])
    drive(study, "gaussian", np.random.default_rng(2))  # with which no pull is open at the stop
    *events, stop = SQLiteStorage(tmp_path / "study.db").read("s")
    assert stop.kind == ev.STOPPED
    (worst,) = json.loads(stop.data)[:1]
    storage = SQLiteStorage(tmp_path / "other.db")
    storage.append("s", [*events, ev.Event(ev.OBSERVED, "x", worst, -30.0), stop])
    assert not Study("s", storage=storage).is_stopped
    with pytest.raises(NothingToCertifyError, match="not stopped yet"):
        make_certificate(tmp_path / "other.db")
    assert "stopping rule" in failed(forge(tmp_path / "other.db"), tmp_path / "other.db")


@pytest.mark.parametrize("family", ["ratings", "bounded"])
@pytest.mark.parametrize("kind", [None, "tree", "matching"])
def test_lost_pulls_that_count_as_the_worst_are_checked(tmp_path, family, kind):
    path = tmp_path / "study.db"
    case = ("e-clucb" if kind else "e-lucb", family, kind, {}, True)
    drive(begin(path, case, lost="worst"), family, np.random.default_rng(5))
    certificate = make_certificate(path)
    assert certificate["lost"] == "worst"
    holes = [arm["holes"] for arm in certificate["arms"]]
    assert sum(holes) > 0
    assert verify(certificate, path).verified
    skipped = {**certificate, "lost": "skip", "warning": WARNINGS["skip"]}
    assert "problem" in failed(skipped, path)
    arm = holes.index(max(holes))
    fewer = copy.deepcopy(certificate)
    fewer["arms"][arm]["holes"] -= 1
    assert "lost pulls" in failed(fewer, path)


@pytest.mark.parametrize(
    ("policy", "params"), [("e-lucb", {}), ("lucb++", BY_EVIDENCE), ("e-clucb", {})]
)
@pytest.mark.parametrize("family", ["gaussian", "bounded"])
def test_arms_may_come_and_go(tmp_path, policy, params, family):
    path, dice = tmp_path / "study.db", np.random.default_rng(3)
    study = begin(path, (policy, family, None, params, True), max_arms=9)
    drive(study, family, dice, 30)
    study.add_arm("late")
    (pull,) = study.ask()
    study.withdraw_arm(pull.arm)  # with a pull open
    drive(study, family, dice)
    first = make_certificate(path)
    assert verify(first, path).verified
    assert first["theorem"] == "docs/e-lucb.md, Theorem 5"
    gone = next(arm for arm in first["arms"] if arm["label"] == pull.arm)
    assert (gone["present"], gone["low"], gone["dropped"]) == (False, None, 1)
    study.add_arm(pull.arm)  # with what is known of it
    with pytest.raises(NothingToCertifyError, match="not stopped yet"):
        make_certificate(path)
    drive(study, family, dice)
    second = make_certificate(path)
    assert second["log"]["events"] > first["log"]["events"]
    assert all(arm["present"] for arm in second["arms"])
    for certificate in (first, second):  # each of the log as it was
        assert verify(certificate, path).verified


def test_a_stop_that_missed_a_new_arm_is_refuted(tmp_path):
    path, dice = tmp_path / "study.db", np.random.default_rng(3)
    study = begin(path, CASES[0], max_arms=9)
    drive(study, "gaussian", dice)
    certificate = make_certificate(path)
    path = copied(path, tmp_path)
    connection = sqlite3.connect(path)
    with connection:
        (stop,) = connection.execute("SELECT seq FROM log_1 WHERE kind = 9").fetchone()
        connection.execute("UPDATE log_1 SET seq = ? WHERE seq = ?", (stop + 1, stop))
        connection.execute(
            "INSERT INTO log_1 VALUES (?, 7, '', 6, 0.0, '\"new\"', 0.0, 0)", (stop,)
        )
    connection.close()
    damage.forge(path)
    with pytest.raises(NothingToCertifyError):
        make_certificate(path)
    certificate["log"] |= {"events": stop + 1, "sha256": sha_of(path, stop + 1)}
    assert "stop in the log" in failed(certificate, path)
