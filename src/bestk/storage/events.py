"""What a study's log is made of. The log is the study: its state is a fold over these events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

# The numbers are what files hold: they never change meaning, new kinds are added at the end.
CREATED = 0  # data: the specification of the study, JSON
ASKED = 1  # key: the pull; arm; data: where it starts a round "+", then the round's other arms
TOLD = 2  # key: the pull; reward
FORGOTTEN = 3  # key: the pull, given up
EXPIRED = 4  # key: the pull, whose lease ran out
FAILED = 5  # key: the pull, which raised, hung or returned no number; data: why
OBSERVED = 6  # key: an id of the user's; arm; reward
ARM_ADDED = 7  # data: the label, JSON
ARM_WITHDRAWN = 8  # arm
STOPPED = 9  # arm: how often arms had come or gone; data: the answer, JSON
REISSUED = 10  # key: the pull, handed out again; data: whose it was and is, two tokens


class Event(NamedTuple):
    """One line of the log."""

    kind: int
    key: str = ""
    arm: int = -1
    reward: float = 0.0
    data: str = ""
    at: float = 0.0  # seconds since 1970; for people, never read by the fold


class Storage(Protocol):
    """An append-only log for each of any number of studies, safe to share between processes."""

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return."""
        ...

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, in log order."""
        ...
