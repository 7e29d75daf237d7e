"""Connections that wait for ever, and more of them than there may be."""

import asyncio
from contextlib import suppress

import pytest

REASON = "{} is not installed: pip install 'bestk[serve]'"
uvicorn = pytest.importorskip("uvicorn", reason=REASON.format("uvicorn"))
pytest.importorskip("httptools", reason=REASON.format("httptools"))

BEGUN = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n"
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def application(_, receive, send):
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(0.6)  # as one who watches: many looks
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def visits(text, n):
    """What as many are answered who send that, and for how many seconds they are let."""
    from uvicorn.server import ServerState

    from bestk.server.wire import Wire

    class Quick(Wire):
        LOOK = 0.1

    config, state = uvicorn.Config(application, lifespan="off", limit_concurrency=2), ServerState()
    config.load()
    loop = asyncio.get_running_loop()

    async def visit():
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        said = b""
        with suppress(ConnectionResetError):
            writer.write(text)
            said = await asyncio.wait_for(reader.readline(), 3)
        writer.close()
        return said[9:12]

    server = await loop.create_server(lambda: Quick(config, state, {}), "127.0.0.1", 0)
    async with server:
        began = loop.time()
        said = await asyncio.gather(*(visit() for _ in range(n)))
        return sorted(said), loop.time() - began


def test_of_more_connections_than_there_may_be_the_last_are_refused():
    said, _ = asyncio.run(visits(WHOLE, 3))
    assert said == [b"204", b"204", b"503"]


@pytest.mark.parametrize("text", [b"", BEGUN, BEGUN + b"\r\n"])
def test_who_never_sends_a_whole_request_is_left(text):
    """Heads have two looks and bodies eight."""
    said, seconds = asyncio.run(visits(text, 1))
    assert said == [b""]
    assert 0.1 < seconds < 2.5
