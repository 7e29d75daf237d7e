"""What the paper states of combinatorial pure exploration but does not plot (Section 4.2).

Theorem 4.2 replaces the H log H of CLUCB by a sum of Delta^-2 log log Delta^-1, so the samples of
clucb over those of lil-clucb should grow like log H as the gaps shrink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bestk.hardness import combinatorial_difficulty
from bestk.paper.panels import SIGMA
from bestk.paper.results import Row
from bestk.paper.run import Point
from bestk.paper.statistics import Estimate
from bestk.paper.verdicts import Claim, Comparison, below, growing
from bestk.simulation import Instance, generate, structured

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
        """The instance with that gap, which is kept where others have their alpha."""
        found = generate(self.text, self.decision, gap, True)
        return replace(structured(found.decision, found.means, name=self.name), alpha=gap)

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


def points(quick: bool) -> list[Point]:
    """Every point, large gaps first; quick leaves the small gaps out."""
    return [
        Point("cpe", f"{each.name} G={gap}", each.make(gap), policy, variant, share)
        for each in STRUCTURES
        for gap, share in list(zip(each.gaps, each.shares, strict=False))[: 3 if quick else None]
        for policy, variant in POLICIES
    ]


class Ratio(NamedTuple):
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
            error = math.hypot(slow.samples.relative, fast.samples.relative)
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
                f"{structure.name} {variant}, H={hardness:.3g}",
                Estimate(value, value * error),
                Estimate(1.0, 0.0),
            )
            for structure in STRUCTURES
            if decisions is None or structure.decision in decisions
            for hardness, value, error in ratios(rows, structure, variant, "e-clucb")
        ]
        if comparisons:
            claims.append(below(name, f"beyond the paper: e-clucb {text}", comparisons, limit))
    return claims


def growth(rows: Sequence[Row]) -> Claim | None:
    """Does the ratio grow with log H?"""
    text = "CPE: samples of clucb over samples of lil-clucb grow with log H (slope of the ratio)"
    series = {
        f"{structure.name} {variant}": [
            (math.log(hardness), value, value * error)
            for hardness, value, error in ratios(rows, structure, variant)
        ]
        for structure in STRUCTURES
        for variant in ("faithful", "heuristic")
    }
    return growing("11", text, series)
