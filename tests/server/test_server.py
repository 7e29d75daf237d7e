"""A real server: exactly-once requests, tokens and what browsers may do, a kill and a goodbye."""

import json
import signal

import pytest

from bestk import Study
from helpers.command import good, process
from helpers.served import serving

COINS = {"name": "coins", "arms": ["a", "b", "<script>"], "k": 1, "rewards": "bernoulli"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("server") / "studies.db") as found:
        assert found.post("/api/studies", COINS).status == 201
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with a token of each role, by role."""
    path = tmp_path_factory.mktemp("guarded") / "studies.db"
    tokens = {
        role: good("token", "create", "--role", role, "--json", path)
        for role in ("view", "work", "admin")
    }
    rate = good("token", "create", "--role", "rate", "--study", "coins", "--json", path)
    texts = {role: json.loads(text) for role, text in {**tokens, "rate": rate}.items()}
    with serving(path) as found:
        found.tokens = {role: each["token"] for role, each in texts.items()}
        found.ids = {role: each["id"] for role, each in texts.items()}
        found.path = path
        assert found.post("/api/studies", COINS, found.tokens["admin"]).status == 201
        yield found


def ask(server, request, token=None, n=1, worker="w"):
    body = {"n": n, "worker": worker, "request": request}
    return server.post("/api/studies/coins/ask", body, token)


def tell(server, pull, reward, token=None):
    body = {"answers": [{"pull": pull, "reward": reward}]}
    return server.post("/api/studies/coins/tell", body, token)


def test_a_study_begun_again_is_found_and_another_of_its_name_is_refused(server):
    assert server.post("/api/studies", COINS).status == 200
    assert server.post("/api/studies", {**COINS, "k": 2}).status == 409


def test_the_same_request_gets_the_same_pulls_and_another_gets_others(server):
    first, again, other = (ask(server, name, n=2).data["pulls"] for name in ("1", "1", "2"))
    assert first == again
    assert {pull["id"] for pull in first}.isdisjoint(pull["id"] for pull in other)


def test_an_answer_told_again_changes_nothing_and_another_one_is_refused(server):
    (pull,) = ask(server, "told").data["pulls"]
    assert [tell(server, pull["id"], 1).data["told"] for _ in range(2)] == [1, 0]
    refused = tell(server, pull["id"], 0)
    assert (refused.status, refused.data["error"]) == (409, "PullError")


def test_a_pull_given_up_twice_is_given_up_once(server):
    (pull,) = ask(server, "failed").data["pulls"]
    body = {"pull": pull["id"], "why": "broke"}
    assert [server.post("/api/studies/coins/fail", body).status for _ in range(2)] == [200, 200]
    assert server.get("/api/studies/coins").data["failures"] == 1


def test_a_pull_made_again_twice_by_one_request_counts_one_failure(server):
    before = server.get("/api/studies/coins").data["failures"]
    (pull,) = ask(server, "retried").data["pulls"]
    body = {"pull": pull["id"], "why": "broke", "request": "first"}
    assert [server.post("/api/studies/coins/retry", body).status for _ in range(2)] == [200, 200]
    assert server.get("/api/studies/coins").data["failures"] == before + 1


def test_an_export_is_what_the_command_writes(guarded):
    (pull,) = ask(guarded, "exported", guarded.tokens["work"]).data["pulls"]
    tell(guarded, pull["id"], 1, guarded.tokens["work"])
    path, look = "/api/studies/coins/export?format=", guarded.tokens["view"]
    for format in ("csv", "json", "jsonl"):
        said = good("export", guarded.path, "--study", "coins", "--format", format)
        assert guarded.get(path + format, look).text.splitlines() == said.splitlines()
    lines = guarded.get(path + "jsonl", look).text.splitlines()
    assert pull["id"] in [json.loads(line)["pull"] for line in lines]
    assert guarded.get(path + "csv", guarded.tokens["rate"]).status == 403


def test_labels_are_told_as_they_are_and_pages_may_run_no_code_of_others(server):
    labels = [arm[1] for arm in server.get("/api/studies/coins/snapshot").data["arms"]]
    assert labels == COINS["arms"]
    policy = server.get("/studies/coins").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_a_server_for_its_own_machine_is_called_by_its_own_name(server):
    assert server.get("/health", Host="evil.example").status == 421


def test_pages_of_other_sites_change_nothing(server):
    body = {"pulls": []}
    assert (
        server.post("/api/studies/coins/release", body, Origin="http://evil.example").status == 403
    )
    plain = server.post("/api/studies/coins/tell", b"{}", Content_Type="text/plain")
    assert plain.status == 415


def test_a_body_that_is_too_long_is_refused(server):
    said = {"Content_Length": str(2 << 20)}  # what it says is enough
    assert server.post("/api/studies/coins/tell", b" ", **said).status == 413
    chunked = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (2 << 20, b" " * (2 << 20))
    assert server.post("/api/studies/coins/tell", body, **chunked).status == 413


def test_nobody_is_let_in_without_a_token(guarded):
    for token in (None, "bestk_00000000_x", guarded.tokens["work"] + "x"):
        assert ask(guarded, "in", token).status == 401
        assert guarded.get("/api/studies", token).status == 401
        assert guarded.get("/api/openapi.json", token).status == 401


def test_a_cookie_changes_nothing_without_the_header_that_other_sites_cannot_send(guarded):
    login = guarded.post("/login", {"token": guarded.tokens["work"]})
    cookie = login.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    body = {"n": 1, "worker": "w", "request": "cookie"}
    path, carried = "/api/studies/coins/ask", {"Cookie": cookie.partition(";")[0]}
    assert guarded.post(path, body, **carried).status == 403
    assert guarded.post(path, body, **carried, X_Bestk="1").status == 200


def test_a_token_for_one_study_is_of_no_use_for_another_nor_after_its_time(guarded):
    more = {**COINS, "name": "more"}
    assert guarded.post("/api/studies", more, guarded.tokens["admin"]).status == 201
    create = ("token", "create", "--role", "work", "--json")
    one = json.loads(good(*create, "--study", "coins", guarded.path))["token"]
    assert guarded.get("/api/studies/coins", one).status == 200
    assert guarded.get("/api/studies/more", one).status == 403
    assert guarded.get("/metrics", one).status == 403
    over = json.loads(good(*create, "--expires", "0.000001s", guarded.path))["token"]
    assert guarded.get("/api/studies/coins", over).status == 401


def test_a_rater_has_one_pull_at_a_time(guarded):
    assert ask(guarded, "two", guarded.tokens["rate"], n=2).status == 403


@pytest.mark.parametrize(
    ("role", "sees", "asks", "begins"),
    [("view", 200, 403, 403), ("rate", 403, 200, 403), ("work", 200, 200, 403)],
)
def test_a_role_allows_what_it_is_for(guarded, role, sees, asks, begins):
    token = guarded.tokens[role]
    assert guarded.get("/api/studies/coins", token).status == sees
    assert ask(guarded, f"role {role}", token).status == asks
    assert guarded.post("/api/studies", {**COINS, "name": "more"}, token).status == begins


def test_a_rater_answers_for_its_own_pulls_alone(guarded):
    (others,) = ask(guarded, "others", guarded.tokens["work"]).data["pulls"]
    (own,) = ask(guarded, "own", guarded.tokens["rate"], worker="rater").data["pulls"]
    assert tell(guarded, others["id"], 1, guarded.tokens["rate"]).status == 403
    assert tell(guarded, own["id"], 1, guarded.tokens["rate"]).status == 200


def test_a_revoked_token_is_of_no_use(guarded):
    made = json.loads(good("token", "create", "--role", "view", "--json", guarded.path))
    assert guarded.get("/api/studies", made["token"]).status == 200
    good("token", "revoke", made["id"], guarded.path)
    assert guarded.refuses_soon(made["token"])
    assert made["token"].encode() not in guarded.path.read_bytes()


def test_pulls_and_answers_outlive_a_server_that_is_killed(tmp_path):
    path = tmp_path / "studies.db"
    with serving(path) as first:
        first.post("/api/studies", COINS)
        pulls = ask(first, "kept", n=3).data["pulls"]
        assert tell(first, pulls[0]["id"], 1).data["told"] == 1
        first.process.kill()
        first.process.wait()
    with serving(path) as second:
        assert ask(second, "kept", n=3).data["pulls"] == pulls[1:]
        assert tell(second, pulls[0]["id"], 1).data["told"] == 0
        second.process.send_signal(signal.SIGTERM)
        assert second.process.wait(30) in (0, -signal.SIGTERM)
    assert Study("coins", storage=path).samples == 1


def test_with_tokens_a_proxy_leads_to_it_under_a_name_of_its_own(guarded):
    name = {"Host": "studies.example.org", "Origin": "https://studies.example.org"}
    assert guarded.get("/health", **name).status == 200
    assert guarded.get("/api/studies", **name).status == 401
    assert guarded.get("/api/studies", guarded.tokens["view"], **name).status == 200
    body = {"n": 1, "worker": "w", "request": "through a proxy"}
    token = guarded.tokens["work"]
    assert guarded.post("/api/studies/coins/ask", body, token, **name).status == 200


def test_without_tokens_a_server_stays_on_its_own_machine(tmp_path):
    done = process("serve", str(tmp_path / "s.db"), "--host", "0.0.0.0", timeout=30)
    assert done.returncode == 2
    assert "token" in done.stderr
