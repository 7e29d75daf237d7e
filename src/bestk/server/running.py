"""From a storage, an address and limits to a running server."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Literal

import uvicorn

from bestk.addresses import is_loopback
from bestk.errors import InputError
from bestk.server.app import guarded
from bestk.server.hall import Hall
from bestk.server.limits import Limits
from bestk.storage.addresses import open_storage, read_address

BACKLOG = 2048  # connections that may wait to be accepted
COLLECT = (20_000, 20, 20)  # a study holds many objects and no cycles: seldom is enough; arbitrary
BESIDE = 200  # files beside those of the connections; arbitrary
LAST = 5  # seconds in which requests under way may end


class Server(uvicorn.Server):
    """Ends its streams first when it is told to stop: they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, hall: Hall) -> None:
        super().__init__(config)
        self._hall = hall

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let go of everyone."""
        self._hall.streams.close()
        await super().shutdown(sockets)


def serve(
    address: str,
    *,
    host: str,
    port: int,
    cert: str | None = None,
    key: str | None = None,
    proxy: bool = False,
    limits: Limits | None = None,
    say: Callable[[str], None],
) -> None:
    """Serve the studies of a storage until a signal says to stop."""
    storage = open_storage(address, is_impatient=True)
    hall = Hall(address, storage, limits or Limits(), is_loopback(host) and not proxy)
    hall.tokens.read()
    if not hall.tokens.are_wanted and not hall.local:
        raise InputError(
            f"{'--proxy' if proxy else f'--host {host}'} was refused: without tokens the server is"
            " for this machine alone, at 127.0.0.1; create one first with `bestk token create`"
        )
    _check_pair(cert, key)
    _allow_files(hall.limits.connections + BESIDE)
    listening = _bind(host, port)
    config = uvicorn.Config(
        guarded(hall),
        loop="uvloop" if find_spec("uvloop") else "asyncio",
        http=_protocol(),
        ws="none", lifespan="off", access_log=False, log_level="warning", server_header=False,
        backlog=BACKLOG, ssl_certfile=cert, ssl_keyfile=key, proxy_headers=proxy,
        timeout_graceful_shutdown=LAST, limit_concurrency=hall.limits.connections,
    )  # fmt: skip
    at = listening.getsockname()
    name = f"[{at[0]}]" if ":" in at[0] else at[0]
    say(f"serving {read_address(address)} at {'https' if cert else 'http'}://{name}:{at[1]}")
    gc.freeze()  # what is there now stays: there is no need to look through it for cycles
    gc.set_threshold(*COLLECT)
    Server(config, hall).run(sockets=[listening])


def _allow_files(wanted: int) -> None:
    """Ask the system for so many files, each connection being one: often it gives 1,024."""
    if find_spec("resource") is None:  # Windows has no such limit
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < wanted:
        wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        with suppress(OSError, ValueError):  # macOS says "no limit" and means its kernel's
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _protocol() -> type[asyncio.Protocol] | Literal["h11"]:
    """The quicker one where it is installed; the other has limits of its own."""
    if find_spec("httptools") is None:
        return "h11"
    from bestk.server.wire import Wire

    return Wire


def _check_pair(cert: str | None, key: str | None) -> None:
    """Refuse files for TLS before anybody is told that there is a server."""
    if (cert is None) != (key is None):
        raise InputError("--cert and --key go together")
    if cert is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except OSError as error:
        raise InputError(f"--cert {cert} with --key {key} was refused: {error}") from error


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}:{port} was refused: {error}") from error
    return listening
