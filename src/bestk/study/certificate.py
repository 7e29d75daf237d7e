"""Certificates: what a stopped study claims, with the numbers that bear it out.

The numbers are the policy's own. `verification` computes them again from the log, by other code,
and a certificate that it does not confirm is never handed out.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np

from bestk.decisions.labels import thaw
from bestk.errors import NothingToCertifyError
from bestk.kernels import bounds, matroid, step, types
from bestk.kernels.types import BoolArray, FloatArray
from bestk.storage import events as ev
from bestk.storage.addresses import Address
from bestk.storage.events import Event
from bestk.study.fold import Fold
from bestk.study.foreign import new_fold
from bestk.study.intervals import in_units, intervals
from bestk.study.reading import open_storage, open_study
from bestk.study.specification import Specification
from bestk.study.study import Study
from bestk.verification.log import line
from bestk.verification.schema import OF_ITEMS, OLD_WARNING, WARNINGS

FORMAT, OF_ITEMS_FORMAT = 2, 3
BATCH = 50_000  # events folded at a time


def make_certificate(path: Address, name: str | None = None) -> dict[str, Any]:
    """The certificate of a study in a file, confirmed by `verification`."""
    study = open_study(path, name)
    why = _why_not(study)
    if why is None:
        from bestk.verification import verify  # the special functions that it needs take a while

        log = open_storage(path).read(study.name)
        made = _certificate(study.name, study.specification, log, study.stopped_at)
        report = verify(made, path)
        if report.verified:
            return made
        wrong = "; ".join(f"{check.name}: {check.detail}" for check in report.failed)
        why = f"its log does not bear out the stop it tells of ({wrong})"
    raise NothingToCertifyError(f"study '{study.name}' is not certified: {why}")


def _why_not(study: Study) -> str | None:
    """Why there is nothing to certify; None where a certificate can be made."""
    configured = study.problem.configure(0, study.specification.max_arms)
    if (configured.judge or configured).guarantee is None:
        variant = f", variant {study.problem.variant}" if study.problem.variant else ""
        proved = f"nothing is proved of {study.problem.policy}{variant}"
        return f"{proved}, so there is nothing to certify"
    if not study.is_stopped:
        return "its rule has not stopped yet, so there is nothing to certify"
    if configured.judge is None or (result := study.result).certified:
        return None
    why = "the policy has stopped, and the evidence does not prove its answer at the study's slack"
    if result.certifiable_epsilon is None:
        return why
    return f"{why}; with {result.enough(result.certifiable_epsilon)} it would"


# --- the numbers ----------------------------------------------------------------------------------


def _certificate(
    name: str, specification: Specification, log: Iterator[Event], events: int
) -> dict[str, Any]:
    """What so many events bear out, the last of which stops the study."""
    digest, fold = hashlib.sha256(), new_fold(specification)
    before = islice(log, events - 1)
    while batch := list(islice(before, BATCH)):
        digest.update(b"".join(map(line, batch)))
        fold.apply(batch)
    fold.machine.settle()
    stop = next(log)
    digest.update(line(stop))
    answer = json.loads(stop.data)
    state, spec, proving = fold.state, fold.spec, fold.configured.judge or fold.configured
    round_ = levels = None
    if spec.radius == types.LUCB_ROUNDS:
        step.next_round(state)  # the rule was checked one round later
        round_ = int(state.clock[types.ROUND])
    lower, upper = intervals(fold.machine)
    is_old = specification.order == "told"
    if spec.radius in (types.LIL, types.EVIDENCE):
        product = math.exp(spec.log_both if spec.epsilon > 0.0 else spec.log_exact)
        levels = {"lower": spec.level_lower, "upper": spec.level_upper, "product": product}
        if not is_old:
            levels["pair"] = math.exp(spec.log_pair)
    made = {
        "format": 1 if is_old else FORMAT if specification.items is None else OF_ITEMS_FORMAT,
        "bestk": version("bestk"),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": name,
        "problem": specification.problem.to_dict(),
        "seed": specification.seed,
        "max_arms": specification.max_arms,
        "answer": [thaw(fold.all_labels[arm]) for arm in answer],
        "error_bound": proving.guarantee,
        "theorem": proving.theorem,
        "samples": int(fold.tally.counts.sum()),
        "levels": levels,
        "round": round_,
        "stop": _stop(fold, lower, upper, np.isin(fold.arms, answer)),
        "arms": [_arm(fold, arm, lower, upper) for arm in range(len(fold.all_labels))],
        "warning": OLD_WARNING if is_old else WARNINGS[specification.lost],
        "log": {"events": events, "decided": events - 1, "sha256": digest.hexdigest()},
    }
    if not is_old:
        made["order"], made["lost"] = specification.order, specification.lost
        made["reissued"] = len(fold.holders)
    if specification.items is not None:
        made["items"] = specification.items.to_dict()
        made["warning"] = OF_ITEMS[specification.items.target]
    return dict(json.loads(json.dumps(made, allow_nan=False)))


def _arm(fold: Fold, arm: int, lower: FloatArray, upper: FloatArray) -> dict[str, Any]:
    """One arm; of one that was withdrawn, no interval, since it does not compete."""
    state, sign, row = fold.state, fold.spec.sign, fold.rows.get(arm)
    pulls = int(fold.tally.counts[arm])
    low = high = seen = levels = None
    if row is not None and pulls:
        ends = in_units(lower[row], upper[row], sign).tolist()
        low, high = (None if math.isnan(end) else end for end in ends)
        seen = sign * float(state.means[row])
        if fold.spec.radius == types.EVIDENCE and state.evidence.kind == types.BETTING:
            levels = state.levels[row, :-1][:: int(sign)].tolist()
    made = {
        "label": thaw(fold.all_labels[arm]),
        "present": row is not None,
        "pulls": pulls,
        "sum": float(fold.tally.sums[arm]),
        "mean": float(fold.tally.means[arm]) if pulls else None,
        "seen_mean": seen,
        "levels": levels,
        "low": low,
        "high": high,
        "failed": fold.failed[arm],
        "forgotten": fold.lost[ev.FORGOTTEN, arm],
        "expired": fold.lost[ev.EXPIRED, arm],
        "dropped": fold.lost[ev.ARM_WITHDRAWN, arm],
        "open": sum(pull.arm == arm for pull in fold.open.values()),
    }
    if fold.specification.order != "told":
        made["holes"] = fold.holes[arm]
        made["held"] = sum(a == arm and x is not None for a, x in fold.order.held.values())
    return made


def _finite(value: float) -> float | None:
    """A number as JSON has it; quantiles may have no bound yet when both sides' evidence stops."""
    return value if math.isfinite(value) else None


