"""The certificate's numbers beside those recomputed, and whether the claim follows from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestk.study.verification.claims import ROUNDS, Claim
from bestk.study.verification.classes import Decision
from bestk.study.verification.history import History
from bestk.study.verification.log import Row
from bestk.study.verification.reading import PULLS
from bestk.study.verification.report import Report, some
from bestk.study.verification.rules import Present, Verdict, is_best, judge
from bestk.study.verification.statistics import Statistics

Certificate = Mapping[str, Any]

EXACT = 1e-9  # of sums and levels: what the order of additions may change
INVERTED = 1e-6  # of bounds, which are found by searching


def _close(given: Any, own: float, size: float, tolerance: float) -> bool:
    """Whether two numbers agree; None stands for what is infinite or unknown."""
    if given is None or not np.isfinite(own):
        return given is None and not np.isfinite(own)
    return bool(abs(given - own) <= tolerance * size)


def check_guarantee(certificate: Certificate, claim: Claim, report: Report) -> None:
    """What is claimed, and how the error is spread."""
    report.add(
        "guarantee",
        certificate["error_bound"] == claim.nu and certificate["theorem"] == claim.theorem,
        f"error probability at most {claim.nu:g} by {claim.theorem}",
    )
    given, own = certificate["levels"], claim.levels
    if given is None or own is None:
        report.add("levels", given == own, "none: bounds depend on time" if own is None else "some")
        return
    agree = given.keys() == own.keys() and all(
        _close(given[name], value, value, EXACT) for name, value in own.items()
    )
    report.add("levels", agree, ", ".join(f"{name} {value:.4g}" for name, value in own.items()))


def check_samples(certificate: Certificate, statistics: Statistics, report: Report) -> None:
    """Observations in all, whether they fit the assumption, and the round of lucb."""
    samples, misfits = int(statistics.counts.sum()), statistics.misfits()
    report.add("samples", certificate["samples"] == samples, f"{samples} observations count")
    family = statistics.rewards["family"]
    fit = f"all are what {family} rewards can be"
    report.add("rewards", misfits == 0, f"{misfits} are no {family} rewards" if misfits else fit)
    round_ = statistics.round if statistics.claim.bounds == ROUNDS else None
    if certificate["round"] is not None or round_ is not None:
        report.add("round", certificate["round"] == round_, f"round {round_} of the policy")


def check_arms(certificate: Certificate, statistics: Statistics, report: Report) -> None:
    """Every number of every arm."""
    wrong: dict[str, list[Any]] = {"statistics": [], "lost pulls": [], "bounds": []}
    lost = {**statistics.history.lost, "open": statistics.history.open}
    for i, arm in enumerate(certificate["arms"]):
        if not _same_statistics(arm, statistics, i):
            wrong["statistics"].append(arm["label"])
        if any(arm[what] != lost[what][i] for what in PULLS):
            wrong["lost pulls"].append(arm["label"])
        if not _same_bounds(arm, statistics, i):
            wrong["bounds"].append(arm["label"])
    total = sum(map(sum, lost.values()))
    fine = dict.fromkeys(wrong, "as recomputed")
    fine["lost pulls"] = f"{total} times a pull had brought no observation by the stop"
    for name, labels in wrong.items():
        report.add(name, not labels, f"wrong: {some(labels)}" if labels else fine[name])


def _same_statistics(arm: Mapping[str, Any], statistics: Statistics, i: int) -> bool:
    n, size = int(statistics.counts[i]), float(statistics.sizes[i])
    sign, levels = statistics.claim.sign, None
    seen = mean = np.nan
    if n:
        mean, size = float(statistics.sums[i]) / n, size / n
        if statistics.competes(i):
            seen = sign * float(statistics.means[i])
            if statistics.levels is not None:
                levels = statistics.levels[i][:: int(sign)].tolist()
    return (
        arm["pulls"] == n
        and _close(arm["sum"], float(statistics.sums[i]), float(statistics.sizes[i]), EXACT)
        and _close(arm["mean"], mean, size, EXACT)
        and _close(arm["seen_mean"], seen, size + abs(seen), EXACT)
        and bool(arm["levels"] == levels)
    )


def _same_bounds(arm: Mapping[str, Any], statistics: Statistics, i: int) -> bool:
    """An arm without samples, or one that was withdrawn, has no interval."""
    if not (statistics.competes(i) and statistics.counts[i]):
        return arm["low"] is None and arm["high"] is None
    sign = statistics.claim.sign
    ends = sorted((sign * float(statistics.lower[i]), sign * float(statistics.upper[i])))
    size = abs(float(statistics.means[i])) + max(map(abs, ends))
    return all(
        _close(arm[name], end, size, INVERTED)
        for name, end in zip(("low", "high"), ends, strict=True)
    )


# --- the stop -------------------------------------------------------------------------------------


def check_stop(
    certificate: Certificate,
    decision: Decision,
    statistics: Statistics,
    stop: Row,
    report: Report,
) -> None:
    """The answer, and that the rule's condition is met for it."""
    history, claim = statistics.history, statistics.claim
    rows, answer = np.array(history.present), json.loads(stop[4])
    fewest = int(statistics.counts[rows].min())
    sampled = report.add("every arm sampled", fewest > 0, f"{fewest} samples or more")
    named = [history.labels[arm] for arm in answer]
    report.add("answer", certificate["answer"] == named, f"the log says {some(named)}")
    chosen = np.isin(rows, answer)
    feasible = len(set(answer)) == int(chosen.sum()) == len(answer) and decision.contains(chosen)
    report.add("feasible", feasible, "it may be answered" if feasible else "no such answer")
    if not (sampled and feasible):
        return
    lower, upper = statistics.lower[rows], statistics.upper[rows]
    arms = Present(statistics.means[rows], lower, upper, rows, statistics.evidence)
    best = is_best(claim, decision, arms, chosen)
    report.add("best in the data", best, "it is" if best else "another answer has better means")
    verdict = judge(claim, decision, arms, chosen)
    report.add("stopping rule", verdict.holds, verdict.detail)
    report.add(
        "stopping statistic",
        _same_stop(certificate["stop"], verdict, claim, arms)
        and _same_pair(certificate["stop"], verdict, claim, arms, chosen, history),
        f"{verdict.statistic:.6g}, compared with {claim.epsilon:g}",
    )


