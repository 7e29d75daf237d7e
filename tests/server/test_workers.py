"""Which worker has a pull: who is alive, who is somebody else, and who gives back what."""

import json

import pytest

import bestk
from bestk import Study
from bestk.storage import MemoryStorage
from bestk.study.shared import Answer, Request, SharedStudy, Worker
from helpers.command import good
from helpers.served import serving

SLOW, OTHER = Worker("team", "slow"), Worker("team", "other")


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test says so."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def shared():
    storage = MemoryStorage()
    Study("coins", ["a", "b"], k=1, storage=storage)
    return SharedStudy("coins", storage=storage, patience=100.0, most=2)


def told(study, pull):
    study.take_answers([Answer(pull, 1.0)], "team")


def failed(study, pull):
    study.try_again(pull, "broke", "1", "team")


@pytest.mark.parametrize("say", [told, failed])
def test_who_says_what_became_of_a_pull_lives_and_keeps_the_others(clock, shared, say):
    first, second = (pull.id for pull in shared.hand_out(Request(SLOW, "1", 2)))
    clock[0] += 99.0
    say(shared, first)
    clock[0] += 99.0
    shared.most = shared.n_open + 1  # room for another one
    (pull,) = shared.hand_out(Request(OTHER, "1", 1))
    assert pull.id not in (first, second)
    clock[0] += 2.0
    given = [pull.id for pull in shared.hand_out(Request(OTHER, "2", 2))]
    assert second in given


def test_answers_of_others_do_not_say_that_a_worker_lives(clock, shared):
    first, second = (pull.id for pull in shared.hand_out(Request(SLOW, "1", 2)))
    clock[0] += 99.0
    shared.take_answers([Answer(first, 1.0)], "another team")
    clock[0] += 2.0
    given = [pull.id for pull in shared.hand_out(Request(OTHER, "1", 2))]
    assert second in given


@pytest.fixture
def teams(tmp_path):
    path = tmp_path / "s.db"
    texts = {
        role: json.loads(good("token", "create", "--role", role, "--json", path))["token"]
        for role in ("admin", "work", "rate")
    }
    with serving(path, "--lease", "2", "--max-open", "1") as server:
        server.url, server.tokens = f"http://127.0.0.1:{server.port}", texts
        coins = {"name": "coins", "arms": ["a", "b"], "k": 1, "rewards": "bernoulli"}
        assert server.post("/api/studies", {**coins, "lease": 3600.0}, texts["admin"]).status == 201
        yield server


def test_one_process_after_another_of_the_same_name_takes_over_what_it_left(teams):
    """As a container that is started again: same host, same process number."""
    server = bestk.connect(teams.url, teams.tokens["admin"])
    (left,) = server.study("s", ["a", "b"], k=1).ask()
    (found,) = server.study("s").ask()  # a minute is what it waits for at most
    assert found == left


def test_a_forked_child_is_another_worker(teams, monkeypatch):
    study = bestk.connect(teams.url, teams.tokens["admin"]).study("coins")
    assert study._worker == study._worker
    before = study._worker
    monkeypatch.setattr("os.getpid", lambda: 7)
    assert study._worker != before


@pytest.mark.parametrize("role", ["work", "rate"])
def test_to_give_back_twice_takes_nothing_from_who_has_it_now(teams, role):
    token = teams.tokens[role]

    def post(what, **body):
        return teams.post(f"/api/studies/coins/{what}", body, token).data

    (pull,) = post("ask", worker="one", request="1")["pulls"]
    give_back = {"pulls": [pull["id"]], "worker": "one", "skip": role == "rate"}
    post("release", **give_back)
    (again,) = post("ask", worker="two", request="2")["pulls"]
    assert again == pull
    post("release", **give_back)
    assert post("ask", worker="two", request="2")["pulls"] == [pull]
    post("release", **{**give_back, "worker": "two"})
    assert post("ask", worker="two", request="2")["pulls"] == []


def test_a_study_gives_back_its_own_pulls_once_and_those_of_others_if_asked_to(teams):
    one, two = (bestk.connect(teams.url, teams.tokens["work"]).study("coins") for _ in "12")
    (pull,) = one.ask()
    one.release([pull])
    assert two.ask() == [pull]
    sent = []
    one._connection.post = lambda *_, **data: sent.append(data) or {}
    one.release([pull])
    one._mine.add(pull.id)  # as while the first answer was on its way
    one.release([pull])
    assert [each.get("worker") for each in sent] == [None, one._worker]
    with pytest.raises(bestk.PullError):
        two.tell("nobody's", 1)
    two.tell(pull, 1)
    assert two._mine == set()


def test_of_workers_without_end_those_with_most_open_pulls_are_listed(shared, monkeypatch):
    reading = pytest.importorskip("bestk.server.reading", reason="bestk[serve] is not installed")
    monkeypatch.setattr(reading, "LISTED", 2)
    shared.most = 100
    for i in range(4):
        shared.hand_out(Request(Worker("team", f"{i}"), "1", i + 1))
    found = reading._status(shared, 0.0)["workers"]
    assert [(each["name"], each["open"]) for each in found] == [("3", 4), ("2", 3)]
