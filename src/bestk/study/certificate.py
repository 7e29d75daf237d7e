"""Certificates: what a stopped study claims, with the numbers that bear it out.

The numbers are the policy's own. `verification` computes them again from the log, by other code,
and a certificate that it does not confirm is never handed out.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np

from bestk.decisions.labels import thaw
from bestk.errors import BestkError
from bestk.kernels import exchange, step
from bestk.kernels.types import (
    BETTING,
    CPE,
    EVIDENCE,
    EXCHANGE,
    LIL,
    LUCB_ROUNDS,
    PAIR,
    ROUND,
    UGAPE,
    BoolArray,
    FloatArray,
)
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study.fold import Fold
from bestk.study.intervals import intervals
from bestk.study.opening import open_storage, open_study
from bestk.study.specification import Specification
from bestk.study.verification import Report, verify
from bestk.study.verification.log import line

FORMAT = 1
WARNING = (
    "Pulls that failed, were given up, expired or were still open when the rule stopped brought no"
    " observation. The guarantee holds only if what is lost does not depend on the reward it would"
    " have brought, and, where several pulls were open at once, how long each took neither."
)
TRIES = 16  # moments before the stop at which the rule is looked for
OF_THE_STOP = {"feasible", "best in the data", "stopping rule", "stopping statistic"}


class NothingToCertifyError(BestkError):
    """A study whose answer is not proved."""


def make_certificate(path: str | os.PathLike[str], name: str | None = None) -> dict[str, Any]:
    """The certificate of a study in a file, confirmed by `verification`."""
    study = open_study(path, name)
    guarantee = study.problem.configure(0, study.specification.max_arms).guarantee
    if guarantee is None:
        variant = f", variant {study.problem.variant}" if study.problem.variant else ""
        raise NothingToCertifyError(
            f"study '{study.name}' is not certified: nothing is proved of {study.problem.policy}"
            f"{variant}, so there is nothing to certify"
        )
    if not study.is_stopped:
        raise NothingToCertifyError(
            f"study '{study.name}' is not certified: its rule has not stopped yet, so there is"
            " nothing to certify"
        )
    log = _Log(open_storage(path), study.name, study.specification)
    failed: Report | None = None
    for decided in islice(log.decisions(), TRIES):
        made = _certificate(log, decided)
        if made is None:
            break
        report = verify(made, path)
        if report.verified:
            return made
        failed = failed or report
        if not {check.name for check in report.failed} <= OF_THE_STOP:
            break  # not a matter of when the rule was checked
    wrong = ["not every arm had been sampled"]
    if failed is not None:
        wrong = [f"{check.name}: {check.detail}" for check in failed.failed]
    raise NothingToCertifyError(
        f"study '{study.name}' is not certified: its log does not bear out the stop it tells of"
        f" ({'; '.join(wrong)})"
    )


class _Log:
    """A study's log, and where in it the rule stopped."""

    def __init__(self, storage: SQLiteStorage, name: str, specification: Specification) -> None:
        self.storage, self.name, self.specification = storage, name, specification
        self.events, self.sha256 = self._find_stop()  # up to and including the stop

    def first(self, many: int) -> Iterator[Event]:
        """The first so many events."""
        return islice(self.storage.read(self.name), many)

    def _find_stop(self) -> tuple[int, str]:
        """The stop that counts, the first one or the first since arms came or went; the hash."""
        fold = None if self.specification.max_arms is None else Fold(self.specification)
        found, digest = (0, ""), hashlib.sha256()
        batch: list[Event] = []
        for number, event in enumerate(self.storage.read(self.name), 1):
            digest.update(line(event))
            if fold is not None:
                batch.append(event)
            if event.kind != ev.STOPPED:
                continue
            if fold is None:
                return number, digest.hexdigest()
            before = fold.stopped
            fold.apply(batch)
            batch = []
            if fold.stopped is not None and fold.stopped is not before:
                found = number, digest.hexdigest()
        return found

    def decisions(self) -> Iterator[int]:
        """How many events the process that stopped the study may have seen, most likely first.

        Another one may have told something between that decision and the stop in the log.
        """
        start = max(0, self.events - 1 - 100 * TRIES)
        tail = list(islice(self.storage.read(self.name, start), self.events - 1 - start))
        yield self.events - 1
        for place in range(len(tail) - 1, 0, -1):
            event, before = tail[place], tail[place - 1]
            if event.kind in (ev.ARM_ADDED, ev.ARM_WITHDRAWN):
                return
            if event.kind in (ev.TOLD, ev.OBSERVED) and event.at != before.at:
                yield start + place  # several told at once have one time


# --- the numbers ----------------------------------------------------------------------------------


def _folded(
    specification: Specification, events: Iterable[Event]
) -> tuple[Fold, Counter[tuple[int, int]], dict[int, int]]:
    """The state after some events; lost pulls by kind and arm; samples of arms when they left."""
    fold = Fold(specification)
    batch: list[Event] = []
    lost: Counter[tuple[int, int]] = Counter()
    left: dict[int, int] = {}
    for event in events:
        if event.kind in (ev.FORGOTTEN, ev.EXPIRED, ev.ARM_WITHDRAWN):
            fold.apply(batch)
            batch = []
            if event.kind == ev.ARM_WITHDRAWN:
                if event.arm in fold.rows:
                    left[event.arm] = int(fold.state.counts[fold.rows[event.arm]])
            elif event.key in fold.open:
                lost[event.kind, fold.open[event.key].arm] += 1
        batch.append(event)
        if len(batch) >= 50_000:
            fold.apply(batch)
            batch = []
    fold.apply(batch)
    return fold, lost, left


