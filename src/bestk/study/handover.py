"""Pulls that nobody makes any more: given up when their lease runs out, or else handed out again.

Each goes to one worker: what the log says of who took it first decides between processes. Where
there is a lease nothing is handed out again but what was given back. It runs from when this process
first saw the pull, or handed it out again, by its own steady clock: the times in the log are of
other clocks, which may be a day off, or be set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from bestk.storage import events as ev
from bestk.study.fold import Fold
from bestk.study.journal import Journal
from bestk.study.pulls import NOBODY, WORKER, Names, Requested, is_gone


class Handover:
    """What one study object may take over, and which leases it has seen run out."""

    def __init__(self, journal: Journal, fold: Fold) -> None:
        self.names = Names()
        self.is_gone: Callable[[str], bool] = is_gone  # of a holder's token
        self.pause, self._next_look = 0.0, 0.0  # seconds between two looks at leases
        self._journal, self._fold, self._lease = journal, fold, fold.specification.lease
        self._since: dict[str, float] = {}  # when a pull was first seen, where there is a lease
        self._waiting: list[str] | None = None  # to be taken over; None: not looked for yet
        self._taken: list[str] | None = None  # within `handing`
        self.lapsed()  # none yet: all are seen now

    def see(self, key: str) -> None:
        """A pull is open now."""
        if self._lease is not None:
            self._since.setdefault(key, time.monotonic())

    def lapsed(self) -> list[str]:
        """The open pulls whose lease has run out."""
        now = time.monotonic()
        if self._lease is None or now < self._next_look:
            return []
        self._next_look = now + self.pause
        self._since = {key: self._since.get(key, now) for key in self._fold.open}
        return [key for key, since in self._since.items() if now - since > self._lease]

    def lapse(self) -> None:
        """Give them up."""
        for key in self.lapsed():
            self._journal.log(ev.EXPIRED, key)

    def look(self, spared: Collection[str] = ()) -> int:
        """Look for pulls to take over; how many there are but those spared."""
        self._waiting = self.free(self._fold.open)
        return sum(key not in spared for key in self._waiting)

    def free(self, keys: Iterable[str]) -> list[str]:
        """Of open pulls those to take over."""
        holders, is_gone = self._fold.holders, self.is_gone
        if self._lease is not None:
            is_gone = NOBODY.__eq__
        return [key for key in keys if is_gone(holders[key])]

    def take(self, names: Names | Requested, spared: Collection[str] = ()) -> str | None:
        """The next one but those spared, which is held by that name from now on."""
        if self._waiting is None:
            self.look()
        fold, mine = self._fold, names.token
        while key := next((key for key in self._waiting or () if key not in spared), None):
            self._waiting = [other for other in self._waiting or () if other != key]
            if self._taken is not None:
                self._taken.append(key)
            if key in fold.open:
                self._journal.log(ev.REISSUED, key, data=f"{fold.holders[key]} {mine}")
            if key in fold.open and fold.holders[key] == mine:
                self._since.pop(key, None)  # a lease of its own
                return key
        return None

    def name(self, names: Names | Requested) -> str:
        """The name of a pull that is about to be asked for."""
        key = names.new()
        if self._taken is not None:
            self._taken.append(key)
        return key

    @contextmanager
    def handing(self) -> Iterator[None]:
        """While pulls are put together: if that fails nobody makes them, and the next ask has them.

        One whose event could not be written may be in the log all the same.
        """
        taken: list[str] = []
        self._taken = taken
        try:
            yield
        except BaseException:
            if taken:
                self._waiting = [*taken, *(self._waiting or ())]
            raise
        finally:
            self._taken = None

    def release(self, keys: Iterable[str]) -> None:
        """Nobody makes these pulls any more; the log says so, for whoever resumes the study."""
        keys, fold, mine = list(keys), self._fold, self.names.token
        self._waiting = [*(self._waiting or ()), *keys]
        for key in keys:
            if fold.stopped is None and key in fold.open:
                holder = fold.holders[key]
                if holder == mine or holder.startswith(WORKER):
                    self._journal.log(ev.REISSUED, key, data=f"{holder} {NOBODY}")

    def is_free(self, key: str) -> bool:
        """Whether a pull is handed out to the next who asks."""
        return self._fold.holders[key] == NOBODY

    def is_held_elsewhere(self, key: str) -> bool:
        """Whether another holder that lives makes a pull."""
        holder = self._fold.holders[key]
        return holder != self.names.token and not self.is_gone(holder)
