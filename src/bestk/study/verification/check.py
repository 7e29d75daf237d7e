"""A certificate against the log it was made from: follow the log, compare, judge the stop."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from bestk.errors import InputError
from bestk.study.verification import comparison, log
from bestk.study.verification.claims import read_claim
from bestk.study.verification.classes import read_decision
from bestk.study.verification.history import History
from bestk.study.verification.log import LogFile, Row, line
from bestk.study.verification.reading import check_shape
from bestk.study.verification.report import Report
from bestk.study.verification.statistics import Statistics

# What following a log that was tampered with may run into.
NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


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
        report.add("study", name == certificate["study"], f"the file holds {name!r}")
        try:
            followed = _follow(file, name, certificate["log"], report)
            if followed is not None:
                _compare(certificate, *followed, report)
        except InputError:
            raise
        except NONSENSE as error:
            report.add("recomputation", False, f"{type(error).__name__}: {error}")
        return report
    finally:
        file.close()


def _follow(
    file: LogFile, name: str, claimed: Mapping[str, Any], report: Report
) -> tuple[History, Row] | None:
    """The history up to where the rule was decided, and the event that stopped the study."""
    events, decided, there = claimed["events"], claimed["decided"], file.count(name)
    if not report.add(
        "length of the log",
        1 <= decided < events <= there,
        f"{there} events; the certificate covers {events}, its rule is checked after {decided}",
    ):
        return None
    digest, history, row = hashlib.sha256(), None, None
    later: set[int] = set()  # kinds of events between the decision and the stop
    lost: Exception | None = None  # where the log makes no sense, its hash is reported still
    for number, row in enumerate(file.rows(name, events), 1):
        digest.update(line(row))
        if number > decided:
            later.add(row[0])
        elif lost is None:
            try:
                if history is None:
                    history = History(row)
                else:
                    history.apply(row)
            except NONSENSE as error:
                lost = error
    report.add(
        "hash of the log",
        digest.hexdigest() == claimed["sha256"],
        f"SHA-256 {digest.hexdigest()[:16]}... of {events} events",
    )
    if lost is not None:
        raise lost
    if history is None or row is None:
        return None
    detail = "the last of these events says that the rule stopped"
    changed = bool(later & {log.ADDED, log.WITHDRAWN})
    if row[0] != log.STOPPED:
        detail = "the last of these events is no stop"
    elif changed:
        detail = "arms came or went between the decision and the stop"
    stopped = row[0] == log.STOPPED and not changed
    return (history, row) if report.add("stop in the log", stopped, detail) else None


def _compare(certificate: Mapping[str, Any], history: History, stop: Row, report: Report) -> None:
    begun = history.specification
    problem, max_arms = begun["problem"], begun.get("max_arms")
    own = {"problem": problem, "seed": begun["seed"], "max_arms": max_arms}
    wrong = [name for name, value in own.items() if certificate[name] != value]
    report.add(
        "problem", not wrong, f"another {', '.join(wrong)}" if wrong else "as the study was begun"
    )
    labels = [arm["label"] for arm in certificate["arms"]]
    present = [i for i, arm in enumerate(certificate["arms"]) if arm["present"]]
    same = labels == history.labels and present == sorted(history.present)
    report.add("arms", same, f"{len(history.present)} arms in the log")
    if max_arms is not None and len(history.labels) > max_arms:
        raise ValueError(f"{len(history.labels)} arms in a study of at most {max_arms}")
    decision = read_decision(problem["decision"], len(history.present))
    claim = read_claim(problem, max_arms, decision)
    comparison.check_guarantee(certificate, claim, report)
    statistics = Statistics(history, claim)
    comparison.check_samples(certificate, statistics, report)
    if same:
        comparison.check_arms(certificate, statistics, report)
    comparison.check_stop(certificate, decision, statistics, stop, report)
