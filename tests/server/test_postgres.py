"""Servers of studies in Postgres: several at once, and a database that goes away."""

import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from bestk.storage import events as ev
from bestk.storage.postgres import PostgresStorage
from helpers.database import database, server  # noqa: F401 - fixtures
from helpers.proxy import wire
from helpers.served import serving

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'bestk[serve]'")
pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'bestk[postgres]'")
COINS = {"name": "coins", "arms": ["a", "b"], "k": 1, "policy": "uniform", "variant": "heuristic"}


def ask(server, request):  # noqa: F811
    return server.post("/api/studies/coins/ask", {"n": 1, "worker": "w", "request": request})


def tell(server, pull, reward=0.5):  # noqa: F811
    body = {"answers": [{"pull": pull, "reward": reward}]}
    return server.post("/api/studies/coins/tell", body)


def test_two_servers_of_one_database_ask_and_count_everything_once(database):  # noqa: F811
    with serving(database) as one, serving(database) as two:
        assert one.post("/api/studies", COINS).status == 201
        assert two.post("/api/studies", COINS).status == 200
        pulls, told = {}, []

        def work(first, second, who):
            for i in range(10):  # every request at both servers
                request = f"{who}-{i}"
                given = [ask(each, request).data["pulls"] for each in (first, second)]
                assert given[0] == given[1]
                (pulls[request],) = given[0]
                for each in (second, first):
                    told.append(tell(each, pulls[request]["id"]).data["told"])

        threads = [
            threading.Thread(target=work, args=job)
            for job in ((one, two, "a"), (two, one, "b"), (one, two, "c"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {each.get("/api/studies/coins").data["samples"] for each in (one, two)} == {30}
    ids = sorted(pull["id"] for pull in pulls.values())
    assert (len(set(ids)), sum(told)) == (30, 30)
    with closing(PostgresStorage(database)) as storage:
        events = list(storage.read("coins"))
    for kind in (ev.ASKED, ev.TOLD):
        assert sorted(event.key for event in events if event.kind == kind) == ids


def test_while_the_database_is_away_the_answer_is_503_and_then_all_goes_on(database):  # noqa: F811
    if "host=/" not in database:
        pytest.skip("the server of BESTK_TEST_POSTGRES has no socket file to put a wire before")
    secret = database.replace("postgres:@", "postgres:hunter2@")
    with (
        wire(Path(tempfile.mkdtemp(prefix="bestk")), secret) as (made, url),
        serving(url) as found,
    ):
        assert found.post("/api/studies", COINS).status == 201
        (pull,) = ask(found, "1").data["pulls"]
        made.go()
        refused = [ask(found, "2"), tell(found, pull["id"]), found.get("/api/studies/coins")]
        assert [each.status for each in refused] == [503] * 3
        assert refused[0].headers["Retry-After"] == "1"
        assert not any("hunter2" in each.text for each in refused)
        assert found.get("/health").status == 200
        made.come_back()
        while (done := tell(found, pull["id"])).status == 503:
            pass  # until it looks again
        assert (done.status, done.data["told"]) == (200, 1)
        assert len(ask(found, "2").data["pulls"]) == 1
    with closing(PostgresStorage(database)) as storage:
        assert [event.kind for event in storage.read("coins")] == [
            ev.CREATED,
            ev.ASKED,
            ev.TOLD,
            ev.ASKED,
        ]
