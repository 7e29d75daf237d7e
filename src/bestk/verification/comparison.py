"""The certificate's numbers beside those recomputed, and whether the claim follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bestk.verification import schema
from bestk.verification.arrays import Bools, Ints
from bestk.verification.claims import ROUNDS, Claim
from bestk.verification.classes import Decision
from bestk.verification.history import History
from bestk.verification.report import Report, some
from bestk.verification.rules import Present, Verdict, is_best, judge
from bestk.verification.statistics import Statistics
from bestk.verification.tolerance import EXACT, INVERTED, LEVEL, WIDENED, agrees

Certificate = Mapping[str, Any]


def check_guarantee(certificate: Certificate, claim: Claim, report: Report) -> None:
    """What is claimed, what that needs, and how the error is spread."""
    report.add(
        "guarantee",
        certificate["error_bound"] == claim.nu and certificate["theorem"] == claim.theorem,
        f"error probability at most {claim.nu:g} by {claim.theorem}",
        f"{certificate['error_bound']:g} by {certificate['theorem']}",
    )
    wanted = schema.OLD_WARNING
    if certificate["format"] > 1:
        wanted = schema.WARNINGS.get(certificate["lost"], "")
    if certificate["format"] > 2:
        wanted = schema.OF_ITEMS.get(certificate["items"]["target"], "")
    whole = certificate["warning"] == wanted
    report.add(
        "warning",
        whole,
        "what the guarantee needs of pulls that brought nothing, word for word",
        "that text" if whole else "another text",
    )
    given, own = certificate["levels"], claim.levels
    if given is None or own is None:
        report.add("levels", given == own, _spread(own), _spread(given))
        return
    if certificate["format"] == 1:  # of a time without the last
        own = {name: own[name] for name in given}
    agree = all(agrees(given[name], value, LEVEL * value) for name, value in own.items())
    report.add("levels", agree, _spread(own), _spread(given))


def _spread(levels: Mapping[str, float] | None) -> str:
    if levels is None:
        return "none: bounds depend on time"
    return ", ".join(f"{name} {value:.4g}" for name, value in levels.items())


def check_samples(certificate: Certificate, statistics: Statistics, report: Report) -> None:
    """Observations in all, whether they fit the assumption, and the round of lucb."""
    samples, misfits = int(statistics.counts.sum()), statistics.misfits()
    given = certificate["samples"]
    report.add("samples", given == samples, f"{samples} observations count", f"{given}")
    family = statistics.rewards["family"]
    report.add(
        "rewards",
        misfits == 0,
        f"all are what {family} rewards can be",
        f"{misfits} are not" if misfits else "all are",
    )
    round_ = statistics.round if statistics.claim.bounds == ROUNDS else None
    if certificate["round"] is not None or round_ is not None:
        found = f"{certificate['round']}"
        report.add("round", certificate["round"] == round_, f"round {round_} of the policy", found)


# --- every arm ------------------------------------------------------------------------------------


def check_arms(certificate: Certificate, statistics: Statistics, report: Report) -> None:
    """Every number of every arm."""
    wrong: dict[str, list[Any]] = {"statistics": [], "lost pulls": [], "bounds": []}
    history = statistics.history
    lost = {**history.lost, "open": history.open, "held": history.held}
    kinds = schema.PULLS + (schema.PLACES if certificate["format"] > 1 else ())
    for i, arm in enumerate(certificate["arms"]):
        if not _same_statistics(arm, statistics, i):
            wrong["statistics"].append(arm["label"])
        if any(arm[what] != lost[what][i] for what in kinds):
            wrong["lost pulls"].append(arm["label"])
        if not _same_bounds(arm, statistics, i):
            wrong["bounds"].append(arm["label"])
    total = sum(sum(lost[what]) for what in schema.PULLS)
    required = dict.fromkeys(wrong, "of every arm as recomputed")
    required["lost pulls"] += f"; {total} pulls had returned no observation by the stop"
    for name, labels in wrong.items():
        found = f"other numbers of {some(labels)}" if labels else "the same"
        report.add(name, not labels, required[name], found)


def _same_statistics(arm: Mapping[str, Any], statistics: Statistics, i: int) -> bool:
    n, scale = int(statistics.counts[i]), statistics.claim.scale
    levels, seen, mean = None, np.nan, np.nan
    drift = float(statistics.sum_drifts[i])
    if n:
        mean = float(statistics.sums[i]) / n
        if statistics.competes(i):
            seen = statistics.told(float(statistics.means[i]))
            if statistics.levels is not None:
                levels = statistics.levels[i][:: int(statistics.claim.sign)].tolist()
    return (
        arm["pulls"] == n
        and agrees(arm["sum"], float(statistics.sums[i]), EXACT * scale * n + drift)
        and agrees(arm["mean"], mean, EXACT * scale + drift / max(n, 1))
        and agrees(arm["seen_mean"], seen, EXACT * scale + float(statistics.drifts[i]))
        and bool(arm["levels"] == levels)
    )


def _same_bounds(arm: Mapping[str, Any], statistics: Statistics, i: int) -> bool:
    """An arm without samples, or one that was withdrawn, has no interval."""
    if not (statistics.competes(i) and statistics.counts[i]):
        return arm["low"] is None and arm["high"] is None
    room = INVERTED * statistics.claim.scale + float(statistics.drifts[i])
    ends = sorted(statistics.told(float(end[i])) for end in (statistics.lower, statistics.upper))
    return all(
        agrees(arm[name], end, room) for name, end in zip(("low", "high"), ends, strict=True)
    )


# --- the stop -------------------------------------------------------------------------------------


def check_stop(
    certificate: Certificate,
    decision: Decision,
    statistics: Statistics,
    answer: list[int],
    report: Report,
) -> None:
    """The answer, and that the rule's condition is met for it."""
    history, claim = statistics.history, statistics.claim
    rows = np.array(history.present)
    fewest = int(statistics.counts[rows].min())
    sampled = report.add("every arm sampled", fewest > 0, "1 sample or more", f"{fewest} or more")
    named = [history.labels[arm] for arm in answer]
    is_named = schema.same(certificate["answer"], named)
    found = some(certificate["answer"])
    report.add("answer", is_named, f"as the log has it: {some(named)}", found)
    chosen = np.isin(rows, answer)
    feasible = int(chosen.sum()) == len(answer) and decision.contains(chosen)
    report.add(
        "feasible",
        feasible,
        "a set that may be answered",
        "it may be answered" if feasible else "no such set",
    )
    if not (sampled and feasible):
        return
    means, lower, upper = statistics.means[rows], statistics.lower[rows], statistics.upper[rows]
    evidence, origin = statistics.evidence, statistics.origin
    arms = Present(means, lower, upper, rows, evidence, origin, claim.scale)
    if "judge" not in history.specification["problem"]:  # else another policy chose the answer
        best = is_best(claim, decision, arms, chosen)
        found = "none has" if best else "one has"
        report.add("best in the data", best, "no other answer looks better", found)
    verdict = judge(claim, decision, arms, chosen)
    report.add("stopping rule", verdict.holds, verdict.required, verdict.found)
    given, room = certificate["stop"], _room(verdict, statistics, arms)
    same = _same_stop(given, verdict, claim, room)
    same = same and _same_pair(given, verdict, claim, arms, chosen, history, room)
    own = _recomputed(verdict, statistics, rows)
    digits = 6 if same else 17  # as few as can be read, or all there are
    required = f"as recomputed: {_shown(own, digits)}"
    report.add("stopping statistic", same, required, _shown(given, digits))


