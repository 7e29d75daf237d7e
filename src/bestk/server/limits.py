"""How much, how long and how often: what keeps one client from taking the server from the others.

All numbers are arbitrary; they are far above what studies for people and models need.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

CLIENTS = 10_000  # whose requests are counted at a time; the one not heard of for longest is let go


@dataclass(frozen=True)
class Limits:
    """What a server allows."""

    body: int = 1 << 20  #: bytes of a request
    label: int = 1000  #: characters of an arm's label, of a worker's name, of a reason
    arms: int = 20_000  #: of a study that is created here
    open_pulls: int = 20_000  #: of one study; more are refused until some are told
    rating: int = 1000  #: of these that one token to rate has, whatever its workers are called
    batch: int = 1000  #: pulls of one ask, answers of one tell
    connections: int = 4000  #: at a time, those of viewers too
    viewers: int = 1000  #: streams of events at a time of one token; all have half the connections
    #: requests a second of one token at one address: those who look or rate, and those who work
    people_rate: float = 50.0
    worker_rate: float = 20_000.0
    failures_rate: float = 5.0  #: requests a second of one address without a valid token
    #: seconds after which a pull is given up or, where the study has no lease, handed out again
    lease: float = 3600.0


class Meter:
    """Requests of every client, as a bucket that refills: a burst of four seconds' worth."""

    BURST = 4.0

    def __init__(self) -> None:
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def wait(self, client: tuple[str, str], rate: float) -> float:
        """Count a request; 0, or the seconds after which it would be let through."""
        now, most = time.monotonic(), max(1.0, self.BURST * rate)
        level, at = self._buckets.pop(client, (most, now))
        level = min(most, level + (now - at) * rate)
        is_let = level >= 1.0
        self._buckets[client] = level - is_let, now
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if is_let else (1.0 - level) / rate
