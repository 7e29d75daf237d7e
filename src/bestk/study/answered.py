"""Pulls that came back in the order asked, none left open: most of most logs.

They count at once, so that a fold may take thousands of them as columns, which is what makes long
logs open quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from bestk.storage.events import ALONE, ASKED, TOLD, Columns, Event

if TYPE_CHECKING:
    from bestk.study.fold import Fold

BLOCK = 2000  # events looked at together
WORTH = 16  # events below which columns cost more than they save


def apply(fold: Fold, events: Sequence[Event]) -> int:
    """Apply such pulls as far as they go; how many of the events that were. No pull is open."""
    if len(events) < WORTH:
        return 0
    kinds, keys, arms, rewards, data, _ = zip(*events, strict=True)
    of = np.array(kinds)
    balance = np.cumsum((of == ASKED) * 1 - (of == TOLD))
    others = np.flatnonzero((of != ASKED) & (of != TOLD))
    ends = np.flatnonzero(balance[: others[0] if len(others) else None] == 0)
    if len(ends) == 0:
        return 0
    end = int(ends[-1]) + 1
    asked, told = of[:end] == ASKED, of[:end] == TOLD
    if (np.flatnonzero(asked) > np.flatnonzero(told)).any():
        return 0
    if list(compress(keys, asked)) != list(compress(keys, told)):
        return 0
    if set(compress(data, asked)) != {ALONE} or set(compress(data, told)) != {""}:
        return 0
    answers = dict(zip(compress(keys, told), compress(rewards, told), strict=True))
    return end * count(fold, answers, list(compress(arms, asked)), events[end - 1][5])


def apply_columns(fold: Fold, found: Columns) -> bool:
    """The same of pulls that are known to be such; False if they must be folded one by one."""
    if fold.open or not fold.is_plain:
        return False
    answers = dict(zip(found.keys, found.rewards, strict=True))
    return count(fold, answers, found.arms, found.told[-1])


def count(fold: Fold, answers: dict[str, float], arms: Sequence[int], at: float) -> bool:
    """Count answers to pulls of these arms, unless a name was used twice or an arm is not there."""
    rows = [row for row in map(fold.rows.get, arms) if row is not None]
    is_new = fold.answers.keys().isdisjoint(answers) and fold.gone.isdisjoint(answers)
    if not (is_new and len(answers) == len(rows) == len(arms)):
        return False
    fold.answers |= answers
    fold.pass_by(rows, list(answers.values()), at)
    return True
