"""Ask and tell come by a way of their own, under the same rules as everything else."""

import asyncio
import json
import random
from urllib.parse import quote, unquote

import pytest

from bestk.storage import MemoryStorage

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'bestk[serve]'")
COINS = {"arms": ["x", "y"], "k": 1, "rewards": "bernoulli", "seed": 1}
JSON = {"content-type": "application/json"}
REWARDS = [0, 1, 1.0, True, False, 0.5, -1, 2, "1", None, [], 1e400, float("nan"), 10**400, -0.0]
ODD = [
    b"",
    b"null",
    b"{",
    b"\xff",
    b"[]",
    b" " * 3000,
    b'{"request":"1","request":"2"}',
    b"\xef\xbb\xbf{}",
]
KINDS = ["text/plain", "application/JSON; charset=x", "application/vnd.x+json", ""]


class Way:
    """A server's application in this process, with tokens whose texts are the same in each."""

    def __init__(self, is_short, monkeypatch):
        from bestk.server import tokens
        from bestk.server.app import make_app
        from bestk.server.guard import Guard
        from bestk.server.hall import Hall
        from bestk.server.lane import Lane
        from bestk.server.limits import Limits

        numbers = iter(range(1000))
        monkeypatch.setattr(tokens.secrets, "token_hex", lambda _: f"{next(numbers)}")
        monkeypatch.setattr(tokens.secrets, "token_urlsafe", lambda _: f"secret-{next(numbers)}")
        limits = Limits(body=2000, people_rate=1e6, failures_rate=1e6)
        hall = Hall("", MemoryStorage(), limits, False)
        self.tokens = [
            hall.tokens.create(role, study)[1]
            for role in ("view", "rate", "work", "admin")
            for study in ("b", None)
        ]
        app = make_app(hall)
        inner = Lane(app) if is_short else app
        self.app = Guard(inner, hall.tokens, limits, hall.metrics, False)

    async def call(self, method, path, body, headers):
        """Status, headers and body of what comes of a request."""
        pieces, said = [body[:1], body[1:]], []

        async def receive():
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message):
            said.append(message)

        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(),
            "query_string": b"", "root_path": "", "scheme": "http", "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2), "asgi": {"version": "3.0"}, "http_version": "1.1",
            "headers": [(b"host", b"localhost"), *named],
        }  # fmt: skip
        await self.app(scope, receive, send)
        start, *rest = said
        return start["status"], start["headers"], b"".join(each["body"] for each in rest)


def body_of(rng, what, pulls, i):
    """Of a request to ask or to tell; often with something that is not as it should be."""
    if rng.random() < 0.1:
        return rng.choice(ODD)
    ask = {
        "request": rng.choice(["1", *[f"{i}"] * 6, "", 5]),
        "n": rng.choice([*[1] * 9, 2, 0, 1001, True, "1", 1.0]),
        "worker": rng.choice(["", *["w"] * 6, "a/b -%", 7, "\0", "x" * 101]),
    }
    answers = [
        {
            "pull": rng.choice(pulls[-3:]),
            "reward": rng.choice(REWARDS),
            "extra": rng.choice(REWARDS),
        }
        for _ in range(rng.choice([1, 1, 1, 1, 2, 0]))
    ]
    data = ask if (what == "ask") != (rng.random() < 0.05) else {"answers": answers}
    return json.dumps(rng.choice([data, data, data, {**data, "more": 1}])).encode()


def headers_of(rng, token, body):
    said = {**JSON, "authorization": f"Bearer {token}", "content-length": f"{len(body)}"}
    return rng.choice([
        said, said, said, said, said, said, {**said, "content-type": rng.choice(KINDS)},
        {**said, "origin": "http://evil.example"}, {**said, "authorization": "Basic x"},
        {**JSON, "cookie": f"bestk_token={token}"}, {**said, "transfer-encoding": "chunked"},
    ])  # fmt: skip


def test_a_shorter_way_leads_to_the_same_answers(monkeypatch):
    rng, pulls, statuses = random.Random(1), ["nobody's"], set()

    async def compare():
        ways = [Way(is_short, monkeypatch) for is_short in (True, False)]
        admin = {**JSON, "authorization": f"Bearer {ways[0].tokens[-1]}"}
        for name in "ab":
            for way in ways:
                body = json.dumps({**COINS, "name": name}).encode()
                assert (await way.call("POST", "/api/studies", body, admin))[0] == 201
        for i in range(1500):
            name = rng.choice(["a", "a", "b", "none", "%61", "a%2Fb", "", "é", "a%00"])
            what = rng.choice(["ask", "tell", "ask", "tell", "ask/", "Tell", "ask%20"])
            method = rng.choice(["POST"] * 9 + ["GET", "PUT", "HEAD", "OPTIONS", "DELETE"])
            body = body_of(rng, what, pulls, i)
            headers = headers_of(rng, rng.choice([*ways[0].tokens, *ways[0].tokens[-3:] * 3]), body)
            path = f"/api/studies/{quote(name, safe='%')}/{what}"
            short, long = [await way.call(method, path, body, headers) for way in ways]
            assert short == long, (method, path, body, headers)
            statuses.add(short[0])
            if what == "ask" and short[0] == 200:
                pulls.extend(pull["id"] for pull in json.loads(short[2])["pulls"])

    asyncio.run(compare())
    assert statuses >= {200, 400, 401, 403, 404, 405, 409, 413, 415, 422}


def test_a_length_beside_a_body_in_pieces_does_not_lift_its_limit(monkeypatch):
    """As h11 reads it; httptools refuses such a request."""
    way = Way(True, monkeypatch)
    said = {**JSON, "authorization": f"Bearer {way.tokens[-1]}"}
    said |= {"content-length": "5", "transfer-encoding": "chunked"}

    async def sent():
        coins = json.dumps({**COINS, "name": "a"}).encode()
        begun = await way.call("POST", "/api/studies", coins, said)
        paths = ("", "/a/ask", "/a/fail")
        long = [await way.call("POST", f"/api/studies{path}", b" " * 2001, said) for path in paths]
        return [status for status, _, _ in (begun, *long)]

    assert asyncio.run(sent()) == [201, 413, 413, 413]