def _recomputed(verdict: Verdict, statistics: Statistics, rows: Ints) -> dict[str, Any]:
    """The stop as a certificate has it."""
    epsilon, ends = statistics.claim.epsilon, (statistics.lower, statistics.upper)
    stop = {"rule": verdict.how, "statistic": verdict.statistic, "epsilon": epsilon}
    for name, row, end in zip(("weakest", "rival"), verdict.pair or (), ends, strict=False):
        label = statistics.history.labels[rows[row]]
        stop[name] = {"label": label, "bound": statistics.told(float(end[rows[row]]))}
    return stop


def _shown(stop: Mapping[str, Any], digits: int) -> str:
    words = [f"stopped by {stop['rule']}"]
    words += [f"{name} {_number(stop[name], digits)}" for name in ("statistic", "epsilon")]
    for name in ("weakest", "rival"):
        if stop.get(name) is not None:
            bound = _number(stop[name]["bound"], digits)
            words.append(f"{name} {stop[name]['label']} at {bound}")
    return ", ".join(words)


def _number(value: float | None, digits: int) -> str:
    return "infinite" if value is None or np.isinf(value) else f"{value:.{digits}g}"


def _room(verdict: Verdict, statistics: Statistics, arms: Present) -> float:
    """What a statistic of several bounds may be off."""
    each = arms.room(INVERTED, WIDENED) + statistics.drifts[arms.arms]
    return float(each.sum() if verdict.pair is None else 2.0 * each.max())


def _same_stop(given: Mapping[str, Any], verdict: Verdict, claim: Claim, room: float) -> bool:
    """The statistic, and the way to stop; on the very edge rounding may tell them apart."""
    edge = {given["rule"], verdict.how} == {"bounds", "evidence"}
    edge = edge and abs(verdict.statistic - claim.epsilon) <= room
    return (
        (given["rule"] == verdict.how or edge)
        and agrees(given["statistic"], verdict.statistic, room)
        and agrees(given["epsilon"], claim.epsilon, 0.0)
    )


def _same_pair(
    given: Mapping[str, Any],
    verdict: Verdict,
    claim: Claim,
    arms: Present,
    chosen: Bools,
    history: History,
    room: float,
) -> bool:
    """The arms that the statistic comes from; of several with equal bounds, any."""
    if verdict.pair is None:
        return given["weakest"] is None and given["rival"] is None
    labels = [history.labels[arm] for arm in history.present]
    for side, row, ends in (
        ("weakest", verdict.pair[0], arms.lower),
        ("rival", verdict.pair[1], arms.upper),
    ):
        end = given[side]
        named = [end is not None and schema.same(end["label"], label) for label in labels]
        if True not in named or chosen[named.index(True)] != chosen[row]:
            return False
        own = float(ends[named.index(True)])
        if abs(own - float(ends[row])) > room:
            return False
        bound = None if end["bound"] is None else claim.sign * end["bound"]
        if not agrees(bound, arms.origin + own, room):
            return False
    return True
