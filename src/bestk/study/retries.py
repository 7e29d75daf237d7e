"""When a call that failed is made again, and how fast calls may follow each other.

A failure may be the end of a pull or a reason to wait; an endpoint that is asked too often says so
(429), and then everybody slows down. Nothing here knows of studies or threads, and time is given.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from bestk.arguments import as_float, is_bool, refused

LONGEST = 60.0  # seconds of a wait that nobody asked for
PATIENCE = 8  # answers "too often" that use up one retry
GROWTH, RECOVERY = 0.5, 1.1  # of the window, per answer: half a call a window; a tenth below one
LEAST = 1.0 / 1024.0  # of the window
TOO_MANY = 429
_SAYS_SO = re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE)
_RATE = re.compile(r"\s*([0-9.eE+]+)\s*/\s*(s|sec|second|m|min|minute|h|hour)\s*")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def per_second(rate: object) -> float | None:
    """A rate, "10/s", "600/min" or calls per second, as calls per second; None for no limit."""
    if rate is None:
        return None
    number: float | None = None
    if isinstance(rate, str):
        if found := _RATE.fullmatch(rate):
            try:
                number = float(found[1]) / _UNITS[found[2][0]]
            except ValueError:
                number = None
    elif not is_bool(rate):
        number = as_float(rate)
    if number is None or not number > 0.0:
        raise refused(rate, "rate", 'give calls per second, or "10/s", "600/min", "5000/h"')
    return number


def is_too_often(error: BaseException | None) -> bool:
    """Whether an exception says that the endpoint was asked too often."""
    if error is None:
        return False
    for owner in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            if getattr(owner, name, None) == TOO_MANY:
                return True
    try:
        return _SAYS_SO.search(str(error)) is not None
    except Exception:  # its own text fails
        return False


def asked_to_wait(error: BaseException | None, now: float | None = None) -> float:
    """How many seconds the endpoint asks to wait; 0 where the exception carries no Retry-After."""
    found = getattr(error, "retry_after", None)
    for owner in (getattr(error, "response", None), error):
        headers = getattr(owner, "headers", None)
        if found is None and isinstance(headers, Mapping):
            named = {str(name).lower(): value for name, value in headers.items()}
            found = named.get("retry-after")
        elif found is None and headers is not None:
            with suppress(Exception):  # of a class of somebody's own, such as email.message
                found = headers.get("Retry-After")
    return _seconds(found, time.time() if now is None else now)


def _seconds(value: Any, now: float) -> float:
    """Of a header that is a number of seconds, or a date."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            try:
                value = parsedate_to_datetime(value).timestamp() - now
            except (ValueError, OverflowError):
                return 0.0
    elif hasattr(value, "total_seconds"):  # a timedelta
        value = value.total_seconds()
    found = as_float(value)
    return max(0.0, found) if found is not None and math.isfinite(found) else 0.0


class Attempts:
    """How often one pull was tried, and how long to wait before it is tried again."""

    def __init__(self) -> None:
        self.failed = self.refused = 0  # the latter by an endpoint that was asked too often

    def add(self, too_often: bool) -> None:
        """One more came to nothing."""
        if too_often:
            self.refused += 1
        else:
            self.failed += 1

    def used_up(self, retries: int) -> bool:
        """Whether it has failed for good."""
        return self.failed + self.refused / PATIENCE > retries or (not retries and self.refused > 0)

    def wait(self, backoff: float, asked: float, chance: float | None = None) -> float:
        """Seconds until the next attempt: twice as long each time, with jitter.

        Without jitter all calls that were refused together would come back together. `asked` is
        what the endpoint wants; `chance` a number in [0, 1), drawn if not given.
        """
        chance = random.random() if chance is None else chance
        doubled = min(LONGEST, backoff * 2.0 ** min(self.failed + self.refused - 1, 60))
        return max(asked, doubled * (0.5 + chance), 0.0)


class Limiter:
    """Who may call, and when: at most `parallel` at once, at most `rate` a second, fewer on 429.

    The window is the number of calls that may be under way, as TCP has it: halved when a call is
    refused, from as many as there were when that call was made; half a call more for every window
    of answers. Below one it is a share of the time: calls follow each other with pauses.
    Refusals of calls made before the last cut say nothing new.
    """

    def __init__(self, parallel: int, rate: float | None = None) -> None:
        self.parallel, self.rate = parallel, rate
        self.window = float(parallel)
        self._next = self._cut = -math.inf  # when the next may start; when the window was cut
        self._pause_until = -math.inf
        self._latency = 0.0  # of calls, a moving average

    def wait(self, now: float, running: int) -> float:
        """Seconds until a call may start, so many being under way; infinite: when one is back."""
        if running >= max(1, int(self.window)):
            return math.inf
        return max(0.0, self._next - now, self._pause_until - now)

    def started(self, now: float) -> None:
        """A call has started."""
        gap = 0.0 if self.rate is None else 1.0 / self.rate
        if self.window < 1.0:
            gap = max(gap, (1.0 / self.window - 1.0) * max(self._latency, 0.01))
        self._next = now + gap if now - self._next > gap else max(self._next, now) + gap

    def pause(self, until: float) -> None:
        """No call starts before then."""
        self._pause_until = max(self._pause_until, until)

    def answered(self, now: float, since: float) -> None:
        """A call made at `since` was answered."""
        self._latency += 0.2 * (now - since - self._latency)
        if self.window < 1.0:
            self.window = min(1.0, RECOVERY * self.window)
        else:
            self.window = min(float(self.parallel), self.window + GROWTH / self.window)

    def refused(self, now: float, since: float, running: int, asked: float) -> None:
        """A call made at `since`, with so many under way, was refused: 429."""
        self._latency += 0.2 * (now - since - self._latency)
        self.pause(now + asked)
        if since >= self._cut:
            self.window, self._cut = max(LEAST, min(self.window, running) / 2.0), now
