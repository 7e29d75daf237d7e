"""How much a server takes: open pulls, arms, and what it was sent."""

import threading
import time

import pytest

from bestk import Study
from helpers.served import serving

COINS = {"name": "coins", "arms": ["a", "b", "c"], "k": 1, "rewards": "bernoulli"}


def ask(server, request, n=1, worker="w"):
    body = {"n": n, "worker": worker, "request": request}
    return server.post("/api/studies/coins/ask", body)


def ids(answer):
    return [pull["id"] for pull in answer.data["pulls"]]


def test_open_pulls_are_limited_and_a_request_may_still_be_repeated(tmp_path):
    with serving(tmp_path / "s.db", "--max-open", "3") as server:
        assert server.post("/api/studies", COINS).status == 201
        first = ask(server, "1", n=2)
        last = ask(server, "2", n=2)  # as many as there may be
        assert (len(ids(first)), len(ids(last))) == (2, 1)
        assert ids(ask(server, "1", n=2)) == ids(first)
        refused = ask(server, "3")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        told = {"answers": [{"pull": ids(last)[0], "reward": 1}]}
        assert server.post("/api/studies/coins/tell", told).status == 200
        assert len(ids(ask(server, "3"))) == 1


def test_the_limit_holds_for_requests_of_one_moment(tmp_path):
    with serving(tmp_path / "s.db", "--max-open", "10") as server:
        server.post("/api/studies", COINS)
        threads = [threading.Thread(target=ask, args=(server, f"{i}", 7)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.get("/api/studies/coins").data["open"] == 10


@pytest.mark.parametrize("lease", [1.0, None])
def test_pulls_that_nobody_makes_any_more_do_not_fill_a_study_for_ever(tmp_path, lease):
    """Without a lease they are handed to another worker, with one they are given up."""
    Study("coins", ["a", "b"], k=1, lease=lease, storage=tmp_path / "s.db")
    with serving(tmp_path / "s.db", "--max-open", "2", "--lease", "1") as server:
        left = ids(ask(server, "1", n=2, worker="gone"))
        assert ask(server, "2", worker="late").status == 429
        time.sleep(1.5)
        (pull,) = ids(ask(server, "3", worker="late"))
        assert (pull in left) is (lease is None)
        assert server.get("/api/studies/coins").data["open"] <= 2
