"""What is wrong on the server's side: its log tells all of it, an answer what clients need."""

import asyncio
import json
import os
import sqlite3
import time
from contextlib import closing
from functools import partial

import pytest

from bestk import Study
from bestk.errors import StorageError
from bestk.storage import MemoryStorage, SQLiteStorage
from bestk.storage.addresses import open_storage
from bestk.study.shared import Request, SharedStudy, Worker
from helpers.served import serving

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'bestk[serve]'")
COINS = {"name": "coins", "arms": ["a", "b"], "k": 1, "rewards": "bernoulli"}
ASK = {"n": 1, "worker": "w", "request": "1"}
READ = ("", "/report", "/certificate", "/export")


def test_where_the_storage_is_is_told_to_nobody_who_asks(tmp_path):
    place = tmp_path / "secret"
    place.mkdir()
    with serving(place / "s.db") as server:
        assert server.post("/api/studies", COINS).status == 201
        os.rename(place, tmp_path / "gone")
        refused = [server.post("/api/studies/coins/ask", ASK)]
        refused += [server.get(f"/api/studies/coins{what}") for what in READ]
    for each in refused:
        assert each.status in (200, 503)  # what is known may be told
        assert "secret" not in each.text
    assert [each.status for each in refused if each.status != 200][:1] == [503]
    assert "log of the server" in refused[0].data["message"]


def test_what_is_wrong_with_the_storage_is_logged_once_in_a_while(caplog, monkeypatch):
    from bestk.server import complaints

    now = [1000.0]
    monkeypatch.setattr(complaints.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(complaints, "_said", {})
    for at in (1000.0, 1001.0, 1011.0):
        now[0] = at
        said = complaints.complain(StorageError("/home/x/s.db\n is full"))
    assert [record.message for record in caplog.records] == [r"bestk: /home/x/s.db\n is full"] * 2
    assert "/home" not in said


def test_a_file_that_is_locked_for_long_keeps_nobody_waiting(tmp_path):
    path = tmp_path / "s.db"
    Study("coins", ["a", "b"], k=1, storage=path)
    with serving(path) as server, closing(sqlite3.connect(path, isolation_level=None)) as other:
        assert server.get("/api/studies/coins/open").data["open"] == []
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert server.post("/api/studies/coins/ask", ASK).status == 503
        assert time.monotonic() - began < 20.0  # a lock of others is else waited for half a minute
        other.execute("ROLLBACK")
        assert len(server.post("/api/studies/coins/ask", ASK).data["pulls"]) == 1


def test_a_storage_for_those_who_keep_others_waiting_is_impatient(tmp_path):
    waits = [open_storage(tmp_path / "s.db", is_impatient=each).patience for each in (True, False)]
    assert waits[0] < waits[1]


def broken(study):
    """A mistake in a request's own code, after it has already asked for a pull."""
    study.hand_out(Request(Worker("", "broken"), "1"))
    raise ZeroDivisionError


@pytest.mark.parametrize("kind", [MemoryStorage, SQLiteStorage])
def test_a_request_that_breaks_leaves_the_others_of_its_moment_alone(tmp_path, kind):
    from bestk.server.desk import Desk

    storage = MemoryStorage() if kind is MemoryStorage else SQLiteStorage(tmp_path / "s.db")
    Study("coins", ["a", "b"], k=1, storage=storage)

    def reopen():
        return SharedStudy("coins", storage=storage, patience=60.0, most=100)

    def ask(name, study):
        return study.hand_out(Request(Worker("", name), "1"))

    async def one_moment():
        desk = Desk(reopen(), reopen)
        wishes = [desk.do(act) for act in (partial(ask, "a"), broken, partial(ask, "b"))]
        return await asyncio.gather(*wishes, return_exceptions=True), desk.study

    (first, trouble, second), study = asyncio.run(one_moment())
    assert isinstance(trouble, ZeroDivisionError)
    assert {len(first), len(second)} == {1}
    assert first != second
    assert {pull.id for pull in (*first, *second)} <= {pull.id for pull in study.open}


@pytest.mark.parametrize(
    ("what", "body"),
    [("ask", {**ASK, "worker": "a\0b"}), ("add", {"arm": "a", "reward": 1, "id": "\0"}),
     ("retry", {"pull": "1", "request": "\0"}), ("release", {"pulls": [], "worker": "\0"})],
)  # fmt: skip
def test_what_a_database_cannot_hold_is_refused_before_it_takes_others_along(tmp_path, what, body):
    with serving(tmp_path / "s.db") as server:
        server.post("/api/studies", COINS)
        assert server.post(f"/api/studies/coins/{what}", body).status == 422


def test_why_a_pull_failed_is_kept_as_far_as_it_can_be(tmp_path):
    with serving(tmp_path / "s.db") as server:
        server.post("/api/studies", COINS)
        (pull,) = server.post("/api/studies/coins/ask", ASK).data["pulls"]
        body = {"pull": pull["id"], "why": "a\0b"}
        assert server.post("/api/studies/coins/fail", body).status == 200
    with closing(SQLiteStorage(tmp_path / "s.db")) as storage:
        assert [event.data for event in storage.read("coins")][-1] == "a\ufffdb"


def test_a_rater_cannot_make_a_study_unreadable_by_what_comes_beside_a_rating(tmp_path):
    with serving(tmp_path / "s.db") as server:
        server.post("/api/studies", COINS)
        for i, cost in enumerate(["1.7e308", "1.7e308", "1" + 400 * "0", "1e999", "NaN"]):
            (pull,) = server.post("/api/studies/coins/ask", {**ASK, "request": f"{i}"}).data[
                "pulls"
            ]
            answer = json.dumps({"pull": pull["id"], "reward": 1, "extra": {"cost": 0}})
            body = f'{{"answers": [{answer}]}}'.replace('"cost": 0', f'"cost": {cost}')
            assert server.post("/api/studies/coins/tell", body.encode()).status == 200, cost
        for what in ("", "/open", "/snapshot", "/report", "/export"):
            assert server.get(f"/api/studies/coins{what}").status == 200, what
