"""Runs every point that the results file does not hold yet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from bestk.errors import ResultsFileError
from bestk.paper.panels import NU, SIGMA, Panel
from bestk.paper.results import Begins, Key, ResultsFile, Row, key_of
from bestk.rewards import Gaussian
from bestk.simulation import Instance, SimulationResult, simulate

SEED = 1  # arbitrary; one for all, so that policies see the same rewards


@dataclass(frozen=True)
class Lab:
    """How much is run, and where."""

    runs: int
    jobs: int | None
    executor: Executor | None = None

    def run(
        self, instance: Instance, policy: str, variant: str | None, **params: Any
    ) -> SimulationResult:
        """A policy on an instance, with the paper's nu and sigma."""
        return simulate(
            instance, policy, variant, delta=NU, rewards=Gaussian(SIGMA), params=params,
            runs=self.runs, seed=SEED, jobs=self.jobs, executor=self.executor,
        )  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One policy on one instance of one panel."""

    panel: str
    label: str  # of the instance, while it is run
    instance: Instance
    policy: str
    variant: str | None
    share: float = 1.0  # of the runs: fewer where they would take over a minute

    @property
    def begins(self) -> Begins:
        """How its row begins."""
        made = self.instance
        arms, k = made.decision.n_arms, made.k
        return self.panel, made.name, made.alpha, arms, k, self.policy, self.variant

    @property
    def key(self) -> Key:
        """The row it fills."""
        return key_of(self.begins)

    def run(self, lab: Lab) -> Row:
        """Run it."""
        found = lab.run(self.instance, self.policy, self.variant)
        results = found.mean, found.sem, found.runs, found.wrong, found.unfinished, found.seed
        return Row(*self.begins, *results)


def points(panels: Sequence[Panel], arms: Sequence[int]) -> list[Point]:
    """Every point of the paper's panels, small instances first, so that a figure takes shape."""
    return [
        Point(panel.id, f"{panel.id} N={n}", instance, policy, panel.variant_of(policy))
        for n in arms
        for panel, instance in [(panel, panel.make(n)) for panel in panels]
        for policy in panel.policies
    ]


def run_points(file: ResultsFile, wanted: Sequence[Point], lab: Lab) -> Iterator[Point]:
    """Fill the file, a point at a time; rows that are there must come from the same settings."""
    labs = [replace(lab, runs=max(2, math.ceil(lab.runs * point.share))) for point in wanted]
    done = {}
    for point, own in zip(wanted, labs, strict=True):
        row = file.rows.get(point.key)
        if row is not None and (row.runs, row.seed) != (own.runs, SEED):
            raise ResultsFileError(
                f"{file.path} holds results of {row.runs} runs with seed {row.seed}, but {own.runs}"
                f" runs with seed {SEED} were asked for; it was left as it is: choose another --out"
            )
        if row is not None:
            done[point.begins[1:]] = row
    for point, own in zip(wanted, labs, strict=True):
        if point.key not in file.rows:
            known = done.get(point.begins[1:])  # LUCB in a panel and its neighbour, for instance
            row = point.run(own) if known is None else replace(known, panel=point.panel)
            done[point.begins[1:]] = row
            file.append(row)
        yield point
