"""The claims of the paper's text (Section 5) that its panels can test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bestk.paper import statistics as st
from bestk.paper.panels import PANELS, Panel
from bestk.paper.results import Row, Rows
from bestk.paper.statistics import Estimate
from bestk.paper.verdicts import Claim, Comparison, Finding, below, growing, within

RAND = "lil-rand-lucb"
OTHERS = ("lucb", "lil-lucb", "lucb++", "lil-clucb", "lil-ucb")
OURS = "e-lucb"
FEWER = 0.45  # of the samples of faithful lil-rand-lucb: what e-lucb set out for
LEVEL_WITH = 0.05  # "level with": within 5%
FAR = 1.5  # "far below": by a factor of 1.5 or more


def _panels(accept: Callable[[Panel], bool]) -> list[str]:
    return [panel.id for panel in PANELS if accept(panel)]


SMALL_K = _panels(lambda p: p.k == "2")
HALF = _panels(lambda p: p.k == "N/2")
ALPHA_06 = _panels(lambda p: p.alpha == 0.6)
OTHER_SINGLE = _panels(lambda p: p.k == "1" and p.alpha != 0.6)
FAITHFUL = _panels(lambda p: p.variant == "faithful")
HEURISTIC = _panels(lambda p: p.variant == "heuristic")
HEURISTIC_06 = _panels(lambda p: p.alpha == 0.6 and p.variant == "heuristic")


def _series(rows: Rows, panel: str, own: str, rival: str) -> list[tuple[Row, Row]]:
    """(own, rival) at every number of arms at which both were run, in ascending order."""
    arms = sorted(row.arms for row in rows.values() if (row.panel, row.policy) == (panel, rival))
    pairs = [(rows.get((panel, n, own)), rows[panel, n, rival]) for n in arms]
    return [(first, second) for first, second in pairs if first is not None]


def _compare(
    rows: Rows, panels: Sequence[str], rivals: Sequence[str], own: str = RAND
) -> list[Comparison]:
    """`own` against each rival, a panel at a time: geometric means over the numbers of arms."""
    found = []
    for panel in panels:
        for rival in rivals:
            series = _series(rows, panel, own, rival)
            if series:
                ends = [f"{a.mean / b.mean:.2f} at N={a.arms}" for a, b in series]
                first, second = (
                    st.geometric_mean([Estimate(row.mean, row.sem) for row in side])
                    for side in zip(*series, strict=True)
                )
                where = f"{panel} {own}/{rival} ({ends[0]}, {ends[-1]})"
                found.append(Comparison(where, first, second))
    return found


def _grows(rows: Rows) -> Claim | None:
    """Claim 1, second half, as slopes of log(rival / lil-rand-lucb) on log N."""
    series = {
        f"{panel} {rival}": _series(rows, panel, RAND, rival)
        for panel in SMALL_K
        for rival in OTHERS
    }
    series = {where: pairs for where, pairs in series.items() if len(pairs) >= 2}
    if not series:
        return None
    findings = []
    for where, pairs in series.items():
        fit = st.slope(
            [math.log(own.arms) for own, _ in pairs],
            [math.log(rival.mean / own.mean) for own, rival in pairs],
            [math.hypot(rival.sem / rival.mean, own.sem / own.mean) for own, rival in pairs],
            comparisons=len(series),
        )
        findings.append(Finding(where, fit))
    text = "K=2: the factor by which lil-rand-lucb is below the other four grows with N"
    return growing("1-grows", text, findings)


def _no_wrong(rows: Rows) -> Claim | None:
    chosen = [row for row in rows.values() if row.variant == "heuristic"]
    if not chosen:
        return None
    runs, wrong = sum(row.runs for row in chosen), sum(row.wrong for row in chosen)
    unfinished = sum(row.unfinished for row in chosen)
    interval = st.proportion(wrong, runs)
    return Claim(
        "6",
        "no wrong answer in any heuristic run",
        interval.value,
        (interval.low, interval.high),
        wrong + unfinished == 0,
        f"{wrong} wrong and {unfinished} unfinished of {runs} heuristic runs",
    )


def from_panels(rows: Rows) -> list[Claim]:
    """Every claim whose panels were run."""
    slow = ("lucb", "lil-clucb")
    ratio_claims: tuple[tuple[str, str, list[Comparison], Callable[..., Claim]], ...] = (
        (
            "1-below",
            "K=2: lil-rand-lucb below the other four in every panel",
            _compare(rows, SMALL_K, OTHERS),
            below,
        ),
        (
            "2-below",
            "K=N/2: lil-rand-lucb below lucb and lil-clucb",
            _compare(rows, HALF, slow),
            below,
        ),
        (
            "2-level",
            f"K=N/2: lil-rand-lucb level with lucb++ (within {LEVEL_WITH:.0%})",
            _compare(rows, HALF, ("lucb++",)),
            _level,
        ),
        (
            "4-below",
            "K=1: lil-rand-lucb below all others on 1-sparse and alpha 0.3",
            _compare(rows, OTHER_SINGLE, OTHERS),
            below,
        ),
        (
            "4-level",
            f"K=1, alpha 0.6: lil-rand-lucb level with lucb++ (within {LEVEL_WITH:.0%})",
            _compare(rows, ALPHA_06, ("lucb++",)),
            _level,
        ),
        (
            "10-far",
            f"alpha 0.6: lil-rand-lucb and lucb++ below lucb and lil-clucb by a factor of {FAR}",
            _compare(rows, ALPHA_06, slow) + _compare(rows, ALPHA_06, slow, "lucb++"),
            _far_below,
        ),
        (
            "10-lil-lucb",
            "alpha 0.6: lil-rand-lucb and lucb++ below heuristic lil-lucb",
            _compare(rows, HEURISTIC_06, ("lil-lucb",))
            + _compare(rows, HEURISTIC_06, ("lil-lucb",), "lucb++"),
            below,
        ),
        (
            "12-heuristic",
            "beyond the paper: e-lucb, proved, below heuristic lil-rand-lucb in every panel",
            _compare(rows, HEURISTIC, (RAND,), OURS),
            below,
        ),
        (
            "12-faithful",
            f"beyond the paper: e-lucb at most {FEWER} times faithful lil-rand-lucb",
            _compare(rows, FAITHFUL, (RAND,), OURS),
            _fewer,
        ),
    )
    claims = [verdict(name, text, c) for name, text, c, verdict in ratio_claims if c]
    claims += [claim for claim in (_grows(rows), _no_wrong(rows)) if claim is not None]
    return claims


def _level(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    return within(name, text, comparisons, 1.0 - LEVEL_WITH, 1.0 + LEVEL_WITH)


def _fewer(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    return below(name, text, comparisons, FEWER)


def _far_below(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    return below(name, text, comparisons, 1.0 / FAR)