def _stop(fold: Fold, lower: FloatArray, upper: FloatArray, chosen: BoolArray) -> dict[str, Any]:
    """The statistic that was compared with the slack, and the pair of arms it comes from."""
    state, spec = fold.state, fold.spec
    pair = None
    if spec.family == types.PAIR:
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        h, l = inside[np.argmin(lower[inside])], outside[np.argmax(upper[outside])]  # noqa: E741
        pair, ends = (int(h), int(l)), (float(lower[h]), float(upper[l]))
        statistic = float(bounds.gap(state, spec, *ends))
    elif spec.family == types.EXCHANGE:
        h, l, gap = matroid.critical(state, spec)  # noqa: E741
        pair, statistic = (int(h), int(l)), float(gap)
    elif spec.family == types.CPE:
        decision = fold.stepper.decision
        revised = np.minimum(np.where(chosen, lower, upper), spec.ceiling)
        best = decision.best(revised.copy())
        statistic = float(revised[best & ~chosen].sum() - revised[chosen & ~best].sum())
    elif spec.family == types.SETS:
        statistic = fold.stepper.slack if fold.machine.is_whole else 0.0
    else:
        statistic = float(fold.machine.call("slack"))
    rule = {types.UGAPE: "regret", types.SETS: "sets"}.get(spec.family, "lead")
    weakest = rival = None
    if pair is not None:
        rule = "bounds" if statistic <= spec.epsilon else "evidence"
        weakest, rival = (
            {"label": thaw(fold.labels[row]), "bound": _finite(spec.sign * float(each[row]))}
            for row, each in zip(pair, (lower, upper), strict=True)
        )
    return {
        "rule": rule,
        "statistic": _finite(statistic),
        "epsilon": spec.epsilon,
        "weakest": weakest,
        "rival": rival,
    }
