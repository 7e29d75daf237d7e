"""The studies of a storage, opened when they are first asked for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bestk.errors import BestkError, InputError
from bestk.rewards import Bernoulli, Ratings, Rewards
from bestk.server.desk import Desk
from bestk.server.limits import Limits
from bestk.server.records import ITEMS, PAGES, SETTINGS, Record
from bestk.storage import Storage
from bestk.storage.names import names_of_studies
from bestk.study import Study
from bestk.study.journal import Journal
from bestk.study.shared import SharedStudy
from bestk.study.specification import Specification


class NoSuchStudy(BestkError):
    """There is no study of that name."""


class Catalogue:
    """Every open study once, and how people see it."""

    def __init__(self, storage: Any, limits: Limits) -> None:
        self.storage: Storage = storage
        self._listing = storage
        self.limits = limits
        self.desks: dict[str, Desk] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._pages = Record(storage, PAGES)
        self._settings: dict[str, dict[str, Any]] = {}
        self._items: dict[str, list[Any]] = {}

    def names(self) -> list[str]:
        """Of all studies, oldest first."""
        return names_of_studies(self._listing)

    async def desk(self, name: str) -> Desk:
        """That of a study, which is opened if need be."""
        found = self.desks.get(name)
        if found is not None:
            return found
        if name not in self.names():
            raise NoSuchStudy(f"there is no study called {name!r}")
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name not in self.desks:
                study = await asyncio.to_thread(self._open, name)
                self.desks[name] = Desk(study, lambda: self._open(name))
        return self.desks[name]

    def _open(self, name: str) -> SharedStudy:
        return SharedStudy(
            name, storage=self.storage, patience=self.limits.lease, most=self.limits.open_pulls
        )

    def begin(self, name: str, settings: dict[str, Any]) -> None:
        """Begin a study, or find that it was begun with these settings."""
        Study(name, storage=self.storage, **settings)

    def begin_with(self, name: str, specification: Specification) -> None:
        """Begin a study as it is specified, or find that it was begun so."""
        specification.configure(len(specification.labels))  # refuses what cannot run
        journal = Journal(name, self.storage, "process")
        begun = journal.begun() or journal.begin(specification)
        was, wanted = (json.loads(each.to_json()) for each in (begun, specification))
        if was != wanted:
            differing = ", ".join(sorted(key for key in wanted if was.get(key) != wanted[key]))
            raise InputError(
                f"the study {name!r} was refused: there is one of that name, begun with other"
                f" {differing}; give yours another name, or the same settings"
            )

    # --- how people see a study -------------------------------------------------------------------

    def _read(self) -> None:
        for kind, name, data in self._pages.news():
            if kind == SETTINGS:
                self._settings[name] = data
            elif kind == ITEMS:
                self._items[name] = data

    def page(self, name: str) -> dict[str, Any]:
        """What was said of the page of a study."""
        self._read()
        return self._settings.get(name, {})

    def levels(self, name: str, rewards: Rewards) -> list[dict[str, Any]]:
        """What people rate by: what was said, or else those of the rewards; none if measured."""
        said = self.page(name)
        if said.get("levels"):
            return list(said["levels"])
        if isinstance(rewards, Bernoulli):
            return [{"value": 0.0, "label": "no"}, {"value": 1.0, "label": "yes"}]
        values: tuple[float, ...] = (0.0, 1.0) if said else ()
        if isinstance(rewards, Ratings):
            values = tuple(rewards.levels)
        return [{"value": each, "label": f"{each:g}"} for each in values]

    def say(self, name: str, settings: dict[str, Any]) -> None:
        """How a study's page shall look."""
        self._pages.write(SETTINGS, name, settings)

    def items(self, name: str) -> list[Any] | None:
        """The items of an evaluation that was begun here; others are known to the workers alone."""
        self._read()
        return self._items.get(name)

    def keep_items(self, name: str, items: list[Any]) -> None:
        """What the items of a study are."""
        self._pages.write(ITEMS, name, items)