def _room(verdict: Verdict, arms: Present) -> float:
    """What a statistic of several bounds may be off."""
    size = arms.sizes.sum() if verdict.pair is None else 2.0 * arms.sizes.max()
    return INVERTED * float(size)


def _same_stop(given: Mapping[str, Any], verdict: Verdict, claim: Claim, arms: Present) -> bool:
    """The statistic, and the way to stop; on the very edge rounding may tell them apart."""
    room = _room(verdict, arms)
    edge = {given["rule"], verdict.how} == {"bounds", "evidence"}
    edge = edge and abs(verdict.statistic - claim.epsilon) <= room
    return (
        (given["rule"] == verdict.how or edge)
        and abs(given["statistic"] - verdict.statistic) <= room
        and _close(given["epsilon"], claim.epsilon, claim.epsilon, EXACT)
    )


def _same_pair(
    given: Mapping[str, Any],
    verdict: Verdict,
    claim: Claim,
    arms: Present,
    chosen: NDArray[np.bool_],
    history: History,
) -> bool:
    """The arms that the statistic comes from; of several with equal bounds, any."""
    if verdict.pair is None:
        return given["weakest"] is None and given["rival"] is None
    room = _room(verdict, arms)
    for side, row, ends in (
        ("weakest", verdict.pair[0], arms.lower),
        ("rival", verdict.pair[1], arms.upper),
    ):
        label = None if given[side] is None else given[side]["label"]
        places = [at for at, arm in enumerate(history.present) if history.labels[arm] == label]
        if given[side] is None or not places or chosen[places[0]] != chosen[row]:
            return False
        own, shown = float(ends[places[0]]), claim.sign * given[side]["bound"]
        if abs(shown - own) > room or abs(own - float(ends[row])) > room:
            return False
    return True
