"""What the paper states of combinatorial pure exploration but does not plot (Section 4.2).

Theorem 4.2 replaces the H log H of CLUCB by a sum of Delta^-2 log log Delta^-1, so the samples of
clucb over those of lil-clucb should grow like log H as the gaps shrink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from bestk.hardness import combinatorial_difficulty
from bestk.paper import statistics as st
from bestk.paper.panels import SIGMA
from bestk.paper.results import ResultsFile, Row
from bestk.paper.run import check_settings, measure
from bestk.paper.statistics import Estimate
from bestk.paper.verdicts import Claim, Comparison, Finding, below, growing
from bestk.simulation import Instance, generate, structured

PANEL = "cpe"
POLICIES: tuple[tuple[str, str | None], ...] = (
    ("lil-clucb", "faithful"),
    ("lil-clucb", "heuristic"),
    ("clucb", None),
    ("e-clucb", None),
)
HALF = 0.5  # of the samples of faithful lil-clucb: what e-clucb set out for
MATROIDS = ("spanning-tree",)  # decisions on which e-clucb compares arms that replace each other
SETS = ("matching", "path")  # and those on which it compares whole sets


@dataclass(frozen=True)
class Structure:
    """A class of instances, and the gaps at which it is run."""

    decision: str
    text: str
    gaps: tuple[float, ...]
    shares: tuple[float, ...] = (1.0,) * 5  # of the runs: fewer where they would take over a minute

    @property
    def name(self) -> str:
        """As in results.csv."""
        return f"{self.decision} {self.text}"

    def make(self, gap: float) -> Instance:
        """The instance with that gap."""
        found = generate(self.text, self.decision, gap, True)
        return structured(found.decision, found.means, name=self.name)

    def hardness(self, gap: float) -> float:
        """H, the sum of Delta_i^-2."""
        instance = self.make(gap)
        return combinatorial_difficulty(instance.decision, instance.values, sigma=SIGMA).H


GAPS = (0.8, 0.4, 0.2, 0.1, 0.05)
STRUCTURES = (
    Structure("spanning-tree", "grid:4x4", GAPS),
    Structure("matching", "bipartite:4x4", GAPS[:4], (1.0, 1.0, 0.25, 0.1)),  # a Python oracle
    Structure("path", "layered:3x3", GAPS),
)


@dataclass(frozen=True)
class Point:
    """One policy on one structure at one gap."""

    structure: Structure
    gap: float
    policy: str
    variant: str | None

    @property
    def key(self) -> tuple[object, ...]:
        """The row it fills."""
        return PANEL, self.structure.name, self.gap, self.policy, self.variant


def points(quick: bool) -> list[Point]:
    """Every point, large gaps first; quick leaves the small gaps out."""
    return [
        Point(structure, gap, policy, variant)
        for structure in STRUCTURES
        for gap in (structure.gaps[:3] if quick else structure.gaps)
        for policy, variant in POLICIES
    ]


def run_points(
    file: ResultsFile,
    wanted: Sequence[Point],
    runs: int,
    jobs: int | None,
    progress: Callable[[Point], None],
    executor: Executor | None = None,
) -> None:
    """Fill the file; in its rows `alpha` is the gap and `k` is empty."""
    for point in wanted:
        share = point.structure.shares[point.structure.gaps.index(point.gap)]
        own = max(2, math.ceil(runs * share))
        if point.key in file.rows:
            check_settings(file, file.rows[point.key], own)
        else:
            file.append(_run(point, own, jobs, executor))
        progress(point)


def _run(point: Point, runs: int, jobs: int | None, executor: Executor | None) -> Row:
    instance = point.structure.make(point.gap)
    row = measure(PANEL, instance, point.policy, point.variant, runs, jobs, executor)
    return replace(row, alpha=point.gap)


@dataclass(frozen=True)
class Ratio:
    """Samples of one policy over samples of another at one H."""

    hardness: float
    value: float
    error: float  # standard error of the log


def ratios(
    rows: Sequence[Row], structure: Structure, variant: str, policy: str = "clucb"
) -> list[Ratio]:
    """A policy without variants over lil-clucb, at every gap that was run, easy first."""
    own = {
        (row.alpha, row.policy, row.variant): row for row in rows if row.instance == structure.name
    }
    found = []
    for gap in structure.gaps:
        slow, fast = own.get((gap, policy, None)), own.get((gap, "lil-clucb", variant))
        if slow is not None and fast is not None:
            error = math.hypot(slow.sem / slow.mean, fast.sem / fast.mean)
            found.append(Ratio(structure.hardness(gap), slow.mean / fast.mean, error))
    return found


def fewer(rows: Sequence[Row]) -> list[Claim]:
    """What e-clucb set out for: half of faithful lil-clucb, and beside the heuristic."""
    claims = []
    for name, text, variant, limit, decisions in (
        ("13-faithful", f"at most {HALF} times faithful lil-clucb", "faithful", HALF, None),
        ("13-heuristic", "below heuristic lil-clucb on matroids", "heuristic", 1.0, MATROIDS),
        ("13-sets", f"at most {HALF} times heuristic lil-clucb elsewhere", "heuristic", HALF, SETS),
    ):
        comparisons = [
            Comparison(
                f"{structure.name} {variant}, H={point.hardness:.3g}",
                Estimate(point.value, point.value * point.error),
                Estimate(1.0, 0.0),
            )
            for structure in STRUCTURES
            if decisions is None or structure.decision in decisions
            for point in ratios(rows, structure, variant, "e-clucb")
        ]
        if comparisons:
            claims.append(below(name, f"beyond the paper: e-clucb {text}", comparisons, limit))
    return claims


def growth(rows: Sequence[Row]) -> Claim | None:
    """Does the ratio grow with log H?"""
    series = {
        f"{structure.name} {variant}": ratios(rows, structure, variant)
        for structure in STRUCTURES
        for variant in ("faithful", "heuristic")
    }
    findings = [
        Finding(
            where,
            st.slope(
                [math.log(point.hardness) for point in found],
                [point.value for point in found],
                [point.value * point.error for point in found],
                comparisons=len(series),
            ),
        )
        for where, found in series.items()
        if len(found) >= 2
    ]
    if not findings:
        return None
    text = "CPE: samples of clucb over samples of lil-clucb grow with log H (slope of the ratio)"
    return growing("11", text, findings)
