"""The whole reproduction: every point that was asked for, and a verdict on every claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bestk.errors import InputError
from bestk.paper import claims, cpe, run
from bestk.paper.added import Added, add_policies, added
from bestk.paper.further_claims import FURTHER
from bestk.paper.panels import FULL_ARMS, QUICK_ARMS, Panel, choose
from bestk.paper.results import ResultsFile, Row, Rows
from bestk.paper.run import Lab
from bestk.paper.verdicts import Claim

FULL_RUNS, QUICK_RUNS = 200, 20

# a title and how many there are, as long as it lasts: called with how many more, and what is done
Progress = Callable[[str, int], AbstractContextManager[Callable[[int, str], None]]]


@dataclass(frozen=True)
class Reproduction:
    """What was found."""

    rows: Rows
    cpe_rows: list[Row]
    claims: list[Claim]
    command: str  # that does it again
    added: list[Added]  # policies that the paper does not have


@dataclass(frozen=True)
class Experiment:
    """What is to be run; `choose_experiment` makes it."""

    panels: tuple[Panel, ...]
    with_cpe: bool
    quick: bool
    runs: int  # per point
    names: str | None  # of the panels, as they were given; None: all of the paper's
    policies: tuple[str, ...] = ()  # added to the panels

    @property
    def command(self) -> str:
        """The command line that runs it."""
        named = f" --panels {self.names}" if self.names else ""
        more = "".join(f" --policy {name}" for name in self.policies)
        return f"bestk reproduce{' --quick' * self.quick}{named} --runs {self.runs}{more}"

    def run(
        self, file: ResultsFile, jobs: int | None, executor: Executor | None, progress: Progress
    ) -> Reproduction:
        """Run what the file does not hold yet, then test the claims."""
        arms = QUICK_ARMS if self.quick else FULL_ARMS
        points = run.points(add_policies(self.panels, self.policies), arms)
        cpe_points = cpe.points(self.quick) if self.with_cpe else []
        lab, further = Lab(self.runs, jobs, executor), []
        with progress("reproducing", len(points) + len(cpe_points)) as advance:
            for point in run.run_points(file, points + cpe_points, lab):
                advance(1, f"{point.label} {point.policy}")
        if self.names is None:
            with progress("testing claims", len(FURTHER)) as advance:
                for test in FURTHER:
                    further.append(test(lab))
                    advance(1, "testing claims")
        rows = {point.key: file.rows[point.key] for point in points}
        cpe_rows = [file.rows[point.key] for point in cpe_points]
        own = {point.key: rows[point.key] for point in run.points(self.panels, arms)}
        found = [*claims.from_panels(own), *further, *cpe.fewer(cpe_rows)]
        if (growth := cpe.growth(cpe_rows)) is not None:
            found.append(growth)
        found.sort(key=lambda claim: (int(claim.id.split("-")[0]), claim.id))
        more = added(rows, self.policies, self.panels)
        return Reproduction(rows, cpe_rows, found, self.command, more)


def choose_experiment(
    names: str | None, quick: bool, runs: int | None, policies: Sequence[str] = ()
) -> Experiment:
    """The panels of these names and so many runs, or the usual ones where None is given.

    `policies` are added to the panels of Figures 1 and 2.
    """
    if runs is None:
        runs = QUICK_RUNS if quick else FULL_RUNS
    if runs < 2:
        raise InputError(f"runs={runs} was refused: an interval needs at least 2")
    panels, with_cpe = choose(names)
    add_policies(panels, policies)  # refuses what does not fit before anything is run
    return Experiment(panels, with_cpe, quick, runs, names, tuple(policies))