def _certificate(log: _Log, decided: int) -> dict[str, Any] | None:
    """What the first so many events bear out; None where there are arms without a sample."""
    specification = log.specification
    stop = next(log.storage.read(log.name, log.events - 1))
    answer = json.loads(stop.data)
    fold, lost, left = _folded(specification, log.first(decided))
    if not fold.is_whole:
        return None
    state, spec, configured = fold.state, fold.spec, fold.configured
    round_ = None
    if spec.radius == LUCB_ROUNDS:
        step.next_round(state)  # the rule was checked one round later
        round_ = int(state.clock[ROUND])
    lower, upper = intervals(state, spec)
    levels = None
    if spec.radius in (LIL, EVIDENCE):
        product = math.exp(spec.log_both) if spec.log_both > -math.inf else 0.0
        levels = {"lower": spec.level_high, "upper": spec.level_low, "product": product}
    made = {
        "format": FORMAT,
        "bestk": version("bestk"),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": log.name,
        "problem": specification.problem.to_dict(),
        "seed": specification.seed,
        "max_arms": specification.max_arms,
        "answer": [thaw(fold.all_labels[arm]) for arm in answer],
        "error_bound": configured.guarantee,
        "theorem": configured.theorem,
        "samples": fold.told,
        "levels": levels,
        "round": round_,
        "stop": _stop(fold, lower, upper, np.isin(fold.arms, answer)),
        "arms": [
            _arm(fold, arm, lost, left.get(arm, 0), lower, upper)
            for arm in range(len(fold.all_labels))
        ],
        "warning": WARNING,
        "log": {"events": log.events, "decided": decided, "sha256": log.sha256},
    }
    plain: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    return plain


def _arm(
    fold: Fold,
    arm: int,
    lost: Counter[tuple[int, int]],
    left: int,
    lower: FloatArray,
    upper: FloatArray,
) -> dict[str, Any]:
    """One arm; of one that was withdrawn, no interval, since it does not compete."""
    state, sign, row = fold.state, fold.spec.sign, fold.rows.get(arm)
    pulls = left if row is None else int(state.counts[row])
    low = high = seen = levels = None
    if row is not None and pulls:
        ends = sign * float(lower[row]), sign * float(upper[row])
        low, high = (end if math.isfinite(end) else None for end in sorted(ends))
        seen = sign * float(state.means[row])
        if fold.spec.radius == EVIDENCE and state.evidence.family == BETTING:
            levels = state.levels[row][:: int(sign)].tolist()
    forgotten, expired = lost[ev.FORGOTTEN, arm], lost[ev.EXPIRED, arm]
    return {
        "label": thaw(fold.all_labels[arm]),
        "present": row is not None,
        "pulls": pulls,
        "sum": float(fold.sums[arm]),
        "mean": fold.sums[arm] / pulls if pulls else None,
        "seen_mean": seen,
        "levels": levels,
        "low": low,
        "high": high,
        "failed": fold.failed[arm],
        "forgotten": forgotten,
        "expired": expired,
        "dropped": fold.given_up[arm] - forgotten - expired,
        "open": sum(pull.arm == arm for pull in fold.open.values()),
    }


def _stop(fold: Fold, lower: FloatArray, upper: FloatArray, chosen: BoolArray) -> dict[str, Any]:
    """The statistic that was compared with the slack, and the pair of arms it comes from."""
    state, spec = fold.state, fold.spec
    pair = None
    if spec.family == PAIR:
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        h, l = inside[np.argmin(lower[inside])], outside[np.argmax(upper[outside])]  # noqa: E741
        pair, statistic = (int(h), int(l)), float(upper[l] - lower[h])
    elif spec.family == EXCHANGE:
        h, l, gap = exchange.critical(state, spec)  # noqa: E741
        pair, statistic = (int(h), int(l)), float(gap)
    elif spec.family == CPE:
        decision = fold.stepper.decision
        revised = np.minimum(np.where(chosen, lower, upper), spec.ceiling)
        rival = decision.best(revised.copy())
        statistic = float(revised[rival & ~chosen].sum() - revised[chosen & ~rival].sum())
    else:
        statistic = float(step.slack(state, spec))
    rule = "regret" if spec.family == UGAPE else "lead"
    if pair is not None:
        rule = "bounds" if statistic <= spec.epsilon else "evidence"
    return {
        "rule": rule,
        "statistic": statistic,
        "epsilon": spec.epsilon,
        "weakest": None if pair is None else _end(fold, pair[0], lower),
        "rival": None if pair is None else _end(fold, pair[1], upper),
    }


def _end(fold: Fold, row: int, ends: FloatArray) -> dict[str, Any]:
    return {"label": thaw(fold.labels[row]), "bound": fold.spec.sign * float(ends[row])}
