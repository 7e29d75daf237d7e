"""What a storage has to do (`bestk.storage.Storage`), whatever it keeps its logs in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bestk.errors import PullError
from bestk.rewards import Bernoulli
from bestk.storage import (
    ClosingStorage,
    ColumnStorage,
    CountingStorage,
    Event,
    ExclusiveStorage,
    ListingStorage,
    MemoryStorage,
    Storage,
)
from bestk.storage import events as ev
from bestk.study import Study

PATIENCE = 60.0  # seconds after which a thread counts as stuck


def log(count: int, who: str = "pull") -> list[Event]:
    """So many events, all different."""
    return [
        Event(ev.TOLD, f"{who}-{i}", i % 3, i / 7, "data é" * (i % 2), float(i))
        for i in range(count)
    ]


class StorageContract:
    """Tests of a storage; derive from it, and give the two methods that make yours.

    Whether an append outlives the death of its process or a power cut cannot be tested from within
    the process: test that by yourself.
    """

    # --- what you give ----------------------------------------------------------------------------

    def make_storage(self, folder: Path) -> Storage:
        """A new storage without studies; `folder` is an empty folder for files."""
        raise NotImplementedError("make_storage(folder): a new storage of yours")

    def reopen(self, storage: Storage) -> Storage:
        """Another object on the same logs, as another process would open them.

        The first may still be in use. A storage in memory returns itself.
        """
        raise NotImplementedError("reopen(storage): another object on the same logs")

    # --- one writer -------------------------------------------------------------------------------

    def test_events_come_back_as_they_were_appended(self, tmp_path: Path) -> None:
        """Every field, to the bit, and with its type."""
        storage = self.make_storage(tmp_path)
        written = [
            Event(ev.CREATED, data='{"text": "line\nbreak, \'quotes\' é 漢 🙂"}', at=1.7e9),
            Event(ev.ASKED, "key é", 2**40, data="+1,2"),
            Event(ev.TOLD, "x" * 5000, -1, 0.1 + 0.2, at=1e-300),
            *(Event(ev.TOLD, reward=reward) for reward in (0.0, 5e-324, -1.7e308, 1 / 3)),
        ]
        for event in written:
            storage.append("s", [event])
        found = list(storage.read("s"))
        assert [repr(event) for event in found] == [repr(event) for event in written]
        assert all(isinstance(event, Event) for event in found)

    def test_a_log_is_read_from_anywhere(self, tmp_path: Path) -> None:
        """From number `start` on, counted from 0, to the end."""
        storage = self.make_storage(tmp_path)
        for count in (1, 2, 255, 256, 257, 2256, 2257, 4400):
            name, events = f"of {count}", log(count)
            storage.append(name, events)
            for start in sorted({0, 1, count // 2, count - 1, count, count + 5}):
                assert list(storage.read(name, start)) == events[start:], f"{name}, from {start}"

    def test_batches_follow_each_other(self, tmp_path: Path) -> None:
        """Small and large, empty ones included."""
        storage, events, at = self.make_storage(tmp_path), log(700), 0
        for size in (1, 1, 0, 5, 99, 1, 300, 0, 293):
            storage.append("s", events[at : at + size])
            at += size
            assert list(storage.read("s", at - size)) == events[at - size : at]
        assert list(storage.read("s")) == events

    def test_a_large_batch_is_one_append(self, tmp_path: Path) -> None:
        """Ten thousand events at once."""
        storage, events = self.make_storage(tmp_path), log(10_000)
        storage.append("s", events)
        assert list(self.reopen(storage).read("s")) == events

    def test_an_unknown_study_is_empty(self, tmp_path: Path) -> None:
        """Looking for it neither fails nor begins it."""
        storage = self.make_storage(tmp_path)
        assert list(storage.read("s")) == []
        storage.append("other", log(3))
        assert list(storage.read("s")) == []
        assert list(storage.read("s", 2)) == []
        if isinstance(storage, ListingStorage):
            assert storage.studies() == ["other"]

    def test_studies_are_kept_apart(self, tmp_path: Path) -> None:
        """Whatever they are called."""
        storage = self.make_storage(tmp_path)
        names = ["s", "S", "", " s", "s; DROP TABLE studies", "a/b", "é", "../s", "x" * 300]
        for i in range(3):
            for name in names:
                storage.append(name, [Event(ev.TOLD, f"{name} {i}")])
        for each in (storage, self.reopen(storage)):
            for name in names:
                assert [event.key for event in each.read(name)] == [f"{name} {i}" for i in range(3)]

    def test_nothing_is_dropped_as_a_duplicate(self, tmp_path: Path) -> None:
        """A log holds what was appended; which of two answers counts is the study's to say."""
        storage, event = self.make_storage(tmp_path), Event(ev.TOLD, "same", 0, 0.5)
        storage.append("s", [event, event])
        storage.append("s", [event])
        assert list(storage.read("s")) == [event] * 3

    def test_a_batch_that_fails_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """All or none, also where the batch itself raises half way."""
        storage = self.make_storage(tmp_path)
        storage.append("s", log(3))
        with pytest.raises(_HalfWay):
            storage.append("s", _Torn(log(10)))
        assert list(storage.read("s")) == log(3)
        storage.append("s", log(5)[3:])
        assert list(self.reopen(storage).read("s")) == log(5)

    def test_the_callers_list_is_not_kept(self, tmp_path: Path) -> None:
        """It may be used again for the next batch."""
        storage, batch = self.make_storage(tmp_path), log(3)
        storage.append("s", batch)
        batch.clear()
        assert list(storage.read("s")) == log(3)

    # --- opened again -----------------------------------------------------------------------------

    def test_opened_again_it_has_everything(self, tmp_path: Path) -> None:
        """And what is added then comes after it."""
        storage = self.make_storage(tmp_path)
        for i in range(4):
            storage.append("s", log(4)[i : i + 1])
            storage.append("t", log(2 * i, f"t{i}"))
        again = self.reopen(storage)
        assert list(again.read("s")) == log(4)
        assert list(again.read("t")) == [event for i in range(4) for event in log(2 * i, f"t{i}")]
        again.append("s", log(6)[4:])
        assert list(self.reopen(again).read("s")) == log(6)

    def test_two_objects_see_what_the_other_appends(self, tmp_path: Path) -> None:
        """In one order, the same for both."""
        one = self.make_storage(tmp_path)
        one.append("s", log(1))
        two = self.reopen(one)
        for i in range(1, 9):
            (one, two)[i % 2].append("s", log(9)[i : i + 1])
            assert list(one.read("s")) == list(two.read("s")) == log(i + 1)

    # --- several at once --------------------------------------------------------------------------

    def test_two_writers_at_once_lose_nothing(self, tmp_path: Path) -> None:
        """No event missing, doubled or out of its writer's order; no batch torn apart."""
        storage = self.make_storage(tmp_path)
        storage.append("s", [Event(ev.CREATED)])
        other, batches = self.reopen(storage), 40

        def write(which: Storage, who: str, size: int) -> None:
            events = log(batches * size, who)
            for i in range(0, len(events), size):
                which.append("s", events[i : i + size])

        jobs = [(storage, "a", 1), (other, "b", 1), (storage, "c", 7), (other, "d", 7)]
        _at_once([partial(write, *job) for job in jobs])
        for each in (storage, other, self.reopen(storage)):
            first, *rest = each.read("s")
            assert first.kind == ev.CREATED
            assert len(rest) == 2 * batches * 8
            for _, who, size in jobs:
                places = [i for i, event in enumerate(rest) if event.key.startswith(f"{who}-")]
                assert [rest[i] for i in places] == log(batches * size, who), f"writer {who}"
                starts = places[::size]
                assert places == [start + i for start in starts for i in range(size)], "torn"

    def test_a_reader_sees_a_beginning_of_the_log(self, tmp_path: Path) -> None:
        """While others write: never a gap, never less than before."""
        storage, events = self.make_storage(tmp_path), log(600)
        storage.append("s", events[:1])
        reader, seen, done = self.reopen(storage), list[list[Event]](), threading.Event()

        def write() -> None:
            try:
                for i in range(1, len(events), 3):
                    storage.append("s", events[i : i + 3])
            finally:
                done.set()

        def read() -> None:
            while not done.is_set():
                seen.append(list(reader.read("s")))

        begun = storage.read("s")  # before the rest is there
        _at_once([write, read])
        early = list(begun)
        for found in (early, *seen):
            assert found == events[: len(found)]
        assert early, "an iterator that was begun has lost what was there"
        assert [len(found) for found in seen] == sorted(len(found) for found in seen)
        assert list(reader.read("s")) == events

    # --- a study on it ----------------------------------------------------------------------------

    def test_an_answer_counts_once_whoever_tells_it(self, tmp_path: Path) -> None:
        """Two studies answer every pull differently at the same time: one of them is refused."""
        storage = self.make_storage(tmp_path)
        settings: dict[str, Any] = {"policy": "uniform", "variant": "heuristic", "seed": 1}
        one = Study("s", "ab", k=1, storage=storage, lease=1e6, **settings)
        pulls = one.ask(30)
        two, refused = Study("s", storage=self.reopen(storage)), list[str]()

        def tell(study: Study, reward: float) -> None:
            for pull in pulls:
                try:
                    study.tell(pull, reward)
                except PullError:
                    refused.append(pull.id)

        _at_once([lambda: tell(one, 0.25), lambda: tell(two, 0.75)])
        assert sorted(refused) == sorted(pull.id for pull in pulls)
        means = [
            [arm.mean for arm in study.result.arms]
            for study in (one, two, Study("s", storage=self.reopen(storage)))
        ]
        assert means[0] == means[1] == means[2]
        assert one.result.samples == two.result.samples == 30

    def test_a_study_goes_on_where_it_stood(self, tmp_path: Path) -> None:
        """Opened anew all the time, it decides as one that lives in memory."""
        storage, worth = self.make_storage(tmp_path), {"a": 0.0, "b": 1.0, "c": 0.0, "d": 1.0}
        settings: dict[str, Any] = {"k": 2, "rewards": Bernoulli(), "seed": 4}
        memory = Study("s", "abcd", storage=MemoryStorage(), **settings)
        study = Study("s", "abcd", storage=storage, **settings)
        while pulls := memory.ask():
            (pull,) = study.ask()
            assert (pull.arm, pull.index) == (pulls[0].arm, pulls[0].index)
            study.tell(pull, worth[str(pull.arm)])
            memory.tell(pulls[0], worth[str(pull.arm)])
            if memory.samples % 3 == 0:
                storage = self.reopen(storage)
                study = Study("s", storage=storage)
        assert study.ask() == []
        assert set(study.result.top) == {"b", "d"}
        assert study.result.certified

    # --- where it is offered ----------------------------------------------------------------------

    def test_studies_are_listed(self, tmp_path: Path) -> None:
        """`studies()`: oldest first, also when opened again."""
        storage = self.make_storage(tmp_path)
        if not isinstance(storage, ListingStorage):
            pytest.skip("studies() is not offered")
        assert storage.studies() == []
        for name in ("b", "a", "", "b"):
            storage.append(name, log(1))
        again = self.reopen(storage)
        assert isinstance(again, ListingStorage)
        assert storage.studies() == again.studies() == ["b", "a", ""]

    def test_columns_are_what_is_read(self, tmp_path: Path) -> None:
        """Plain pulls, one that was forgotten, plain ones again."""
        storage = self.make_storage(tmp_path)
        if not isinstance(storage, ColumnStorage):
            pytest.skip("the storage reads events alone")
        events = [Event(ev.CREATED, data="{}", at=1.0)]
        for i in range(700):
            told = Event(ev.TOLD, f"é-{i}", -1, i / 7, "", i + 0.5)
            lost = Event(ev.FORGOTTEN, f"é-{i}", at=i + 0.5)
            events += [Event(ev.ASKED, f"é-{i}", i % 300, 0.0, "+", float(i))]
            events += [lost if i == 400 else told]
        storage.append("s", events)
        for start, last in ((1, 400), (803, 700)):
            read: list[Event] = []
            for keys, arms, rewards, asked, told_at in storage.columns("s", start):
                for key, arm, reward, at, then in zip(
                    keys, arms, rewards, asked, told_at, strict=True
                ):
                    read += [Event(ev.ASKED, key, arm, 0.0, "+", at)]
                    read += [Event(ev.TOLD, key, -1, reward, "", then)]
            assert read == events[start : start + len(read)]
            assert start + len(read) <= 2 * last + 1

    def test_the_number_of_the_last_event_is_known(self, tmp_path: Path) -> None:
        """`appended(study)`: events of others before it are counted."""
        one = self.make_storage(tmp_path)
        if not isinstance(one, CountingStorage):
            pytest.skip("appended() is not offered")
        assert one.appended("s") == 0
        one.append("s", log(3))
        two = self.reopen(one)
        assert isinstance(two, CountingStorage)
        two.append("s", log(2, "other"))
        one.append("s", log(4, "more"))
        assert one.appended("s") == 9
        two.append("s", log(1, "last"))
        assert two.appended("s") == 10
        assert one.appended("t") == 0

    def test_others_wait_while_one_is_alone(self, tmp_path: Path) -> None:
        """`alone()`: nothing comes between what is appended in it."""
        storage = self.make_storage(tmp_path)
        if not isinstance(storage, ExclusiveStorage):
            pytest.skip("alone() is not offered")
        storage.append("s", [Event(ev.CREATED)])
        other, inside = self.reopen(storage), threading.Event()

        def alone() -> None:
            with storage.alone():
                inside.set()
                for event in log(3, "alone"):
                    storage.append("s", [event])
                    threading.Event().wait(0.05)  # time enough for the other

        def intrude() -> None:
            inside.wait(PATIENCE)
            other.append("s", log(1, "other"))

        _at_once([alone, intrude])
        written = [*log(3, "alone"), *log(1, "other")]
        assert list(self.reopen(storage).read("s", 1)) == written

    def test_closing_loses_nothing(self, tmp_path: Path) -> None:
        """`close()`: twice is as good as once."""
        storage = self.make_storage(tmp_path)
        if not isinstance(storage, ClosingStorage):
            pytest.skip("close() is not offered")
        storage.append("s", log(5))
        storage.close()
        storage.close()
        assert list(self.reopen(storage).read("s")) == log(5)


class _HalfWay(Exception):
    """Raised by a batch."""


class _Torn(Sequence[Event]):
    """Events that cannot all be had."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice) or not -len(self) // 2 <= i < len(self) // 2:
            raise _HalfWay
        return self._events[i]


def _at_once(jobs: Sequence[Callable[[], None]]) -> None:
    """Each in a thread of its own, begun together; raises what the first of them raised."""
    gate, errors = threading.Barrier(len(jobs)), list[BaseException]()

    def run(job: Callable[[], None]) -> None:
        try:
            gate.wait(PATIENCE)
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a thread is stuck"
