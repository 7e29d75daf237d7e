"""What is wrong with the storage: the server's log is told, those who ask only that it is."""

from __future__ import annotations

import logging
import time

from bestk.report.text import printable

LOG = logging.getLogger("uvicorn.error")
AWAY = "the storage cannot be used now: try again, or see the log of the server"
EVERY = 10.0  # seconds between two lines that say the same; arbitrary
_said: dict[str, float] = {}  # the last line, and when


def complain(error: Exception) -> str:
    """Log an error of the storage; what is answered, which does not say where that is."""
    text, now = printable(str(error)), time.monotonic()
    if now - _said.get(text, now - EVERY) >= EVERY:
        _said.clear()
        _said[text] = now
        LOG.error("bestk: %s", text)
    return AWAY
