"""A certificate against the log it was made from: follow the log, compare, judge the stop."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from bestk.errors import InputError
from bestk.verification import comparison, log
from bestk.verification.claims import judged, read_claim
from bestk.verification.classes import Decision, read_decision
from bestk.verification.history import History
from bestk.verification.items import check_items
from bestk.verification.log import LogFile, Row, line
from bestk.verification.reading import check_shape, strict_json
from bestk.verification.report import Report
from bestk.verification.schema import SPECIFICATIONS, same
from bestk.verification.statistics import Statistics

# What following a log that was tampered with may run into.
NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def verify(certificate: Mapping[str, Any], path: str | os.PathLike[str]) -> Report:
    """Whether a certificate follows from the log in a file. Bad input raises `InputError`."""
    check_shape(certificate)
    file = LogFile(path)
    try:
        name = certificate["study"]
        if name not in file.studies:
            if len(file.studies) != 1:
                raise InputError(f"{path} was refused: it holds no study {name!r}")
            name = file.studies[0]
        report = Report(name)
        given = certificate["study"]
        report.add("study", name == given, f"{name!r}, which the file holds", f"{given!r}")
        try:
            followed = _follow(file, name, certificate["log"], report)
            if followed is not None:
                _compare(certificate, followed, report)
        except InputError:
            raise
        except NONSENSE as error:
            found = f"{type(error).__name__}: {error}"
            report.add("recomputation", False, "a log and a claim that make sense", found)
        return report
    finally:
        file.close()


# --- the log --------------------------------------------------------------------------------------


class _Followed:
    """What a log says up to the stop, and what it says up to where the rule was decided."""

    def __init__(self, decided: int) -> None:
        self.decided = decided
        self.digest = hashlib.sha256()
        self.seen = 0
        self.history: History | None = None
        self.last: Row | None = None
        self.later: set[int] = set()  # kinds of events between the decision and the stop
        self.nonsense: Exception | None = None  # the hash of such a log is reported still

    def take(self, rows: list[Row]) -> None:
        """More events."""
        self.digest.update(b"".join(map(line, rows)))
        self.last = rows[-1]
        before = max(0, self.decided - self.seen)
        self.later |= {row[0] for row in rows[before:]}
        self.seen += len(rows)
        if self.nonsense is None:
            try:
                self._apply(rows[:before])
            except NONSENSE as error:
                self.nonsense = error

    def _apply(self, rows: list[Row]) -> None:
        if self.history is None and rows:
            self.history, rows = History(rows[0]), rows[1:]
        for row in rows:
            self.history.apply(row)  # type: ignore[union-attr]  # there is one if there are rows

    def why_no_stop(self) -> str:
        """What is wrong with the last event as the stop of this study; nothing: an empty text."""
        if self.last is None or self.history is None or self.last[0] != log.STOPPED:
            return "the last of these events is no stop"
        if self.history.in_order and self.decided != self.seen - 1:
            return "the stop is not the event after the decision"
        if self.later & {log.ADDED, log.WITHDRAWN} or self.last[2] != self.history.changes:
            return "arms came or went between the decision and the stop"
        return ""


def _follow(
    file: LogFile, name: str, claimed: Mapping[str, Any], report: Report
) -> _Followed | None:
    """The log up to the event that stopped the study."""
    events, decided, there = claimed["events"], claimed["decided"], file.count(name)
    if not report.add(
        "length of the log",
        1 <= decided < events <= there,
        f"a decision before the stop, within the {there} events of the log",
        f"the certificate covers {events}, decided after {decided}",
    ):
        return None
    first, last = file.span(name, events)
    report.add(
        "numbers of events",
        (first, last) == (1, events),
        f"1 to {events} without a gap",
        f"{first} to {last}",
    )
    if (odd := file.odd(name, events)) is not None:
        raise ValueError(f"event {odd} of the log holds a value of another type than it has")
    followed = _Followed(decided)
    for rows in file.events(name, events):
        followed.take(rows)
    own, given = followed.digest.hexdigest(), claimed["sha256"]
    report.add("hash of the log", own == given, f"SHA-256 {own[:16]}...", f"{given[:16]}...")
    if followed.nonsense is not None:
        raise followed.nonsense
    wrong = followed.why_no_stop()
    required = "the rule stops the study in the last of these events"
    return (
        followed if report.add("stop in the log", not wrong, required, wrong or "it does") else None
    )


# --- what it says ---------------------------------------------------------------------------------


def _compare(certificate: Mapping[str, Any], followed: _Followed, report: Report) -> None:
    history, stop = followed.history, followed.last
    if history is None or stop is None:
        raise ValueError("the log is empty")
    begun = history.specification
    known = SPECIFICATIONS.get(begun["format"]) if type(begun["format"]) is int else None
    if known != begun.keys() | {"max_arms"}:  # which the oldest studies do not have
        raise ValueError("the study was begun with settings that are not known here")
    problem, max_arms = begun["problem"], begun.get("max_arms")
    own = {"problem": problem, "seed": begun["seed"], "max_arms": max_arms}
    own["format"] = begun["format"]  # a certificate has that of its study
    if begun["format"] > 1:
        own |= {"order": begun["order"], "lost": begun["lost"], "reissued": history.reissued}
    if begun["format"] > 2:
        own["items"] = begun["items"]
        check_items(begun["items"], problem, history)
    wrong = [name for name, value in own.items() if not same(certificate.get(name), value)]
    found = f"another {', '.join(wrong)}" if wrong else "the same"
    report.add("problem", not wrong, "as the study was begun", found)
    labels = [arm["label"] for arm in certificate["arms"]]
    present = [i for i, arm in enumerate(certificate["arms"]) if arm["present"]]
    is_same = same(labels, history.labels) and present == sorted(history.present)
    found = f"{len(present)} of {len(labels)}" if is_same else "others"
    report.add("arms", is_same, f"the {len(history.present)} arms of the log", found)
    decision = _decision(problem["decision"], history, max_arms)
    claim = read_claim(judged(problem, max_arms), max_arms, decision)
    comparison.check_guarantee(certificate, claim, report)
    statistics = Statistics(history, claim)
    comparison.check_samples(certificate, statistics, report)
    if is_same:
        comparison.check_arms(certificate, statistics, report)
    comparison.check_stop(certificate, decision, statistics, _answer(stop), report)


def _decision(data: Mapping[str, Any], history: History, max_arms: int | None) -> Decision:
    """The decision class, if it is one of the arms that there are."""
    if max_arms is not None and len(history.labels) > max_arms:
        raise ValueError(f"{len(history.labels)} arms in a study of at most {max_arms}")
    decision = read_decision(data, len(history.present))
    begun = data.get("n_arms", decision.n_arms) if max_arms is None else len(history.present)
    if not decision.n_arms == begun == len(history.present):
        raise ValueError(
            f"a decision class of other arms than the {len(history.present)} there are"
        )
    return decision


def _answer(stop: Row) -> list[int]:
    """The arms that the event which stopped the study names."""
    answer = strict_json(stop[4])
    if type(answer) is not list or any(type(arm) is not int or arm < 0 for arm in answer):
        raise ValueError(f"the stop in the log names no arms: {stop[4][:80]}")
    if len(set(answer)) < len(answer):
        raise ValueError("the stop in the log names an arm twice")
    return answer
