"""What a log says happened: which observations count, of which arm, and what was lost.

Restated from docs/certificate.md. An answer counts if its pull is open at that moment: it was asked
for, and neither answered nor given up before. An observation made elsewhere counts once for each
id. What is said of an arm that is not in the study does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestk.study.verification import log
from bestk.study.verification.log import Row
from bestk.study.verification.reading import strict_json


class History:
    """A log, event by event. Arms are numbered in the order in which they came."""

    def __init__(self, first: Row) -> None:
        if first[0] != log.CREATED:
            raise ValueError("the log does not begin with a specification")
        self.specification: dict[str, Any] = strict_json(first[4])
        self.labels: list[Any] = list(self.specification["arms"])
        self.closed = self.specification.get("max_arms") is None
        self.k = self.specification["problem"]["decision"].get("k", 0)
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
        self._open: dict[str, int] = {}  # pull -> arm
        self._ids: set[str] = set()
        self._told: set[str] = set()  # pulls that were answered
        none = [0] * len(self.labels)
        self.lost = {what: none.copy() for what in ("failed", "forgotten", "expired", "dropped")}

    def apply(self, row: Row) -> None:
        """One more event."""
        kind, key, arm, reward, data, _ = row
        if kind == log.TOLD:
            pulled = self._open.pop(key, None)
            if pulled is not None:
                self._told.add(key)
                self._count(pulled, reward)
        elif kind == log.ASKED:
            # lucb's rounds: one more, never fewer than an arm has samples, once all arms have one
            if data and not self._fresh:
                self.round = max(self.round + 1, self._most)
            if arm in self._rows and key not in self._open and key not in self._told:
                self._open[key] = arm  # a name counts once
        elif kind == log.OBSERVED:
            if key not in self._ids and arm in self._rows:
                self._ids.add(key)
                self._count(arm, reward)
        elif kind in (log.FORGOTTEN, log.EXPIRED):
            pulled = self._open.pop(key, None)
            if pulled is not None:
                self.lost["forgotten" if kind == log.FORGOTTEN else "expired"][pulled] += 1
        elif kind == log.FAILED:
            if key in self._open:
                self.lost["failed"][self._open[key]] += 1
        elif kind in (log.ADDED, log.WITHDRAWN):
            self._change(kind, arm, data)
        elif kind not in (log.STOPPED, log.CREATED):
            raise ValueError(f"an event of the unknown kind {kind}")

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
                for key in [key for key, pulled in self._open.items() if pulled == arm]:
                    del self._open[key]
                    self.lost["dropped"][arm] += 1
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
    def arms(self) -> NDArray[np.int64]:
        """The arm of every observation that counts."""
        return np.array(self._arms, np.int64)

    @property
    def places(self) -> NDArray[np.int64]:
        """The row that arm had at the time, and how often rows had changed: they number coins."""
        return np.array(self._places, np.int64).reshape(-1, 2)

    @property
    def rewards(self) -> NDArray[np.float64]:
        """What was observed, in the user's units."""
        return np.array(self._rewards, np.float64)

    @property
    def open(self) -> list[int]:
        """Pulls of every arm that were not answered."""
        waiting = [0] * len(self.labels)
        for arm in self._open.values():
            waiting[arm] += 1
        return waiting
