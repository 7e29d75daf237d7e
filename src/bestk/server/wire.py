"""How HTTP is read off a connection: with an end to what uvicorn leaves open.

Connections, and lines and headers, are kept in memory before anybody can be asked for a token, so
that they are counted and timed here, below everything else. Bodies are counted in `guard`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 1 << 16  # bytes of a request beside its body: as h11 and nginx have it, or nearly
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class Wire(HttpToolsProtocol):
    """One connection; of more than `limit_concurrency` the last ones are closed at once."""

    LOOK = 15.0  # seconds between two looks at how far it is; as the next two, arbitrary
    HEAD, BODY = 2, 8  # looks after which one that still waits for that is closed

    _beside = 0  # bytes of this request that are no body: its head, what is between the pieces

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        # uvicorn would refuse requests of those that are there already, for those that say nothing
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._seen: Any = None  # the request at the last look
        self._waited = 0  # looks since then
        self._next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
        if self._most is not None and len(self.connections) > self._most:
            transport.write(FULL)
            transport.close()
            return
        self._next_look = self.loop.call_later(self.LOOK, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection of one who sends a request so slowly that it may never be whole.

        Looks cost less than a timer for each request, of which there are thousands a second.
        """
        cycle = self.cycle
        if cycle is not self._seen or (cycle and not (cycle.response_complete or cycle.more_body)):
            self._seen, self._waited = cycle, 0
        else:
            self._waited += 1
        is_body = cycle is not None and not cycle.response_complete
        if self._waited >= (self.BODY if is_body else self.HEAD):
            self.transport.abort()
        else:
            self._next_look = self.loop.call_later(self.LOOK, self._look)

    def data_received(self, data: bytes) -> None:
        """Some more of a request."""
        self._beside += len(data)
        super().data_received(data)
        if self._beside > MOST and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_body(self, body: bytes) -> None:
        """What the body's own limit is for."""
        self._beside -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The next request has a head of its own."""
        super().on_message_complete()
        self._beside = 0
