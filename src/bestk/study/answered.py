"""Pulls that came back in the order asked before others were asked for: most of most logs.

They count at once and leave nothing open, so that a fold may take them in loops of their own, which
is what makes long logs open quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bestk.storage.events import ASKED, TOLD, Event

if TYPE_CHECKING:
    from bestk.study.fold import Fold

ALONE = "+"  # what ASKED says of a round of one arm
CHUNK = 100_000  # pulls handed over at a time


def apply(fold: Fold, event: Event, rest: Iterator[Event]) -> tuple[list[Event], Event | None]:
    """Apply such pulls as long as there are; the events that are none of these, and the next one.

    `event` is the first, an ask; no pull is open.
    """
    first, second = _singly(fold, event, rest)
    if first is None or second is None or not first[0] == second[0] == ASKED:
        return ([] if first is None else [first]), second
    return _in_batches(fold, [first, second], rest)


def _singly(
    fold: Fold, event: Event | None, rest: Iterator[Event]
) -> tuple[Event | None, Event | None]:
    """Asked, told, asked, told: returns the first event that is none of these, and the next."""
    answers, gone, places = fold.answers, fold.gone, fold.rows
    rows: list[int] = []
    rewards: list[float] = []
    following = last = None
    size = len(answers)
    while event is not None and event[4] == ALONE and event[0] == ASKED:
        following = next(rest, None)
        key, arm = event[1], event[2]
        if following is None or following[1] != key or following[0] != TOLD or following[4]:
            break
        reward = following[3]
        if arm not in places or key in gone or answers.setdefault(key, reward) is not reward:
            break
        if len(answers) == size:
            break  # a name used twice
        size += 1
        rows.append(places[arm])
        rewards.append(reward)
        last = following
        following = None
        event = next(rest, None)
        if len(rows) >= CHUNK:
            fold.pass_by(rows, rewards, last[5])
            rows, rewards = [], []
    if last is not None:
        fold.pass_by(rows, rewards, last[5])
    return event, following


def _in_batches(
    fold: Fold, asked: list[Event], rest: Iterator[Event]
) -> tuple[list[Event], Event | None]:
    """Several asked, the same told: returns the events of the first batch that is none such."""
    while True:
        while (event := next(rest, None)) is not None and event[0] == ASKED:
            asked.append(event)
        told: list[Event] = []
        for pull in asked:
            if event is None or event[0] != TOLD or event[1] != pull[1] or event[4]:
                return asked + told, event
            told.append(event)
            event = next(rest, None)
        new = {answer[1]: answer[3] for answer in told}
        is_plain = all(pull[4] == ALONE and pull[2] in fold.rows for pull in asked)
        if not is_plain or len(new) < len(asked):
            return asked + told, event
        if any(key in fold.answers or key in fold.gone for key in new):
            return asked + told, event
        fold.answers |= new
        fold.pass_by([fold.rows[pull[2]] for pull in asked], list(new.values()), told[-1][5])
        if event is None or event[0] != ASKED:
            return [], event
        asked = [event]
