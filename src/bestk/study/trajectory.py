"""How a study went: its log replayed, with what it knew at checkpoints along the way."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study.estimates import estimates, largest_known
from bestk.study.fold import Fold
from bestk.study.foreign import new_fold
from bestk.study.intervals import in_units, intervals
from bestk.study.specification import Specification
from bestk.verification.log import line

RATIO = 1.2  # of the events at two checkpoints in a row: about 75 of them in a million events
PIECE = 500  # events held at once: too few to call the garbage collector


@dataclass(frozen=True)
class Trajectory:
    """What was known of some arms, a row each, at every checkpoint, a column each.

    In the user's units; NaN where an arm was not there or not observed yet, and for an interval
    without an end.
    """

    arms: tuple[Hashable, ...]
    samples: IntArray  # that count, of all arms, a number for every checkpoint
    answer: IntArray  # pulls of the arms of the answer, at every checkpoint
    pulls: FloatArray
    means: FloatArray
    low: FloatArray
    high: FloatArray
    given_up: dict[Hashable, int]  # pulls forgotten, expired, or lost with a withdrawn arm
    expired: int  # leases that ran out
    events: int  # in the log
    began: float  # seconds since 1970
    ended: float  # the last event
    hashed: int  # events up to the stop that counts, or all where there is none
    sha256: str  # of these, as a certificate has it


def replay(
    specification: Specification,
    log: Iterable[Event],
    arms: Sequence[Hashable],
    answer: Collection[Hashable] = (),
) -> Trajectory:
    """Fold a log piece by piece and look at these arms at checkpoints."""
    fold = new_fold(specification)
    columns, samples, answered = list[FloatArray](), list[int](), list[int]()
    lapsed: set[str] = set()
    checkpoint, stopped = 1.0, False
    digest = hashlib.sha256()
    hashed, sha256 = 0, ""
    for piece, is_last in pieces(log):
        lapsed.update(event.key for event in piece if event.kind == ev.EXPIRED)
        digest.update(b"".join(map(line, piece)))
        fold.apply(piece)
        if fold.stopped is None or not stopped:
            hashed, sha256 = fold.seen, ""
            if fold.stopped is not None:
                sha256 = digest.hexdigest()
        stopped = fold.stopped is not None
        counted = int(fold.tally.counts.sum())
        if (fold.seen >= checkpoint or is_last) and counted > (samples or [0])[-1]:
            checkpoint = fold.seen * RATIO
            samples.append(counted)
            rows = [row for row, label in enumerate(fold.labels) if label in answer]
            answered.append(int(fold.state.counts[rows].sum()))
            columns.append(_look(fold, arms))
    nothing = np.full((4, len(arms), 0), math.nan)
    pulls, means, low, high = np.stack(columns, axis=-1) if columns else nothing
    given_up = Counter[Hashable]()
    for (_, arm), many in fold.lost.items():
        given_up[fold.all_labels[arm]] += many
    return Trajectory(
        tuple(arms), np.array(samples, np.int64), np.array(answered, np.int64),
        pulls, means, low, high,
        given_up=given_up, expired=len(lapsed), events=fold.seen,
        began=fold.first, ended=fold.last, hashed=hashed, sha256=sha256 or digest.hexdigest(),
    )  # fmt: skip


def pieces(log: Iterable[Event]) -> Iterator[tuple[list[Event], bool]]:
    """Pieces of the log, and whether each is the last; a stop ends its piece.

    The first ones are short, so that checkpoints may lie close together.
    """
    rest, size = iter(log), 1
    piece = list(islice(rest, size))
    while piece:
        size = min(PIECE, size + 1)
        following = list(islice(rest, size))
        start = 0
        for end, event in enumerate(piece, 1):
            if event.kind == ev.STOPPED or end == len(piece):
                yield piece[start:end], end == len(piece) and not following
                start = end
        piece = following


def _look(fold: Fold, arms: Sequence[Hashable]) -> FloatArray:
    """Pulls, mean, lower and upper end of these arms: a row each, an arm a column."""
    state, found = fold.state, np.full((4, len(arms)), math.nan)
    numbers = [fold.numbers.get(label, -1) for label in arms]
    places = [place for place, arm in enumerate(numbers) if arm in fold.rows]
    rows = [fold.rows[numbers[place]] for place in places]
    wanted = np.zeros_like(state.counts)  # intervals are computed for observed arms: these alone
    wanted[rows] = state.counts[rows]
    low, high = intervals(fold.machine.copy(state._replace(counts=wanted)))
    found[0, places] = wanted[rows]
    found[1, places] = estimates(fold)[[numbers[place] for place in places]]
    found[2:, places] = in_units(low, high, fold.spec.sign)[:, rows]
    unknown = found[1:, places] > largest_known(fold, state)[rows]
    found[1:, places] = np.where(unknown, math.nan, found[1:, places])
    found[1:, found[0] == 0] = math.nan
    return found
