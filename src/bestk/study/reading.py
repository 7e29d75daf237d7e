"""Looking at a study that is there already; its file is not changed, and need not be writable."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bestk.addresses import recoverable
from bestk.arguments import shown
from bestk.client import is_server
from bestk.errors import BestkError, InputError, StorageError, UnknownName
from bestk.storage import addresses
from bestk.storage import events as ev
from bestk.storage.addresses import Address, KeptStorage, file_at, read_address
from bestk.storage.events import Event
from bestk.storage.names import names_of_studies
from bestk.study import extras
from bestk.study.foreign import new_fold
from bestk.study.specification import Specification
from bestk.study.study import Study

# what comes of numbers, texts and keys that are not what was written
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@contextmanager
def reading(path: Address) -> Iterator[None]:
    """Say of a file what is wrong with it, whatever a log that nobody has written leads to."""
    path = path if is_server(path) else read_address(path)
    try:
        yield
    except BestkError:
        raise
    except UNREADABLE as error:
        raise StorageError(
            f"{path} was refused: its log does not make a study ({type(error).__name__}: {error});"
            f" {recoverable(path)}"
        ) from error


CLOSING = (ev.FORGOTTEN, ev.EXPIRED, ev.FAILED)  # a pull takes no answer after these


def open_study(path: Address, name: str | None = None) -> Study:
    """The study of that name in a file; the name may be left out where the file holds only one."""
    storage = open_storage(path)
    return Study(choose(storage, name), storage=storage)


def open_storage(path: Address) -> KeptStorage:
    """A file or a database with at least one study, to be read."""
    path = read_address(path)
    file = file_at(path)
    if file is not None and not file.exists():
        raise InputError(f"{path} was refused: there is no such file")
    storage = addresses.open_storage(path, read_only=True)
    names = names_of_studies(storage)
    if not names:
        raise InputError(f"{path} was refused: there is no study in it yet")
    for name in names:
        if not isinstance(name, str):  # SQLite keeps what it finds, whatever the column is for
            raise StorageError(
                f"{path} was refused: the name {shown(name)} of a study is damaged;"
                f" {recoverable(path)}"
            )
    return storage


def choose(storage: KeptStorage, name: str | None) -> str:
    """The name of a study that is there: the one given, or the only one."""
    names = names_of_studies(storage)
    if name is None:
        if len(names) > 1:
            raise InputError(f"which study of {storage.path}? Name one of {', '.join(names)}")
        return names[0]
    if name not in names:
        raise UnknownName("study", name, names)
    return name


def has_items(storage: KeptStorage, name: str) -> bool:
    """Whether a study is an evaluation."""
    return _begun(name, storage.read(name)).items is not None


def _begun(name: str, events: Iterator[Event]) -> Specification:
    first = next(events, None)
    if first is None or first.kind != ev.CREATED:
        raise StorageError(f"the log of {name} does not begin with its specification")
    return Specification.from_json(first.data)


class Observation(NamedTuple):
    """A reward that was taken, counted or held. Times are in seconds since 1970."""

    seq: int  # of the event, from 1
    pull: str  # its id; of one that was added, the user's
    arm: Hashable
    reward: float
    asked: float | None
    told: float
    kind: str  # told, or added; of an evaluation also failed, which counts as the worst score
    extra: Any = None  # what was returned beside the reward
    item: int | None = None  # of an evaluation: the item's position, from 0


def observations(storage: KeptStorage, name: str) -> Iterator[Observation]:
    """Every reward that was taken, in log order; those held behind an open pull do not count yet.

    The first answer to an open pull is taken, and the first observation of an id. That is what the
    fold says, in a pass of its own: the fold also works out the statistics, event by event.
    """
    events = storage.read(name)
    fold = new_fold(_begun(name, events))  # knows which arms are there
    closing = CLOSING if fold.order.in_order else CLOSING[:2]  # in old studies FAILED does not
    open_: dict[str, tuple[int, float, int | None]] = {}  # arm, time and item of pulls
    answered: set[str] = set()
    observed: set[str] = set()
    for seq, (kind, key, arm, reward, data, at) in enumerate(events, 2):
        if kind == ev.ASKED:
            if arm in fold.rows and key not in open_ and key not in answered:
                item = None
                if fold.orders is not None:
                    item = fold.orders.item(arm, fold.asked[arm])
                    fold.asked[arm] += 1
                open_[key] = arm, at, item
        elif kind == ev.TOLD:
            pull = open_.pop(key, None)
            if pull is not None:
                answered.add(key)
                label = fold.all_labels[pull[0]]
                beside = extras.read(data) if data else None
                yield Observation(seq, key, label, reward, pull[1], at, "told", beside, pull[2])
        elif kind == ev.OBSERVED:
            if key not in observed and arm in fold.rows:
                observed.add(key)
                yield Observation(seq, key, fold.all_labels[arm], reward, None, at, "added")
        elif kind in closing:
            pull = open_.pop(key, None)
            if pull is not None and fold.orders is not None:
                answered.add(key)
                label = fold.all_labels[pull[0]]
                worst = fold.specification.worst_reward
                assert worst is not None  # an evaluation has a range
                yield Observation(seq, key, label, worst, pull[1], at, "failed", None, pull[2])
        elif kind in (ev.ARM_ADDED, ev.ARM_WITHDRAWN):
            fold.apply([Event(kind, key, arm, reward, data, at)])
            open_ = {key: pull for key, pull in open_.items() if pull[0] in fold.rows}
