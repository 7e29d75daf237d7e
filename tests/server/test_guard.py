"""Who is let in by which name, behind a proxy, and when the last token is gone."""

import json
import math

import pytest

from bestk.storage import SQLiteStorage
from helpers.command import good, process
from helpers.served import called, serving

FAR = "studies.example.org"


def made(path, role="admin"):
    """A new token and its id."""
    found = json.loads(good("token", "create", "--role", role, "--json", path))
    return found["token"], found["id"]


def test_with_tokens_a_server_is_called_by_the_name_that_its_proxy_has(tmp_path):
    """As docs/deploy.md says: at the loopback interface, behind nginx or Caddy."""
    path = tmp_path / "s.db"
    token, _ = made(path)
    with serving(path, "--proxy") as server:
        name = {"Host": FAR, "X_Forwarded_For": "192.0.2.1", "X_Forwarded_Proto": "https"}
        assert server.get("/api/studies", token, **name).status == 200
        assert server.get("/api/studies", **name).status == 401
        own = {**name, "Origin": f"https://{FAR}"}
        assert server.post("/login", {"token": token}, **own).status == 204


@pytest.mark.parametrize("flags", [[], ["--proxy"]])
def test_to_revoke_the_last_token_opens_no_doors(tmp_path, flags):
    path = tmp_path / "s.db"
    token, id_ = made(path)
    with serving(path, *flags) as server:
        assert server.get("/api/studies", token).status == 200
        good("token", "revoke", id_, path)
        assert server.refuses_soon(token)
        assert server.get("/api/studies").status == 401
    with serving(path, *flags) as server:  # as little after a restart
        assert [server.get("/api/studies", each).status for each in (None, token)] == [401, 401]
        assert server.get("/api/studies", made(path)[0]).status == 200


def test_a_new_token_counts_at_once_however_lately_tokens_were_read(tmp_path):
    pytest.importorskip("fastapi", reason="bestk[serve] is not installed")
    from bestk.server.app import guarded
    from bestk.server.hall import Hall
    from bestk.server.limits import Limits

    path = tmp_path / "s.db"
    first, _ = made(path)
    hall = Hall(str(path), SQLiteStorage(path), Limits(), local=True)
    guard = guarded(hall)
    assert called(guard, first) == 200
    guard._next = math.inf  # they were read a moment ago
    second, _ = made(path)
    assert called(guard, second) == 200
    assert called(guard, second[:-1]) == 401


def test_behind_a_proxy_a_server_needs_tokens(tmp_path):
    done = process("serve", str(tmp_path / "s.db"), "--proxy", timeout=30)
    assert done.returncode == 2
    assert "--proxy was refused" in done.stderr
    with serving(tmp_path / "s.db") as server:
        assert server.get("/api/studies").status == 200
        assert server.get("/api/studies", X_Forwarded_For="192.0.2.1").status == 421


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:1", 200), ("127.0.0.2", 200), ("[::1]:8", 200), ("[::1", 421), (FAR, 421)],
)
def test_a_name_is_this_machines_or_refused(local, host, status):
    assert local.get("/api/studies", Host=host).status == status


PASSED_ON = {
    "Forwarded": "for=192.0.2.1", "Via": "1.1 proxy", "X-Real-IP": "192.0.2.1",
    "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": FAR, "X-Forwarded-Proto": "https",
}  # fmt: skip


@pytest.mark.parametrize("header", PASSED_ON)
def test_without_tokens_what_a_proxy_passed_on_is_refused(local, header):
    assert local.get("/api/studies", **{header: PASSED_ON[header]}).status == 421


@pytest.mark.parametrize("origin", ["http://[", "null", "://", f"http://{FAR}"])
def test_an_origin_that_is_none_of_ours_is_refused(local, origin):
    assert local.post("/api/studies", {}, Origin=origin).status == 403


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("local") / "s.db") as found:
        yield found


def test_a_rater_who_may_see_the_standings_does_not_see_who_answered_what(tmp_path):
    path = tmp_path / "s.db"
    admin, rater = made(path)[0], made(path, "rate")[0]
    study = {"name": "coins", "arms": ["a", "b"], "k": 1, "rewards": "bernoulli"}
    with serving(path) as server:

        def seen():
            looked = ("", "/snapshot", "/report", "/export", "/cells", "/specification", "/open")
            return [server.get(f"/api/studies/coins{each}", rater).status for each in looked]

        assert server.post("/api/studies", study, admin).status == 201
        assert seen() == [403] * 7
        server.post("/api/studies/coins/page", {"show_standings": True}, admin)
        assert seen() == [200] * 3 + [403] * 4
        may = [server.get("/api/studies/coins/page", each) for each in (admin, rater)]
        assert [each.data["may_export"] for each in may] == [True, False]
        listed = [server.get("/api/studies", each).data["studies"][0] for each in (admin, rater)]
        assert [(each["view"], each["export"]) for each in listed] == [(True, True), (True, False)]


@pytest.mark.parametrize("text", ["99999999y", "101y", "0d", "-1d", "soon", ""])
def test_a_time_that_no_calendar_has_is_refused(tmp_path, text):
    """`bestk token list` could not print it."""
    done = process("token", "create", "--role", "view", "--expires", text, str(tmp_path / "s.db"))
    assert done.returncode == 2
    assert "--expires" in done.stderr


def test_a_token_for_a_study_without_a_name_is_refused(tmp_path):
    done = process("token", "create", "--role", "view", "--study", "", str(tmp_path / "s.db"))
    assert done.returncode == 2
    assert "leave it out" in done.stderr
    assert not (tmp_path / "s.db").exists()


def test_who_has_no_token_sends_no_more_than_it_takes_to_sign_in(tmp_path):
    path = tmp_path / "s.db"
    token, _ = made(path)
    long = json.dumps({"token": token}).encode() + b" " * 5000
    pieces = b"%x\r\n%s\r\n0\r\n\r\n" % (len(long), long)
    kind = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}
    with serving(path) as server:
        assert server.post("/login", long).status == 413
        assert server.post("/login", pieces, **kind).status == 413
        assert server.post("/login", {"token": token}).status == 204
        assert server.post("/login", long, token).status == 204
