"""What a log says happened: which observations count, of which arm, and what was lost.

Restated from docs/certificate.md. An answer is taken if its pull is open at that moment: it was
asked for, and neither answered nor given up before. An observation made elsewhere is taken once for
each id. What is said of an arm that is not in the study is not taken.

What was taken counts in the order asked: pulls and observations stand in a queue in the order of
their events, and leave it at the front, once settled, with a value or as a hole. Where arms come
and go every arm has a queue of its own. Studies of version 0.1 (format 1) count answers as they are
taken: there every pull has a queue of its own, and one that failed is still open.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestk.verification import log
from bestk.verification.arrays import Floats, Ints
from bestk.verification.assumptions import limits_of
from bestk.verification.log import Row
from bestk.verification.reading import strict_json

LOSSES = {log.FORGOTTEN: "forgotten", log.EXPIRED: "expired", log.FAILED: "failed"}


@dataclass
class Place:
    """One pull, or one observation made elsewhere, in its queue."""

    arm: int
    queue: Hashable
    value: float | None = None
    is_settled: bool = False


class History:
    """A log, event by event. Arms are numbered in the order in which they came."""

    def __init__(self, first: Row) -> None:
        if first[0] != log.CREATED:
            raise ValueError("the log does not begin with a specification")
        self.specification: dict[str, Any] = strict_json(first[4])
        self.labels: list[Any] = list(self.specification["arms"])
        self.closed = self.specification.get("max_arms") is None
        self.k = self.specification["problem"]["decision"].get("k", 0)
        self.in_order = self.specification["format"] >= 2
        self.lost_as = self.specification.get("lost", "skip")  # what holes count as
        if self.specification.get("order", "asked") != "asked":
            raise ValueError("an order that is not known here")
        if self.lost_as not in ("skip", "worst"):
            raise ValueError("lost pulls that count as something unknown")
        # a score of an evaluation that failed is the worst there is, and leaves no hole
        self.worst = None
        if self.specification.get("items") is not None:
            problem = self.specification["problem"]
            ends = limits_of(problem["rewards"])
            if ends is None or not self.closed:
                raise ValueError("an evaluation without a range, or of arms that come and go")
            self.worst = ends[0] if problem["maximize"] else ends[1]
        self.present = list(range(len(self.labels)))  # arms that compete, row by row
        self._rows = {arm: arm for arm in self.present}
        self.changes = 0  # how often arms came or went
        # observations that count, in order: arm, its row and the changes so far, reward
        self._arms: list[int] = []
        self._places: list[tuple[int, int]] = []
        self._rewards: list[float] = []
        self._counts = [0] * len(self.labels)
        self._fresh, self._most = len(self.labels), 0  # arms without a sample, most samples
        self.round = 0  # of lucb
        self._open: dict[str, Place] = {}
        self._queues: defaultdict[Hashable, deque[Place]] = defaultdict(deque)
        self._ids: set[str] = set()
        self._closed: set[str] = set()  # pulls that were answered or given up
        self._reissued: set[str] = set()
        none = [0] * len(self.labels)
        kinds = "failed", "forgotten", "expired", "dropped", "holes"
        self.lost = {what: none.copy() for what in kinds}

    def apply(self, row: Row) -> None:
        """One more event."""
        kind, key, arm, reward, data, _ = row
        if kind == log.TOLD:
            if key in self._open:
                self._settle(key, reward)
        elif kind == log.ASKED:
            # lucb's rounds: one more, never fewer than an arm has samples, once all arms have one
            if data and not self._fresh:
                self.round = max(self.round + 1, self._most)
            if key not in self._open and key not in self._closed:  # a name counts once
                if arm in self._rows:
                    self._open[key] = self._queue(arm, key)
                else:
                    self._closed.add(key)
        elif kind == log.OBSERVED:
            if key not in self._ids and arm in self._rows:
                self._ids.add(key)
                self._serve(self._queue(arm, ("added", key)), reward)
        elif kind in LOSSES:
            if key in self._open:
                self.lost[LOSSES[kind]][self._open[key].arm] += 1
                if kind != log.FAILED or self.in_order:
                    self._settle(key, self.worst)
        elif kind == log.RETRIED:  # the pull stays open, in its place
            if key in self._open:
                self.lost["failed"][self._open[key].arm] += 1
        elif kind == log.REISSUED:
            if key in self._open:
                self._reissued.add(key)
        elif kind in (log.ADDED, log.WITHDRAWN):
            self._change(kind, arm, data)
        elif kind not in (log.STOPPED, log.CREATED):
            raise ValueError(f"an event of the unknown kind {kind}")

    def _queue(self, arm: int, name: Hashable) -> Place:
        """A place at the end of its queue."""
        queue: Hashable = name
        if self.in_order:
            queue = "all" if self.closed else arm
        place = Place(arm, queue)
        self._queues[queue].append(place)
        return place

    def _settle(self, key: str, value: float | None) -> None:
        """An open pull gets its value, or becomes a hole."""
        self._closed.add(key)
        self._serve(self._open.pop(key), value)

    def _serve(self, place: Place, value: float | None) -> None:
        """Settle a place, and count what is settled at the front of its queue."""
        place.value, place.is_settled = value, True
        queue = self._queues[place.queue]
        while queue and queue[0].is_settled:
            first = queue.popleft()
            if first.value is None:
                self.lost["holes"][first.arm] += 1
            else:
                self._count(first.arm, first.value)
        if not queue:
            del self._queues[place.queue]

    def _count(self, arm: int, reward: float) -> None:
        self._arms.append(arm)
        self._places.append((self._rows[arm], self.changes))
        self._rewards.append(reward)
        self._counts[arm] += 1
        if self._counts[arm] == 1:
            self._fresh -= 1
        self._most = max(self._most, self._counts[arm])

    def _change(self, kind: int, arm: int, data: str) -> None:
        """An arm comes, comes back, or goes."""
        if self.closed:
            raise ValueError("an arm came or went in a study that is closed")
        if kind == log.WITHDRAWN:
            if arm in self._rows and len(self.present) > self.k + 1:
                for key in [key for key, place in self._open.items() if place.arm == arm]:
                    self.lost["dropped"][arm] += 1
                    self._settle(key, None)
                self.present.remove(arm)
                self.changes += 1
        elif arm not in self._rows and 0 <= arm <= len(self.labels):
            label = strict_json(data)
            if arm < len(self.labels):
                if label != self.labels[arm]:
                    return
            else:
                if label in self.labels:
                    return
                self.labels.append(label)
                self._counts.append(0)
                for lost in self.lost.values():
                    lost.append(0)
            self.present.append(arm)
            self.changes += 1
        self._rows = {arm: row for row, arm in enumerate(self.present)}

    @property
    def arms(self) -> Ints:
        """The arm of every observation that counts."""
        return np.array(self._arms, np.int64)

    @property
    def places(self) -> Ints:
        """The row that arm had at the time, and how often rows had changed: they number coins."""
        return np.array(self._places, np.int64).reshape(-1, 2)

    @property
    def rewards(self) -> Floats:
        """What was observed, in the user's units."""
        return np.array(self._rewards, np.float64)

    @property
    def open(self) -> list[int]:
        """Pulls of every arm that were not answered."""
        waiting = [0] * len(self.labels)
        for place in self._open.values():
            waiting[place.arm] += 1
        return waiting

    @property
    def held(self) -> list[int]:
        """Values of every arm that came back before their turn, and do not count."""
        waiting = [0] * len(self.labels)
        for queue in self._queues.values():
            for place in queue:
                waiting[place.arm] += place.value is not None
        return waiting

    @property
    def reissued(self) -> int:
        """Pulls that were handed out again after their process died."""
        return len(self._reissued)
