"""Pulls that are handed out again: those of a holder that has died, or of a run cut short.

Each goes to one worker: what the log says of who took it first decides between processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study.fold import Fold
from bestk.study.journal import Journal
from bestk.study.owners import Names, is_gone


class Handover:
    """What one study object may take over; with a lease nothing, for there pulls lapse instead."""

    def __init__(self, journal: Journal, fold: Fold) -> None:
        self.names = Names()
        self._journal, self._fold = journal, fold
        self._waiting: list[str] | None = None  # None: not looked for yet

    def look(self) -> bool:
        """Look for pulls to take over; whether there are any."""
        fold = self._fold
        has_lease = fold.specification.lease is not None
        gone = (key for key in fold.open if is_gone(fold.holders[key]))
        self._waiting = [] if has_lease else list(gone)
        return bool(self._waiting)

    def take(self) -> str | None:
        """The next one, which is this object's from now on."""
        if self._waiting is None:
            self.look()
        while self._waiting:
            key, fold, mine = self._waiting.pop(0), self._fold, self.names.token
            if key in fold.open:
                data = f"{fold.holders[key]} {mine}"
                self._journal.append(Event(ev.REISSUED, key, data=data, at=time.time()))
            if key in fold.open and fold.holders[key] == mine:
                return key
        return None

    def release(self, keys: Iterable[str]) -> None:
        """Nobody makes these pulls any more."""
        self._waiting = [*(self._waiting or ()), *keys]

    def is_held_elsewhere(self, key: str) -> bool:
        """Whether another holder that lives makes a pull."""
        holder = self._fold.holders[key]
        return holder != self.names.token and not is_gone(holder)
