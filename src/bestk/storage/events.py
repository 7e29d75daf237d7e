"""What a study's log is made of. The log is the study: its state is a fold over these events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

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
RETRIED = 11  # key: the pull, which failed and is made again, in its place; data: why
RESERVED = 100  # from here on: kinds of logs that are no studies (`names.py`); data: JSON

ALONE = "+"  # what ASKED says of a round of one arm


class Event(NamedTuple):
    """One line of the log."""

    kind: int
    key: str = ""
    arm: int = -1
    reward: float = 0.0
    data: str = ""
    at: float = 0.0  # seconds since 1970; for people, never read by the fold


class Columns(NamedTuple):
    """Pulls asked for alone and told at once, two events each, in log order."""

    keys: tuple[str, ...]
    arms: tuple[int, ...]
    rewards: tuple[float, ...]
    asked: tuple[float, ...]  # when
    told: tuple[float, ...]


class Storage(Protocol):
    """An append-only log for each of any number of studies, safe to share between processes.

    These two methods are all that a storage needs. The five protocols below are each one method
    more, used where it is offered. `bestk.testing.StorageContract` tests all of them.
    """

    def append(self, study: str, events: Sequence[Event]) -> None:
        """Add events at the end of a study's log, all or none; durable on return.

        Threads and processes may append to one log at once: their batches are put in some order,
        none lost, none torn apart. A study that is unknown begins here.
        """
        ...

    def read(self, study: str, start: int = 0) -> Iterator[Event]:
        """The events of a study from number `start` on, in log order, each as it was appended.

        Nothing, for a study that is unknown or has no more events. While others append, what is
        read is the beginning of what the log will be, without gaps.
        """
        ...


@runtime_checkable
class CountingStorage(Storage, Protocol):
    """One that knows where its own events went: a study need not read back what it wrote."""

    def appended(self, study: str) -> int:
        """The number, from 1, of the last event that this object appended, or has read since.

        Right after an append that is the place of its last event in the log, events of others
        before it included; 0 for a study that is unknown.
        """
        ...


@runtime_checkable
class ExclusiveStorage(Storage, Protocol):
    """One that can keep others out: then `Study.tell_many` is all or none between processes."""

    def alone(self) -> AbstractContextManager[None]:
        """While the context lasts, nobody else appends; they wait."""
        ...


@runtime_checkable
class ListingStorage(Storage, Protocol):
    """One that knows what is in it."""

    def studies(self) -> list[str]:
        """The names of all studies that were begun, oldest first; reading begins none."""
        ...


@runtime_checkable
class ClosingStorage(Storage, Protocol):
    """One that holds a file or a connection."""

    def close(self) -> None:
        """Let go of it; to close again does nothing, and nothing appended is lost."""
        ...


@runtime_checkable
class ColumnStorage(Storage, Protocol):
    """One that reads plain stretches of a log quickly."""

    def columns(self, study: str, start: int) -> Iterator[Columns]:
        """The pulls from event number `start` on, as long as each was asked for alone and told at
        once; it may end before, and `read` goes on from there."""
        ...
