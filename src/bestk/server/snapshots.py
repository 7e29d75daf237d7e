"""What viewers of a study see: computed once for all of them, and only when something happened."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bestk.decisions import TopK
from bestk.report import words
from bestk.report.words import name as printed
from bestk.study.shared import SharedStudy

MANY = 300  # arms; of more only those that changed are sent again
LOOKS = 20  # snapshots over which the pulls a second are counted
POINTS = 200  # of the history that are kept; beyond these every second one is
WORKERS = 50  # named, those with most open pulls first


class Snapshots:
    """The present state of one study as the pages show it, and how it came about."""

    def __init__(self) -> None:
        self.full: dict[str, Any] = {}
        self._looks: deque[tuple[float, int]] = deque(maxlen=LOOKS)
        self._history: list[list[Any]] = []
        self._least = 0  # samples before the history has its next point

    def take(self, study: SharedStudy) -> dict[str, Any]:
        """Look at the study; what changed since the last look, or all of it if there are few arms.

        `full` is all of it.
        """
        before = self.full.get("arms", [])
        self.full = full = self._look(study)
        if len(full["arms"]) <= MANY or len(before) != len(full["arms"]):
            return full
        changed = [arm for arm, was in zip(full["arms"], before, strict=True) if arm != was]
        return {**full, "arms": changed, "arms_full": False}

    def _look(self, study: SharedStudy) -> dict[str, Any]:
        result, decision = study.result, study.problem.decision
        now = time.monotonic()
        self._looks.append((now, result.samples))
        since, samples = self._looks[0]
        statuses = [arm.status for arm in result.arms]
        n_in, n_out = statuses.count("in"), statuses.count("out")
        self._remember([result.samples, result.certifiable_epsilon, n_in, n_out])
        specification = study.specification
        low_high = result.forecast_interval
        forecast = None
        if result.forecast is not None and low_high is not None:
            forecast = {"more": result.forecast, "low": low_high[0], "high": low_high[1]}
        return {
            "name": study.name,
            "headline": words.headline(specification, len(result.arms)),
            "verdict": " ".join(words.so_far(specification, result)),
            "compared": study.problem.rewards.title,
            "cost": result.totals.get("cost") if study.problem.costs is not None else None,
            "k": decision.k if isinstance(decision, TopK) else len(result.top),
            "samples": result.samples,
            "open": study.n_open,
            "stopped": study.is_stopped,
            "certified": result.certified,
            "epsilon": study.problem.epsilon,
            "certifiable_epsilon": result.certifiable_epsilon,
            "delta": study.problem.delta,
            "maximize": study.problem.maximize,
            "top": [printed(label) for label in result.top],
            "proof": result.proof,
            "seconds": result.seconds,
            "rate": (result.samples - samples) / (now - since) if now > since else 0.0,
            "forecast": forecast,
            "failures": sum(arm.failed for arm in result.arms),
            "held": result.held,
            "workers": workers(study)[:WORKERS],
            "remarks": replace(result, held=0).remarks,  # what is held has a place of its own
            "arms": [
                [row, printed(arm.label), arm.mean, arm.low, arm.high, arm.pulls, arm.status]
                for row, arm in enumerate(result.arms)
            ],
            "arms_full": True,
            "history": list(self._history),
        }

    def recall(self, points: Iterable[Sequence[Any]]) -> None:
        """What was before the first look, as the log tells it."""
        first = self._history[0][0] if self._history else math.inf
        earlier = [list(point) for point in points if point[0] < first]
        self._history = earlier + self._history

    def _remember(self, point: list[Any]) -> None:
        if self._history and self._history[-1][0] == point[0]:
            self._history[-1] = point
        elif point[0] >= self._least:
            self._history.append(point)
            if len(self._history) > POINTS:
                self._history = self._history[::2]
            self._least = point[0] + point[0] // POINTS


def workers(study: SharedStudy) -> list[dict[str, Any]]:
    """Who pulls, and how much; pulls of this machine's own processes have no name."""
    held = study.held()
    every = sorted({*held, *study.told}, key=lambda worker: (-held[worker], -study.told[worker]))
    return [
        {
            "name": "this machine" if worker is None else worker.name,
            "open": held[worker],
            "told": study.told[worker],
        }
        for worker in every
    ]
