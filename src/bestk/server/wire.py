"""How HTTP is read off a connection: with an end to what is no body, which uvicorn leaves open.

Lines and headers are kept in memory before anybody can be asked for a token, so that they are
counted here, below everything else. Bodies are counted in `guard`.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 1 << 16  # bytes of a request beside its body: as h11 and nginx have it, or nearly


class Wire(HttpToolsProtocol):
    """One connection."""

    _beside = 0  # bytes of this request that are no body: its head, what is between the pieces

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
