"""What every request passes first: host, origin, who asks, how often, how much.

Below FastAPI, so that nothing is reached before; and what a response carries so that a browser does
not do more with it than it should.
"""

from __future__ import annotations

import json
import time
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bestk.addresses import is_loopback
from bestk.errors import StorageError
from bestk.server.complaints import complain
from bestk.server.limits import Limits, Meter
from bestk.server.metrics import Metrics
from bestk.server.tokens import ABILITIES, EVERYONE, Token, Tokens

COOKIE = "bestk_token"
CALLER = "bestk.caller"  # in the scope of a request: the token that it came with, or None
HAS_LENGTH = "bestk.has_length"  # there too: whether it said how long its body is
MOST_BODY = "bestk.most_body"  # and how long it may be
STRANGERS = (
    4096  # bytes of a body without a valid token, which is at most one to sign in; arbitrary
)
OPEN_PATHS = ("/health", "/login", "/logout", "/")  # need no token
OPEN_FOLDERS = ("/static/", "/studies")  # pages hold nothing: what they show, they ask for
SAFE = ("GET", "HEAD", "OPTIONS")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:{images};"
    " connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
SECURITY_POLICY = (b"content-security-policy", POLICY.format(images="").encode())
NO_STORE = (b"cache-control", b"no-store")
GONE = 499  # what is counted where a client left; no answer has it
LEAST, MOST = 0.001, 0.05  # seconds between two looks at the tokens
FORWARDED = (  # what proxies add
    b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto",
    b"x-real-ip",
)  # fmt: skip


class Refusal(Exception):
    """An answer instead of what was asked for."""

    def __init__(self, status: int, error: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.error, self.headers = status, error, headers


def problem(error: str, message: str) -> bytes:
    """The body of every answer that is a refusal."""
    return json.dumps({"error": error, "message": message}).encode()


class Guard:
    """Lets through what is allowed; `local` where no other machine reaches the server."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, limits: Limits, metrics: Metrics, local: bool
    ) -> None:
        self.app, self.tokens, self.limits, self.metrics = app, tokens, limits, metrics
        self.local = local
        self.meter = Meter()
        self._next = 0.0  # when tokens are read again

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                extra = [] if b"content-security-policy" in given else [SECURITY_POLICY]
                if b"cache-control" not in given:
                    extra.append(NO_STORE)
                message["headers"] = [*message["headers"], *HEADERS, *extra]
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, self._counted(scope, receive), answer)
        except Refusal as refusal:
            status = refusal.status
            body = problem(refusal.error, str(refusal))
            headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
            headers += [
                (name.replace("_", "-").encode(), value.encode())
                for name, value in refusal.headers.items()
            ]
            headers.append((b"content-length", str(len(body)).encode()))
            await answer({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        except ClientDisconnect:  # before its request was whole: nobody is there to be answered
            status = GONE
        finally:
            route = scope.get("route")
            where = getattr(route, "path", "other")
            self.metrics.answered(where, status, time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self._refresh(scope["path"])
        is_for_all = self.local and not self.tokens.are_wanted
        if is_for_all:
            _check_local(headers)
        by_cookie = False
        text, scheme = "", headers.get(b"authorization", b"").decode("latin-1")
        if scheme[:7].lower() == "bearer ":
            text = scheme[7:].strip()
        elif cookie := headers.get(b"cookie"):
            text, by_cookie = _cookie(cookie.decode("latin-1")), True
        caller = self.tokens.find(text) if text else None
        if caller is None and is_for_all:
            caller = EVERYONE
        self._limit(scope, caller)
        if caller is None and text:  # created a moment ago, maybe
            self._refresh(scope["path"], at_once=True)
            caller = self.tokens.find(text)
        scope[CALLER] = caller
        if caller is None and not _is_open(scope["path"]):
            raise Refusal(
                401, "Unauthorized", "give a valid token: Authorization: Bearer TOKEN",
                www_authenticate="Bearer",
            )  # fmt: skip
        if scope["method"] not in SAFE:
            _check_origin(headers)
            if by_cookie and headers.get(b"x-bestk") != b"1" and scope["path"] != "/logout":
                raise Refusal(403, "Forbidden", "requests with a cookie need the header X-Bestk: 1")
        # h11 reads a body in pieces also where a length is given beside, which then is none
        scope[HAS_LENGTH] = b"content-length" in headers and b"transfer-encoding" not in headers
        most = min(self.limits.body, STRANGERS) if caller is None else self.limits.body
        length, scope[MOST_BODY] = headers.get(b"content-length", b"0"), most
        if not length.isdigit() or int(length) > most:
            raise _too_long(most)

    def _refresh(self, path: str, at_once: bool = False) -> None:
        """Tokens as they are now, or a moment ago: to read them may take a twentieth of the time.

        While the storage is away nobody is let in by tokens that may have been revoked.
        """
        now = time.monotonic()
        if now < self._next and not at_once:
            return
        try:
            self.tokens.read()
        except StorageError as error:
            if _is_open(path):
                return
            raise Refusal(503, "StorageError", complain(error), retry_after="1") from error
        took = time.monotonic() - now
        self._next = now + min(MOST, max(LEAST, 20 * took))

    def _limit(self, scope: Scope, caller: Token | None) -> None:
        address = scope["client"][0] if scope.get("client") else ""
        limits = self.limits
        if caller is None:
            rate = limits.people_rate if _is_open(scope["path"]) else limits.failures_rate
            if scope["path"] == "/login":
                rate = limits.failures_rate
            client = ("", f"{address} {rate}")
        else:
            works = "work" in ABILITIES[caller.role]
            rate = limits.worker_rate if works else limits.people_rate
            client = (caller.id, address)
        wait = self.meter.wait(client, rate)
        if wait > 0.0:
            raise Refusal(
                429, "TooManyRequests", f"at most {rate:g} requests a second",
                retry_after=f"{max(1, round(wait))}",
            )  # fmt: skip

    def _counted(self, scope: Scope, receive: Receive) -> Receive:
        """Refuses a body that grows beyond what is allowed; one with a length was checked."""
        if scope[HAS_LENGTH]:
            return receive
        size, most = 0, scope[MOST_BODY]

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise _too_long(most)
            return message

        return counted


def _too_long(most: int) -> Refusal:
    return Refusal(413, "InputError", f"a body has at most {most:,} bytes")


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


@lru_cache(1000)
def _is_local(host: str) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:  # a bracket that is not closed, for instance
        return False


def _check_local(headers: dict[bytes, bytes]) -> None:
    """Where nobody needs a token, nobody elsewhere may ask: by a name of another machine that
    leads here (DNS rebinding), or through a proxy that says so.
    """
    if not _is_local(headers.get(b"host", b"").decode("latin-1")):
        raise Refusal(
            421, "Forbidden",
            "without tokens this server is for its own machine: call it by http://localhost, or"
            " create a token (`bestk token create`)",
        )  # fmt: skip
    if any(name in headers for name in FORWARDED):
        raise Refusal(
            421, "Forbidden",
            "without tokens this server is for its own machine: behind a proxy it needs one"
            " (`bestk token create`)",
        )  # fmt: skip


def _check_origin(headers: dict[bytes, bytes]) -> None:
    """A page of another site may not change anything, whatever the browser sends with it."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    if origin and origin.partition("://")[2] != host:
        raise Refusal(403, "Forbidden", "requests from pages of other sites are refused")
    if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
        raise Refusal(403, "Forbidden", "requests from pages of other sites are refused")


def _cookie(text: str) -> str:
    for part in text.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""
