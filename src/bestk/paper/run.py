"""Runs every point of the chosen panels that the results file does not hold yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from bestk.errors import ResultsFileError
from bestk.paper.panels import NU, SIGMA, Panel
from bestk.paper.results import Key, ResultsFile, Row
from bestk.rewards import Gaussian
from bestk.simulation import Instance, simulate

SEED = 1  # arbitrary; one for all, so that policies see the same rewards


@dataclass(frozen=True)
class Point:
    """One policy in one panel at one number of arms."""

    panel: Panel
    arms: int
    policy: str

    @property
    def variant(self) -> str | None:
        """The policy's variant in this panel."""
        return self.panel.variant_of(self.policy)

    @property
    def key(self) -> Key:
        """The row it fills."""
        return self.panel.id, self.arms, self.policy

    @property
    def same_runs(self) -> tuple[object, ...]:
        """Points with equal values are the same simulation (LUCB in a panel and its neighbour)."""
        panel = self.panel
        return panel.instance, panel.alpha, panel.k, self.arms, self.policy, self.variant


def points(panels: Sequence[Panel], arms: Sequence[int]) -> Iterator[Point]:
    """Every point, small instances first, so that a figure takes shape early."""
    for n in arms:
        for panel in panels:
            for policy in panel.policies:
                yield Point(panel, n, policy)


def check_settings(file: ResultsFile, row: Row, runs: int) -> None:
    """Refuse to mix results of different settings."""
    if (row.runs, row.seed) != (runs, SEED):
        raise ResultsFileError(
            f"{file.path} holds results of {row.runs} runs with seed {row.seed}, but {runs}"
            f" runs with seed {SEED} were asked for; it was left as it is: choose another --out"
        )


def run_points(
    file: ResultsFile,
    wanted: Sequence[Point],
    runs: int,
    jobs: int | None,
    progress: Callable[[Point], None],
    executor: Executor | None = None,
) -> None:
    """Fill the file; rows that are there already are kept, and must come from the same settings."""
    for point in wanted:
        if point.key in file.rows:
            check_settings(file, file.rows[point.key], runs)
    done = {point.same_runs: file.rows[point.key] for point in wanted if point.key in file.rows}
    for point in wanted:
        if point.key not in file.rows:
            known = done.get(point.same_runs)
            if known:
                row = replace(known, panel=point.panel.id)
            else:
                row = _run(point, runs, jobs, executor)
            done[point.same_runs] = row
            file.append(row)
        progress(point)


def _run(point: Point, runs: int, jobs: int | None, executor: Executor | None) -> Row:
    instance = point.panel.make(point.arms)
    return measure(point.panel.id, instance, point.policy, point.variant, runs, jobs, executor)


def measure(
    panel: str,
    instance: Instance,
    policy: str,
    variant: str | None,
    runs: int,
    jobs: int | None,
    executor: Executor | None = None,
) -> Row:
    """Simulate a policy with the paper's nu and sigma, as a row of results.csv."""
    result = simulate(
        instance,
        policy,
        variant,
        delta=NU,
        rewards=Gaussian(SIGMA),
        runs=runs,
        seed=SEED,
        jobs=jobs,
        executor=executor,
    )
    return Row(
        panel=panel,
        instance=instance.name,
        alpha=instance.alpha,
        arms=instance.decision.n_arms,
        k=instance.k,
        policy=policy,
        variant=variant,
        mean=result.mean,
        sem=result.sem,
        runs=runs,
        wrong=result.wrong,
        unfinished=result.unfinished,
        seed=SEED,
    )
