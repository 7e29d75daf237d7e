"""A real server in a process of its own, on a free port of this machine, and calls of it."""

import asyncio
import json
import subprocess
import time
from contextlib import contextmanager
from http.client import HTTPConnection

from helpers.command import BESTK


class Called:
    """An answer of a server."""

    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode()

    @property
    def data(self):
        return json.loads(self.text)


class Served:
    """A running server."""

    def __init__(self, process, port):
        self.process, self.port = process, port

    def call(self, method, path, body=None, token=None, **headers):
        """One request on a connection of its own."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            named["Authorization"] = f"Bearer {token}"
        text = None
        if body is not None:
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            named.setdefault("Content-Type", "application/json")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, text, named)
            return Called(connection.getresponse())
        finally:
            connection.close()

    def post(self, path, body, token=None, **headers):
        return self.call("POST", path, body, token, **headers)

    def get(self, path, token=None, **headers):
        return self.call("GET", path, None, token, **headers)

    def refuses_soon(self, token):
        """Whether a token that was revoked lets nobody in; it may for a twentieth of a second."""
        end = time.monotonic() + 20.0
        while self.get("/api/studies", token).status == 200 and time.monotonic() < end:
            pass
        return self.get("/api/studies", token).status == 401


@contextmanager
def serving(storage, *options, port=0):
    """A server of that storage; what is left of it at the end of the block is killed."""
    command = [BESTK, "serve", str(storage), "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline()
            assert " at http" in said, said
            yield Served(process, int(said.rpartition(":")[2]))
        finally:
            process.kill()


def called(app, token=None):
    """The status of a request for the list of studies, of an application in this process."""
    said = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        said.append(message)

    named = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    scope = {
        "type": "http", "method": "GET", "path": "/api/studies", "raw_path": b"/api/studies",
        "query_string": b"", "root_path": "", "scheme": "http", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2), "asgi": {"version": "3.0"}, "http_version": "1.1",
        "headers": [(b"host", b"localhost"), *named],
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return said[0]["status"]
