"""The order in which observations count: that in which they were asked for.

docs/e-lucb.md, Theorem 6, says why. Every pull, and every observation from elsewhere, has a place
in a queue. It counts when all places before it are settled; until then it is held. There is one
queue for all arms, or, where arms come and go, one for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from bestk.study.planning import Late

ALL = -1  # the queue of all arms


class Open(NamedTuple):
    """A pull that was handed out and not answered yet."""

    arm: int
    order: int  # among all pulls of the study
    at: float
    place: int  # in the order in which observations count


opened = partial(tuple.__new__, Open)  # quicker than its own constructor


class Order:
    """Places, which of them count, and what is held.

    Without `in_order` everything counts at once, as in version 0.1.
    """

    def __init__(self, in_order: bool, by_arm: bool) -> None:
        self.in_order, self.by_arm = in_order, by_arm
        self.held: dict[tuple[int, int], Late] = {}  # by queue and place, as they came
        self._issued: Counter[int] = Counter()  # places so far, by queue
        self._next: Counter[int] = Counter()  # the first place that does not count yet

    def issue(self, arm: int) -> int:
        """The next place."""
        queue = arm if self.by_arm else ALL
        place = self._issued[queue]
        self._issued[queue] = place + 1
        return place

    def pass_by(self, many: int) -> None:
        """So many places of the queue of all arms, each settled before the next was issued."""
        self._issued[ALL] += many
        self._next[ALL] = self._issued[ALL]

    def passes(self, arm: int, place: int) -> bool:
        """Whether a place that is settled counts by itself: it is next, and nothing waits."""
        if self.held or not self.in_order:
            return not self.in_order
        queue = arm if self.by_arm else ALL
        if place != self._next[queue]:
            return False
        self._next[queue] = place + 1
        return True

    def settle(self, arm: int, place: int, reward: float | None) -> list[Late]:
        """Give a place its reward, None for a hole; what counts by that, in order."""
        counts: list[Late] = [(arm, reward)]
        if not self.in_order:
            return counts
        queue = arm if self.by_arm else ALL
        if place != self._next[queue]:
            self.held[queue, place] = arm, reward
            return []
        place += 1
        while (late := self.held.pop((queue, place), None)) is not None:
            counts.append(late)
            place += 1
        self._next[queue] = place
        return counts

    def blocking(self, open_: Mapping[str, Open]) -> list[str]:
        """Of open pulls those that something held waits for."""
        latest: dict[int, int] = {}  # places that are held, by queue
        for queue, place in self.held:
            latest[queue] = max(place, latest.get(queue, -1))
        queues = ((key, pull.arm if self.by_arm else ALL, pull) for key, pull in open_.items())
        return [key for key, queue, pull in queues if pull.place < latest.get(queue, -1)]
