"""How much a server takes: open pulls, arms, and what it was sent."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection

import pytest

from bestk import Study
from bestk.storage import MemoryStorage
from bestk.study.shared import Request, SharedStudy, TooManyOpen, Worker
from helpers.command import good
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
        assert refused.data["error"] == "TooManyRequests"
        told = {"answers": [{"pull": ids(last)[0], "reward": 1}]}
        assert server.post("/api/studies/coins/tell", told).status == 200
        assert len(ids(ask(server, "3"))) == 1


def test_a_token_to_rate_does_not_take_all_pulls_by_inventing_names(tmp_path):
    path = tmp_path / "s.db"
    Study("coins", ["a", "b"], k=1, storage=path)
    rater, worker = (
        json.loads(good("token", "create", "--role", role, "--json", path))["token"]
        for role in ("rate", "work")
    )

    def ask_as(name):
        body = {"worker": name, "request": "1"}
        return server.post("/api/studies/coins/ask", body, rater)

    with serving(path, "--max-rating", "3") as server:
        given = [ask_as(name) for name in "abcd"]
        assert [each.status for each in given] == [200, 200, 200, 429]
        assert "--max-rating" in given[-1].data["message"]
        assert ids(ask_as("a")) == ids(given[0])  # repeated
        other = {"n": 5, "worker": "w", "request": "2"}
        assert len(ids(server.post("/api/studies/coins/ask", other, worker))) == 5
        told = {"answers": [{"pull": ids(given[0])[0], "reward": 1}]}
        assert server.post("/api/studies/coins/tell", told, rater).status == 200
        assert ask_as("d").status == 200
        assert ask_as("e").status == 429


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test says so, for leases and for workers that are silent."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("lease", [3600.0, None])
def test_names_that_were_silent_for_long_count_no_more_against_a_token(clock, lease):
    storage = MemoryStorage()
    Study("coins", ["a", "b"], k=1, lease=lease, storage=storage)
    study = SharedStudy("coins", storage=storage, patience=3600.0, most=100)

    def ask_as(name):
        return study.hand_out(Request(Worker("rater", name), "1", 1, rating=3))

    assert [len(ask_as(name)) for name in "abc"] == [1, 1, 1]
    clock[0] += 3599.0
    with pytest.raises(TooManyOpen, match="--max-rating"):
        ask_as("d")
    clock[0] += 2.0
    assert len(ask_as("d")) == 1


def test_the_limit_holds_for_requests_of_one_moment(tmp_path):
    with serving(tmp_path / "s.db", "--max-open", "10") as server:
        server.post("/api/studies", COINS)
        threads = [threading.Thread(target=ask, args=(server, f"{i}", 7)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.get("/api/studies/coins").data["open"] == 10


@pytest.mark.parametrize("lease", [3600.0, None])
def test_pulls_that_nobody_makes_any_more_do_not_fill_a_study_for_ever(clock, lease):
    """Without a lease they are handed to another worker, with one they are given up."""
    storage = MemoryStorage()
    Study("coins", ["a", "b"], k=1, lease=lease, storage=storage)
    study = SharedStudy("coins", storage=storage, patience=3600.0, most=2)
    left = [pull.id for pull in study.hand_out(Request(Worker("", "gone"), "1", 2))]
    clock[0] += 3599.0
    with pytest.raises(TooManyOpen):
        study.hand_out(Request(Worker("", "late"), "2"))
    clock[0] += 2.0
    (pull,) = study.hand_out(Request(Worker("", "late"), "3"))
    assert (pull.id in left) is (lease is None)
    assert study.n_open <= 2


def test_a_server_gives_pulls_of_workers_that_are_silent_to_others_as_its_lease_says(tmp_path):
    Study("coins", ["a", "b"], k=1, storage=tmp_path / "s.db")
    with serving(tmp_path / "s.db", "--max-open", "1") as server:
        left = ids(ask(server, "1", worker="gone"))
        assert ask(server, "2", worker="late").status == 429
    with serving(tmp_path / "s.db", "--max-open", "1", "--lease", "0.1") as server:
        end = time.monotonic() + 60.0
        while (asked := ask(server, "3", worker="late")).status == 429:
            assert time.monotonic() < end
        assert ids(asked) == left


def test_one_token_does_not_take_all_places_of_those_who_watch(tmp_path):
    path = tmp_path / "s.db"
    Study("coins", ["a", "b"], k=1, storage=path)
    one, two, three = (
        json.loads(good("token", "create", "--role", "view", "--json", path))["token"]
        for _ in range(3)
    )
    with (
        serving(path, "--max-viewers", "1", "--max-connections", "5") as server,
        ExitStack() as lines,
    ):

        def watch(token):
            line = lines.enter_context(
                closing(HTTPConnection("127.0.0.1", server.port, timeout=10))
            )
            named = {"Authorization": f"Bearer {token}"}
            line.request("GET", "/api/studies/coins/events", headers=named)
            answer = line.getresponse()
            answer.readline()  # it has begun
            if answer.status != 200:
                line.close()
            return answer.status

        with ThreadPoolExecutor() as pool:  # the first ones wait for a first look
            assert sorted(pool.map(watch, [one] * 4)) == [200] + [503] * 3
        assert [watch(each) for each in (one, two, three)] == [503, 200, 503]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "s.db"
    with serving(path, "--max-arms", "5", "--max-body", "2000") as found:
        found.path = path
        yield found


def test_arms_are_limited_also_those_that_join_later(server):
    def begin(**more):
        return server.post("/api/studies", {**COINS, "name": "arms", **more}).status

    assert begin(arms=list("abcdef")) == begin(max_arms=6) == begin(max_arms=10**12) == 422
    assert begin(max_arms=5) == 201
    added = [server.post("/api/studies/arms/arms", {"arm": arm}).status for arm in "defd"]
    assert added == [200, 200, 400, 200]


def test_items_that_cannot_be_kept_begin_no_study(server):
    body = b'{"name": "infinite", "arms": ["a", "b"], "k": 1, "items": [1, 1e999]}'
    assert server.post("/api/studies", body).status == 422
    assert server.get("/api/studies/infinite").status == 404


def test_a_study_that_was_begun_by_halves_is_completed_by_the_same_request(tmp_path):
    """The server had died after the study and before its items."""
    items = [{"n": 1}, {"n": 2}]
    Study("halves", ["a", "b"], k=1, items=items, storage=tmp_path / "s.db")
    body = {"name": "halves", "arms": ["a", "b"], "k": 1, "items": items, "page": {"title": "T"}}
    with serving(tmp_path / "s.db") as server:
        assert server.post("/api/studies", body).status == 200
        asked = server.post("/api/studies/halves/ask", {"n": 1, "request": "1"})
        assert asked.data["pulls"][0]["item"] in items
        assert server.get("/api/studies/halves/page").data["title"] == "T"


@pytest.mark.parametrize("path", ["", "/bodies/fail", "/bodies/tell"])
def test_a_body_in_pieces_is_as_limited_as_one_that_says_how_long_it_is(server, path):
    server.post("/api/studies", {**COINS, "name": "bodies", "seed": 1})
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (4000, b" " * 4000)
    pieces = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}
    refused = server.post(f"/api/studies{path}", body, **pieces)
    assert (refused.status, refused.data["error"]) == (413, "InputError")


@pytest.mark.parametrize("name", [".", "..", "a/b", "bestk:x", "", "x" * 201, "\n"])
def test_a_name_that_no_address_has_is_refused(server, name):
    assert server.post("/api/studies", {**COINS, "name": name}).status == 422


LOOK = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
PIECES = b"POST /api/studies HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "text",
    [b"GET /" + b"x" * 300_000, LOOK + b"X: " + b"x" * 300_000, LOOK + b"X: y\r\n" * 50_000,
     PIECES + b"0\r\n" + b"X: y\r\n" * 50_000],
)  # fmt: skip
def test_a_head_without_an_end_is_refused(server, text):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as line:
        said = b""
        with suppress(OSError):  # it is refused in the middle
            line.sendall(text)
        with suppress(ConnectionResetError):
            while more := line.recv(4096):
                said += more
    assert said == b"" or b" 400 " in said.partition(b"\r\n")[0]
    assert server.get("/health").status == 200


def test_many_requests_and_pieces_on_one_connection_are_no_head(server):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(100):
        connection.request("GET", "/health", headers={"X": "y" * 2000})
        assert connection.getresponse().read()
    study = json.dumps({**COINS, "name": "pieces"}).ljust(1500).encode()
    for status in (201, 200):
        kind = {"Content-Type": "application/json"}
        pieces = (study[i : i + 10] for i in range(0, len(study), 10))
        connection.request("POST", "/api/studies", pieces, kind, encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (status, b'{"name":"pieces"}')
    connection.close()


@pytest.mark.parametrize("error", [ValueError("above the limit of the kernel"), OSError(1, "no")])
def test_a_system_that_gives_no_more_files_is_served_with_what_there_is(monkeypatch, error):
    """As macOS does, which says that there is no limit where there is one."""
    pytest.importorskip("fastapi", reason="bestk[serve] is not installed")
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    from bestk.server.running import _allow_files

    asked = []

    def refuse(which, limits):
        asked.append((which, limits))
        raise error

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    _allow_files(5000)
    assert asked == [(resource.RLIMIT_NOFILE, (5000, resource.RLIM_INFINITY))]
