"""What OpenAPI says of the server is what the server does."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.command import good
from helpers.served import serving

COINS = {"name": "coins", "arms": ["a", "b", "c"], "k": 1, "rewards": "bernoulli", "max_arms": 9}
CONFIG = """
[parameters]
"path.name" = "coins"
"""
NOT_CHECKED = (
    "positive_data_acceptance",  # no schema says which settings go together, which pulls are open
    "unsupported_method",  # /logout and others are open to what they ignore
    "ignored_auth",  # these two want 401; after a few without a token it is 429
    "missing_required_header",
)


@contextmanager
def checked(folder, *roles):
    """A server with a study, its schema in a file, and a token of each role and of an admin."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    path = folder / "studies.db"
    tokens = {
        role: json.loads(good("token", "create", "--role", role, "--json", path))["token"]
        for role in (*roles, "admin")
    }
    with serving(path, "--people-rate", "20000") as server:
        schema = server.get("/api/openapi.json", tokens["admin"])
        (folder / "openapi.json").write_text(schema.text)
        assert server.post("/api/studies", COINS, tokens["admin"]).status == 201
        yield server, tokens, schema.data


def schemathesis(folder, server, token, *options):
    """It, under way."""
    command = [
        Path(sys.executable).with_name("schemathesis"),
        "--config-file", folder / "schemathesis.toml", "run", folder / "openapi.json",
        "--url", f"http://127.0.0.1:{server.port}", "-H", f"Authorization: Bearer {token}",
        "--seed", "1", *options,
        "--exclude-path-regex", "/events$",  # a stream that does not end
        "--exclude-checks", ",".join(NOT_CHECKED), "--generation-database", "none",
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)


def test_the_documentation_has_every_field_that_a_request_needs():
    messages = pytest.importorskip("bestk.server.messages", reason="bestk[serve] is not installed")
    said = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in said.partition("(422):")[2].splitlines()]
    needed = {row[0].strip("| "): row[1] for row in rows if len(row) > 2}
    for requests, kind in (
        ("`ask`", messages.Ask), ("`tell`", messages.Tell), ("`tell`", messages.Answered),
        ("`fail`, `fail-low`, `retry`, `forget`", messages.OfPull), ("`release`", messages.Pulls),
        ("`add`", messages.Observation), ("`arms`, `arms/withdraw`", messages.OfArm),
    ):  # fmt: skip
        for name, field in kind.model_fields.items():
            assert (f"`{name}`" in needed[requests]) is field.is_required() or name == "extra"


def test_schemathesis_finds_nothing(tmp_path):
    with checked(tmp_path) as (server, tokens, schema):
        token = tokens["admin"]
        done = schemathesis(tmp_path, server, token, "-n", "10", "--phases", "coverage,fuzzing")
        said, _ = done.communicate(timeout=120)
        assert done.returncode == 0, said[-5000:]
        assert server.get("/api/studies/coins/open", token).status == 200
        for each, methods in schema["paths"].items():
            wanted = [] if each == "/health" else [{"HTTPBearer": []}]
            assert [method.get("security", []) for method in methods.values()] == [wanted] * len(
                methods
            )


def test_schemathesis_finds_nothing_with_a_token_to_rate(tmp_path):
    """Few examples, as nearly all is refused before it is read."""
    with checked(tmp_path, "rate") as (server, tokens, _):
        rate = tokens["rate"]
        done = schemathesis(tmp_path, server, rate, "-n", "3", "--phases", "fuzzing")
        said, _ = done.communicate(timeout=120)
        assert done.returncode == 0, said[-5000:]
        assert server.get("/api/studies/coins/open", tokens["admin"]).status == 200


def test_a_path_says_all_that_can_be_done_there(tmp_path):
    with serving(tmp_path / "studies.db") as server:
        refused = server.call("PUT", "/api/studies")
        assert (refused.status, refused.headers["allow"]) == (405, "GET, POST")
        assert refused.data["error"] == "NotFound"
        schema = server.get("/api/openapi.json").text
        assert schema.count('"$ref"') == schema.count('"$ref":"#/components/schemas/')


def test_a_refused_request_leaves_the_others_of_its_moment_alone(tmp_path):
    with serving(tmp_path / "studies.db") as server:
        server.post("/api/studies", {**COINS, "rewards": "bounded"})
        unknown = server.post("/api/studies/coins/fail-low", {"pull": "nobody's", "why": ""})
        assert (unknown.status, unknown.data["error"]) == (409, "PullError")
        body = {"n": 1, "worker": "w", "request": "1"}
        (pull,) = server.post("/api/studies/coins/ask", body).data["pulls"]
        low = [{"pull": pull["id"], "why": "broke"}] * 2
        assert [server.post("/api/studies/coins/fail-low", each).status for each in low] == [
            200
        ] * 2
        assert server.get("/api/studies/coins").data["samples"] == 1
