"""Certificates: every stop with a guarantee is confirmed, and nothing that was changed is."""

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
from helpers.certified import (
    CASES,
    ONE_OF_EACH_KIND,
    begin,
    copied,
    drive,
    edit,
    failed,
    forge,
    name_of,
    sha_of,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Studies that have stopped, each made once."""
    known = {}

    def make(case):
        if name_of(case) not in known:
            path = tmp_path_factory.mktemp("study") / "study.db"
            drive(begin(path, case), case[1], np.random.default_rng(7))
            known[name_of(case)] = path, make_certificate(path)
        return case, *known[name_of(case)]

    return make


@pytest.fixture(params=CASES, ids=name_of)
def stopped(request, made):
    """A study that has stopped: its case, its file and its certificate."""
    return made(request.param)


@pytest.fixture(params=ONE_OF_EACH_KIND, ids=name_of)
def typical(request, made):
    """The same, one for each kind of rule and statistics."""
    return made(request.param)


@pytest.fixture
def simple(made):
    """One study that has stopped."""
    return made(CASES[0])


# --- yes ------------------------------------------------------------------------------------------


def test_what_the_rule_proved_is_confirmed(stopped):
    _, path, certificate = stopped
    report = verify(certificate, path)
    assert report.verified, report.failed
    assert verify(json.loads(json.dumps(certificate)), path).verified
    study = Study("s", storage=SQLiteStorage(path))
    assert {str(label) for label in certificate["answer"]} == {
        str(list(label)) if isinstance(label, tuple) else str(label) for label in study.result.top
    }
    assert certificate["theorem"] == study.result.theorem
    assert certificate["error_bound"] == study.result.error_bound == 0.1


# --- no -------------------------------------------------------------------------------------------


def test_the_hash_is_of_json_lines(stopped):
    _, path, certificate = stopped
    assert certificate["log"]["sha256"] == sha_of(path, certificate["log"]["events"])


REWRITE = "UPDATE log_1 SET data = replace(data, ?, ?) WHERE kind = ?"


def change_reward(path):
    """The first, which counts at the stop: the last may be held back."""
    edit(path, "UPDATE log_1 SET reward = 1 - reward WHERE seq ="
         " (SELECT min(seq) FROM log_1 WHERE kind = 2)")  # fmt: skip


def change_order(path):
    """Swap the first two answers that differ: the same observations in another order."""
    connection = sqlite3.connect(path)
    told = connection.execute("SELECT seq, key, reward FROM log_1 WHERE kind = 2").fetchall()
    (first, *a), (second, *b) = told[0], next(row for row in told if row[1] != told[0][1])
    with connection:
        for seq, (key, reward) in ((first, b), (second, a)):
            connection.execute("UPDATE log_1 SET key=?, reward=? WHERE seq=?", (key, reward, seq))
    connection.close()


def change_label(path):
    connection = sqlite3.connect(path)
    (text,) = connection.execute("SELECT data FROM log_1 WHERE kind = 0").fetchone()
    connection.close()
    begun = json.loads(text)
    begun["arms"][0] = "somebody else"
    edit(path, "UPDATE log_1 SET data = ? WHERE kind = 0", json.dumps(begun))


def change_delta(path):
    edit(path, REWRITE, '"delta": 0.1', '"delta": 0.01', ev.CREATED)


def change_answer(path):
    edit(path, "UPDATE log_1 SET data = '[0, 3]' WHERE kind = 9")


def drop_event(path):
    edit(path, "DELETE FROM log_1 WHERE seq = (SELECT min(seq) FROM log_1 WHERE kind = 2)")


def add_answer(path):
    """A second answer to a pull, which would not count, before all others."""
    edit(path, "INSERT INTO log_1 (seq, kind, key, arm, reward, data, at, checksum) VALUES"
         " (0, 2, 'x', -1, 0.5, '', 0.0, 0)")  # fmt: skip


def impossible_reward(path):
    edit(
        path, "UPDATE log_1 SET reward = 9e9 WHERE seq = (SELECT min(seq) FROM log_1 WHERE kind=2)"
    )


def impossible_answer(path):
    edit(path, "UPDATE log_1 SET data = '[0]' WHERE kind = 9")


def silence_an_arm(path):
    """All its answers become pulls that expired."""
    edit(path, "UPDATE log_1 SET kind = 4 WHERE kind = 2 AND key IN"
         " (SELECT key FROM log_1 WHERE kind = 1 AND arm = 0)")  # fmt: skip


CHANGES = {
    impossible_reward: "rewards",
    impossible_answer: "feasible",
    silence_an_arm: "every arm sampled",
    change_reward: "statistics",
    change_order: None,  # the answers are the same ones: nothing but the hash can tell
    change_label: "arms",
    change_delta: "problem",
    change_answer: "answer",
    drop_event: None,
    add_answer: None,
}


def test_an_observation_that_was_changed_is_refuted(stopped, tmp_path):
    _, path, certificate = stopped
    path = copied(path, tmp_path)
    change_reward(path)
    assert {"hash of the log", "statistics"} <= failed(certificate, path)


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_that_was_changed_is_refuted(typical, tmp_path, change):
    _, path, certificate = typical
    path = copied(path, tmp_path)
    change(path)
    wrong = failed(certificate, path)
    assert wrong & {"hash of the log", "length of the log"}
    if CHANGES[change] is not None:  # and to forge the hash too would not help
        certificate = copy.deepcopy(certificate)
        certificate["log"]["sha256"] = sha_of(path, certificate["log"]["events"])
        wrong = failed(certificate, path)
        assert "hash of the log" not in wrong
        assert CHANGES[change] in wrong


def forgeries(certificate):
    """The certificate with one thing changed, and the check that must see it."""

    def forged(check, *keys, to):
        other = copy.deepcopy(certificate)
        place = other
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to(place[keys[-1]])
        assert other != certificate
        return check, other

    def more(x):
        return x + 1

    def nudge(x):
        return x + 1e-3 * (1 + abs(x))

    yield forged("answer", "answer", to=lambda x: [*x[1:], "arm 5"])
    yield forged("guarantee", "error_bound", to=lambda x: x / 2)
    yield forged("guarantee", "theorem", to=lambda x: x + "!")
    yield forged("samples", "samples", to=more)
    yield forged("problem", "seed", to=more)
    yield forged("problem", "problem", "delta", to=lambda x: x / 2)
    yield forged("problem", "problem", "rewards", "family", to=lambda x: x + "?")
    yield forged("study", "study", to=lambda x: x + "?")
    yield forged("hash of the log", "log", "sha256", to=lambda x: x[::-1])
    yield forged("length of the log", "log", "events", to=lambda x: x + 10**6)
    yield forged("length of the log", "log", "decided", to=lambda x: x + 1)
    yield forged("stopping statistic", "stop", "statistic", to=nudge)
    yield forged("stopping statistic", "stop", "epsilon", to=nudge)
    yield forged("stopping statistic", "stop", "rule", to=lambda x: x + "?")
    if certificate["stop"]["rival"] is not None:
        yield forged("stopping statistic", "stop", "rival", "bound", to=nudge)
        yield forged("stopping statistic", "stop", "weakest", "label", to=lambda x: [x])
    if certificate["levels"] is not None:
        yield forged("levels", "levels", "lower", to=lambda x: x * 1.001)
    if certificate["round"] is not None:
        yield forged("round", "round", to=more)
    yield forged("arms", "arms", 1, "label", to=lambda x: [x])
    yield forged("arms", "arms", 1, "present", to=lambda x: not x)
    for name in ("pulls", "sum", "mean", "seen_mean"):
        yield forged("statistics", "arms", 1, name, to=more if name == "pulls" else nudge)
    if certificate["arms"][1]["levels"] is not None:
        yield forged("statistics", "arms", 1, "levels", to=lambda x: [x[0] + 1, *x[1:]])
    for name in ("failed", "forgotten", "expired", "dropped", "open"):
        yield forged("lost pulls", "arms", 1, name, to=more)
    for name in ("low", "high"):
        yield forged("bounds", "arms", 1, name, to=nudge)


def test_a_certificate_that_was_changed_is_refuted(typical):
    _, path, certificate = typical
    for check, other in forgeries(certificate):
        assert check in failed(other, path)


def test_a_stop_that_came_too_early_is_refuted(stopped, tmp_path):
    """Only the rule itself can tell: the certificate is made from the very log that stops early."""
    case, path, certificate = stopped
    early = Study("s", storage=SQLiteStorage(tmp_path / "early.db"), arms=None, **again(path))
    few = max(certificate["samples"] // 3, len(early.arms) + 1)  # every arm once
    drive(early, case[1], np.random.default_rng(7), few)
    assert not early.is_stopped
    answer = json.dumps(early._fold.stepper.answer())  # rows, which are the arms here
    storage = SQLiteStorage(tmp_path / "early.db")
    storage.append("s", [ev.Event(ev.STOPPED, arm=early._fold.changes, data=answer)])
    wrong = failed(forge(tmp_path / "early.db"), tmp_path / "early.db")
    assert "stopping rule" in wrong
    assert wrong <= {"stopping rule", "stopping statistic"}
    if case == CASES[0]:
        with pytest.raises(NothingToCertifyError, match="not stopped yet"):
            make_certificate(tmp_path / "early.db")


def test_an_answer_that_is_not_the_best_is_refuted(typical, tmp_path):
    """The certificate is made from the very log that answers so."""
    case, path, certificate = typical
    path = copied(path, tmp_path)
    problem = Study("s", storage=SQLiteStorage(path)).problem
    means = np.array([arm["seen_mean"] for arm in certificate["arms"]])
    worst = problem.decision.best(-means if problem.maximize else means)
    answer = json.dumps(np.flatnonzero(worst).tolist())
    edit(path, "UPDATE log_1 SET data = ? WHERE kind = 9", answer)
    wrong = failed(forge(path), path)
    assert {"best in the data", "stopping rule"} <= wrong, case
    assert wrong <= {"best in the data", "stopping rule", "stopping statistic"}


def again(path):
    """The settings of a study, to begin another one like it."""
    begun = Study("s", storage=SQLiteStorage(path)).specification
    problem = begun.problem
    return {
        "decision": problem.decision, "rewards": problem.rewards, "delta": problem.delta,
        "epsilon": problem.epsilon, "policy": problem.policy, "params": problem.params,
        "maximize": problem.maximize, "seed": begun.seed,
    }  # fmt: skip


# --- refused --------------------------------------------------------------------------------------


def test_there_is_nothing_to_certify_before_the_stop_or_for_a_heuristic(tmp_path):
    study = begin(tmp_path / "study.db", CASES[0])
    drive(study, "gaussian", np.random.default_rng(1), 12)
    with pytest.raises(NothingToCertifyError, match="not stopped yet"):
        make_certificate(tmp_path / "study.db")
    other = begin(tmp_path / "other.db", ("lil-lucb", "gaussian", None, {}, True),
                  variant="heuristic")  # fmt: skip
    drive(other, "gaussian", np.random.default_rng(1))
    assert other.is_stopped
    with pytest.raises(NothingToCertifyError, match="nothing is proved of lil-lucb"):
        make_certificate(tmp_path / "other.db")
