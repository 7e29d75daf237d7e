"""How certainty grew in a study: its log replayed, with what was proved at checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from bestk.storage.events import Event
from bestk.study.foreign import new_fold
from bestk.study.specification import Specification
from bestk.study.summary import summarise
from bestk.study.trajectory import RATIO, pieces


class Point(NamedTuple):
    """After so many samples: the slack that would certify, and arms that are in and out."""

    samples: int
    certifiable_epsilon: float | None
    n_in: int
    n_out: int


def certainty(specification: Specification, log: Iterable[Event]) -> list[Point]:
    """What was known at checkpoints, ever further apart.

    It sleeps as long as it works: other threads of a server have more urgent things to do.
    """
    fold, found, checkpoint = new_fold(specification), list[Point](), 1.0
    started = time.perf_counter()
    for piece, is_last in pieces(log):
        fold.apply(piece)
        if fold.told and (fold.seen >= checkpoint or is_last):
            checkpoint = fold.seen * RATIO
            result = summarise("", fold, 0.0, None)
            statuses = [arm.status for arm in result.arms]
            known = result.certifiable_epsilon, statuses.count("in"), statuses.count("out")
            if not found or found[-1].samples < result.samples:
                found.append(Point(result.samples, *known))
        time.sleep(time.perf_counter() - started)
        started = time.perf_counter()
    return found
