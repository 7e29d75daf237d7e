"""The claims of the paper's text (Section 5) that its panels can test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from bestk.paper import statistics as st
from bestk.paper.panels import OURS, PANELS, Panel
from bestk.paper.results import Row, Rows
from bestk.paper.verdicts import Claim, Comparison, below, growing, within

RAND = "lil-rand-lucb"
OTHERS = ("lucb", "lil-lucb", "lucb++", "lil-clucb", "lil-ucb")
SLOW = ("lucb", "lil-clucb")
FEWER = 0.45  # of the samples of faithful lil-rand-lucb: what e-lucb set out for
LEVEL_WITH = 0.05  # "level with": within 5%
FAR = 1.5  # "far below": by a factor of 1.5 or more


class About(NamedTuple):
    """A claim on ratios of samples: `owns` over `rivals` in the chosen panels."""

    id: str
    text: str
    panels: Callable[[Panel], bool]
    rivals: Sequence[str]
    owns: Sequence[str] = (RAND,)
    verdict: Callable[[str, str, Sequence[Comparison]], Claim] = below


_LEVEL = partial(within, low=1.0 - LEVEL_WITH, high=1.0 + LEVEL_WITH)
_BOTH = (RAND, "lucb++")
RATIOS = (
    About(
        "1-below",
        "K=2: lil-rand-lucb below the other four in every panel",
        lambda p: p.k == "2",
        OTHERS,
    ),
    About("2-below", "K=N/2: lil-rand-lucb below lucb and lil-clucb", lambda p: p.k == "N/2", SLOW),
    About(
        "2-level",
        f"K=N/2: lil-rand-lucb level with lucb++ (within {LEVEL_WITH:.0%})",
        lambda p: p.k == "N/2",
        ("lucb++",),
        verdict=_LEVEL,
    ),
    About(
        "4-below",
        "K=1: lil-rand-lucb below all others on 1-sparse and alpha 0.3",
        lambda p: p.k == "1" and p.alpha != 0.6,
        OTHERS,
    ),
    About(
        "4-level",
        f"K=1, alpha 0.6: lil-rand-lucb level with lucb++ (within {LEVEL_WITH:.0%})",
        lambda p: p.alpha == 0.6,
        ("lucb++",),
        verdict=_LEVEL,
    ),
    About(
        "10-far",
        f"alpha 0.6: lil-rand-lucb and lucb++ below lucb and lil-clucb by a factor of {FAR}",
        lambda p: p.alpha == 0.6,
        SLOW,
        _BOTH,
        partial(below, limit=1.0 / FAR),
    ),
    About(
        "10-lil-lucb",
        "alpha 0.6: lil-rand-lucb and lucb++ below heuristic lil-lucb",
        lambda p: p.alpha == 0.6 and p.variant == "heuristic",
        ("lil-lucb",),
        _BOTH,
    ),
    About(
        "12-heuristic",
        "beyond the paper: e-lucb, proved, below heuristic lil-rand-lucb in every panel",
        lambda p: p.variant == "heuristic",
        (RAND,),
        (OURS,),
    ),
    About(
        "12-faithful",
        f"beyond the paper: e-lucb at most {FEWER} times faithful lil-rand-lucb",
        lambda p: p.variant == "faithful",
        (RAND,),
        (OURS,),
        partial(below, limit=FEWER),
    ),
)


def _series(rows: Rows, panel: str, own: str, rival: str) -> list[tuple[Row, Row]]:
    """(own, rival) at every number of arms at which both were run, in ascending order."""
    arms = sorted(row.arms for row in rows.values() if (row.panel, row.policy) == (panel, rival))
    pairs = [(rows.get((panel, n, own)), rows[panel, n, rival]) for n in arms]
    return [(first, second) for first, second in pairs if first is not None]


def _compare(rows: Rows, about: About) -> list[Comparison]:
    """A panel and a rival at a time: geometric means over the numbers of arms."""
    found = []
    for own in about.owns:
        for panel in filter(about.panels, PANELS):
            for rival in about.rivals:
                if series := _series(rows, panel.id, own, rival):
                    ends = [f"{a.mean / b.mean:.2f} at N={a.arms}" for a, b in series]
                    where = f"{panel.id} {own}/{rival} ({ends[0]}, {ends[-1]})"
                    sides = zip(*series, strict=True)
                    means = (st.geometric_mean([row.samples for row in side]) for side in sides)
                    found.append(Comparison(where, *means))
    return found


def _grows(rows: Rows) -> Claim | None:
    """Claim 1, second half, as slopes of log(rival / lil-rand-lucb) on log N."""
    series = {
        f"{panel.id} {rival}": [
            (
                math.log(own.arms),
                math.log(other.mean / own.mean),
                math.hypot(other.samples.relative, own.samples.relative),
            )
            for own, other in _series(rows, panel.id, RAND, rival)
        ]
        for panel in PANELS
        if panel.k == "2"
        for rival in OTHERS
    }
    text = "K=2: the factor by which lil-rand-lucb is below the other four grows with N"
    return growing("1-grows", text, series)


def _no_wrong(rows: Rows) -> Claim | None:
    chosen = [row for row in rows.values() if row.variant == "heuristic"]
    if not chosen:
        return None
    runs, wrong = sum(row.runs for row in chosen), sum(row.wrong for row in chosen)
    unfinished = sum(row.unfinished for row in chosen)
    detail = f"{wrong} wrong and {unfinished} unfinished of {runs} heuristic runs"
    text, found = "no wrong answer in any heuristic run", st.proportion(wrong, runs)
    return Claim.about("6", text, found, wrong + unfinished == 0, detail)


def from_panels(rows: Rows) -> list[Claim]:
    """Every claim whose panels were run."""
    compared = ((about, _compare(rows, about)) for about in RATIOS)
    claims = [about.verdict(about.id, about.text, found) for about, found in compared if found]
    return claims + [claim for claim in (_grows(rows), _no_wrong(rows)) if claim is not None]
