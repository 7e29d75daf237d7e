"""What can be read of the studies in a Postgres database; nothing is changed.

Its server looks after its own pages. What is looked at here is whether the logs are what was
written: numbers without a gap, checksums, and as many events as their studies say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from typing import NoReturn

from bestk.addresses import Address
from bestk.errors import StorageError
from bestk.storage.doctor import recover
from bestk.storage.events import Event
from bestk.storage.postgres import PostgresStorage
from bestk.storage.survey import Found, LogCheck


class DatabaseExamination(ExitStack):
    """The studies of a database as far as they can be read: as `doctor.Examination` of a file."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._storage = self.enter_context(closing(PostgresStorage(address, read_only=True)))
        self.path = self._storage.path
        self.notes: list[str] = []
        self.findings: list[str] = []
        self.studies: tuple[Found, ...] = ()
        self.version = self._storage.version
        self.state = "healthy" if self.version is not None else "empty"
        if self.version is None:
            self.findings.append("there are no tables of bestk in it")
            return
        self.studies = tuple(self._scan(name) for name in self._storage.studies())
        if any(found.loss or found.note for found in self.studies):
            self.state = "damaged"

    def _scan(self, name: str) -> Found:
        """Go through a study's events."""
        number, length, rows = self._storage.rows(name)
        check, readable, loss = LogCheck(name, number, True), 0, None
        for row in rows:
            readable += 1
            if loss is None and (objection := check.objection(row)) is not None:
                loss = f"event {check.whole + 1}: {objection}"
        if loss is None and check.whole < length:
            loss = f"the events {check.whole + 1} to {length} at least are missing"
        if not readable and loss is None:
            loss = "no event is there"
        return Found(check.name, number, readable, check.whole, loss, check.note)

    def append(self, study: str, events: Sequence[Event]) -> NoReturn:
        """Nothing is ever added."""
        raise StorageError(
            f"{len(events)} events of {study} were refused: {self.path} is only read"
        )

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, up to its first damage."""
        for found in self.studies:
            if found.name == study:
                _, _, rows = self._storage.rows(study, start)
                yield from (Event._make(row[:6]) for row in islice(rows, found.whole - start))

    def recover(self, out: str | os.PathLike[str]) -> None:
        """Write all that counts to a new file."""
        recover(self, self.studies, out)
