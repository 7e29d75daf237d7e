"""What a study can tell beside its result: scores, sums, and what more pulls would bring."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from bestk.problem import Problem
from bestk.storage import events as ev
from bestk.study import extras, notebook
from bestk.study.fold import Fold
from bestk.study.forecast import is_foreseeable, slack_for
from bestk.study.journal import Journal
from bestk.study.result import Result, Stopped, printed
from bestk.study.specification import Specification
from bestk.study.summary import summarise, totals


class Figures:
    """The part of a study that only reads."""

    name: str
    problem: Problem
    specification: Specification
    _fold: Fold
    _journal: Journal
    _lock: threading.RLock

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """The arms that compete."""
        return tuple(self._fold.labels)

    @property
    def retries_pulls(self) -> bool:
        """Whether a pull that failed stays open, to be tried again: in studies of version 0.1."""
        return self.specification.order == "told"

    @property
    def is_stopped(self) -> bool:
        """Whether the rule has ended the study."""
        return self._fold.stopped is not None

    @property
    def stopped_at(self) -> int:
        """How many events the log had when the rule ended the study; 0 while it goes on."""
        return self._fold.stopped_at if self.is_stopped else 0

    @property
    def samples(self) -> int:
        """Observations so far."""
        return self._fold.told

    @property
    def seconds(self) -> float:
        """From the beginning of the study to the last that happened in it, without compiling."""
        return max(0.0, self._fold.last - self._fold.first - self._fold.waited)

    @property
    def scored(self) -> list[tuple[int, int, float]]:
        """Of an evaluation: arm, position of the item and score, in the order of counting."""
        with self._lock:
            fold, numbers = self._fold, Counter[int]()
            found = []
            for arm, score in fold.scored:
                assert fold.orders is not None
                found.append((arm, fold.orders.item(arm, numbers[arm]), score))
                numbers[arm] += 1
            return found

    def beside(self) -> Iterator[tuple[int, int, Any]]:
        """Of an evaluation: arm, position of the item and what was returned beside the score."""
        fold = self._fold
        if fold.extras.kept:
            arms: dict[str, int] = {}
            for kind, key, arm, _, data, _ in self._journal.storage.read(self.name):
                if kind == ev.ASKED:
                    arms.setdefault(key, arm)
                elif kind == ev.TOLD and data and key in fold.positions:
                    yield arms[key], fold.positions[key], extras.read(data)

    @property
    def forecasts(self) -> bool:
        """Whether results come with a forecast: for the K best, once every arm was observed.

        When a policy in Python stops is its own affair, and evidence on quantiles of few values
        comes in jumps.
        """
        is_ours = self.problem.judge is None and self._fold.machine.is_whole
        return is_ours and is_foreseeable(self._fold.state, self.problem)

    def slack_for(self, more: int) -> float | None:
        """An estimate of the least epsilon that would be certified after so many more pulls."""
        with self._lock:
            return slack_for(self._fold, more)

    @property
    def totals(self) -> dict[str, float]:
        """Sums of the numbers that answers carried beside their rewards, by name; see `costs`."""
        with self._lock:
            return totals(self._fold)

    @property
    def result(self) -> Result:
        """The answer so far, how far it is proved, and every arm's interval."""
        with self._lock:
            self._journal.sync()
            return self.summary(None)

    def _repr_html_(self) -> str:
        result = self.result
        pulls = f"{result.samples:,} samples, {len(self._fold.open):,} open pulls"
        return notebook.html(result, f"study {printed(self.name)}: {pulls}, {result.proof}")

    def summary(self, ended: Stopped | None) -> Result:
        """The result, with the reason why sampling ended if it was not the rule."""
        with self._lock:
            return summarise(self.name, self._fold, self.seconds, ended)
