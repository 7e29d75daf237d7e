"""A study's log as one process sees it: append first, then fold; and fold what others append."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice

from bestk.arguments import require
from bestk.errors import InputError
from bestk.storage import ColumnStorage, CountingStorage, ExclusiveStorage, MemoryStorage, Storage
from bestk.storage import events as ev
from bestk.storage.addresses import open_storage
from bestk.storage.events import Event
from bestk.storage.names import PREFIX, is_reserved
from bestk.study import answered
from bestk.study.fold import Fold
from bestk.study.foreign import new_fold
from bestk.study.specification import Specification

STRETCH = 1000  # events folded one by one before plain ones are looked for


class Journal:
    """The log of one study, in a file, a storage of the user's, or the memory of this process."""

    def __init__(
        self, name: str, storage: Storage | str | os.PathLike[str] | None, durability: str
    ) -> None:
        if is_reserved(name):
            raise InputError(
                f"name={name!r} was refused: names that begin with {PREFIX} are reserved"
            )
        self.name = name
        self.is_private = storage is None  # nobody else can append
        if storage is None:
            storage = MemoryStorage()
        elif isinstance(storage, str | os.PathLike):
            storage = open_storage(storage, durability=durability)
        require(storage, ("append", "read"), "storage", "an address, a Storage, or None")
        self.storage: Storage = storage
        self._counting = storage if isinstance(storage, CountingStorage) else None
        self._gathered: list[Event] | None = None  # what is written together, at the end
        self.is_ahead = False  # what is known was never written: the study must be opened again

    def begun(self) -> Specification | None:
        """What the study was begun with; None if it is yet to be begun."""
        first = next(iter(islice(self.storage.read(self.name), 1)), None)
        return None if first is None else Specification.from_json(first.data)

    def begin(self, specification: Specification) -> Specification:
        """Begin the study, and say with what: another process may have been quicker."""
        text = "" if self.is_private else specification.to_json()
        self.storage.append(self.name, [Event(ev.CREATED, data=text, at=time.time())])
        return specification if self.is_private else self.begun() or specification

    def open(self, specification: Specification) -> Fold:
        """The state of the study, which `sync` and `append` carry on."""
        self._fold = fold = new_fold(specification)
        if not isinstance(self.storage, ColumnStorage):
            fold.apply(self.storage.read(self.name))
            return fold
        while True:  # plain stretches, and what is between them
            seen = fold.seen
            fold.apply(self.storage.read(self.name, seen), STRETCH)
            if fold.seen < seen + STRETCH:
                return fold
            for found in self.storage.columns(self.name, fold.seen):
                if not answered.apply_columns(fold, found):
                    break

    def sync(self) -> None:
        """Fold what others have appended."""
        if not self.is_private and self._gathered is None:
            self._fold.apply(self.storage.read(self.name, self._fold.seen))

    def log(self, kind: int, key: str = "", arm: int = -1, data: str = "") -> None:
        """Append what happens now."""
        self.append(Event(kind, key, arm, 0.0, data, time.time()))

    def append(self, event: Event) -> None:
        """Write first, then believe: after a crash the log knows at least as much as anyone."""
        if self._gathered is not None:
            self._gathered.append(event)
            self._fold.apply((event,))
            return
        self.storage.append(self.name, (event,))
        self.believe((event,))

    def write(self, events: Sequence[Event]) -> None:
        """Only write; `believe` comes next."""
        if self._gathered is not None:
            self._gathered.extend(events)
        elif events:
            self.storage.append(self.name, events)

    def believe(self, events: Sequence[Event]) -> None:
        """Fold what was written, and what others wrote before it."""
        counting, last = self._counting, self._fold.seen + len(events)
        is_next = self.is_private or self._gathered is not None
        if is_next or (counting is not None and counting.appended(self.name) == last):
            self._fold.apply(events)  # right after what is known: they need not be read back
        elif events:
            self.sync()

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else appends meanwhile; a storage need not have it."""
        if self.is_private or not isinstance(self.storage, ExclusiveStorage):
            return nullcontext()
        if self._gathered is not None:  # nobody does, within `together`
            return nullcontext()
        return self.storage.alone()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is appended meanwhile is written at the end, all or none, in one transaction.

        Nobody may be told of it before: where it cannot be written, this object knows more than the
        log (`is_ahead`) and must not be used any more. A storage that cannot keep others out gets
        every event by itself, as always.
        """
        if not isinstance(self.storage, ExclusiveStorage):
            yield
            return
        gathered: list[Event] = []
        try:
            with self.storage.alone():
                self.sync()
                self._gathered = gathered
                try:
                    yield
                finally:
                    self._gathered = None
                self.write(gathered)
        except BaseException:
            self.is_ahead = self.is_ahead or bool(gathered)
            raise
