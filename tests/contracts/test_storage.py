"""Every storage keeps the contract of storages, and storages that break it are caught."""

from contextlib import nullcontext
from time import sleep

import pytest

from bestk.storage import MemoryStorage, SQLiteStorage
from bestk.storage.events import Columns
from bestk.testing import StorageContract
from helpers.mutants import never_failing, survived


class Memory(StorageContract):
    make = MemoryStorage

    def make_storage(self, folder):  # noqa: ARG002 - nothing is written
        return type(self).make()

    def reopen(self, storage):
        return storage


class TestMemoryStorage(Memory):
    pass


class TestSQLiteStorage(StorageContract):
    def make_storage(self, folder):
        return SQLiteStorage(folder / "study.db")

    def reopen(self, storage):
        return SQLiteStorage(storage.path)


class TwoMethods:
    """The least that a storage is."""

    def __init__(self):
        self._storage = MemoryStorage()
        self.append, self.read = self._storage.append, self._storage.read


class TestTwoMethodsAreEnough(Memory):
    make = TwoMethods


# --- broken ones ----------------------------------------------------------------------------------


class Forgetful(MemoryStorage):
    """Drops what it has seen before."""

    def append(self, study, events):
        known = set(self.read(study))
        super().append(study, [event for event in events if event not in known])


class Rounding(MemoryStorage):
    """Keeps rewards as single precision would."""

    def append(self, study, events):
        super().append(study, [event._replace(reward=round(event.reward, 7)) for event in events])


class Torn(MemoryStorage):
    """One by one: other writers come in between, and half a batch stays."""

    def append(self, study, events):
        self._logs.setdefault(study, [])
        for event in events:
            super().append(study, [event])
            sleep(1e-5 if len(events) < 10 else 0.0)


class Racing(MemoryStorage):
    """Reads, then writes, without a lock."""

    def append(self, study, events):
        log = [*self.read(study), *events]
        sleep(1e-5)
        self._logs[study] = log


class OneTooFar(MemoryStorage):
    """Counts from 1."""

    def read(self, study, start=0):
        return super().read(study, max(0, start - 1))


class Capped(MemoryStorage):
    """Reads one page and forgets the others."""

    def read(self, study, start=0):
        return iter(list(super().read(study, start))[:2000])


class Keeping(MemoryStorage):
    """Keeps the list that it is given."""

    def append(self, study, events):
        if study in self._logs:
            super().append(study, events)
        else:
            self._logs[study] = events if isinstance(events, list) else list(events)


class Eager(MemoryStorage):
    """Begins a study by looking for it."""

    def read(self, study, start=0):
        self._logs.setdefault(study, [])
        return super().read(study, start)


class Lower(MemoryStorage):
    """Takes names for the same that are not."""

    def append(self, study, events):
        super().append(study.lower(), events)

    def read(self, study, start=0):
        return super().read(study.lower(), start)


class Sorted(MemoryStorage):
    def studies(self):
        return sorted(super().studies())


class Miscounting(MemoryStorage):
    """Knows what it appended, but not where."""

    def __init__(self):
        super().__init__()
        self._last = 0

    def append(self, study, events):
        super().append(study, events)
        self._last = len(events)

    def appended(self, study):  # noqa: ARG002
        return self._last


class NeverAlone(MemoryStorage):
    def alone(self):
        return nullcontext()


class Slippery(MemoryStorage):
    def close(self):
        self._logs.clear()


class Pairing(MemoryStorage):
    """Takes every two events for a pull that was asked for and told."""

    def columns(self, study, start):
        events = list(self.read(study, start))
        pairs = zip(events[::2], events[1::2], strict=False)
        yield Columns(*zip(*((a.key, a.arm, b.reward, a.at, b.at) for a, b in pairs), strict=True))


class Tuples(MemoryStorage):
    def read(self, study, start=0):
        return map(tuple, super().read(study, start))


class Newest(MemoryStorage):
    """Newest first."""

    def read(self, study, start=0):
        return reversed(list(super().read(study, start)))


class Copies(Memory):
    """What is opened has a copy."""

    def reopen(self, storage):
        copy = MemoryStorage()
        for name in storage.studies():
            copy.append(name, list(storage.read(name)))
        return copy


class Empty(Memory):
    """What is opened again has nothing."""

    def reopen(self, storage):  # noqa: ARG002
        return MemoryStorage()


BROKEN = {
    Forgetful: "test_nothing_is_dropped_as_a_duplicate",
    Rounding: "test_events_come_back_as_they_were_appended",
    Tuples: "test_events_come_back_as_they_were_appended",
    Torn: "test_a_batch_that_fails_leaves_nothing_behind test_two_writers_at_once_lose_nothing",
    Racing: "test_two_writers_at_once_lose_nothing test_an_answer_counts_once_whoever_tells_it",
    OneTooFar: "test_a_log_is_read_from_anywhere test_batches_follow_each_other",
    Capped: "test_a_large_batch_is_one_append",
    Newest: "test_a_reader_sees_a_beginning_of_the_log test_a_study_goes_on_where_it_stood",
    Keeping: "test_the_callers_list_is_not_kept",
    Eager: "test_an_unknown_study_is_empty",
    Lower: "test_studies_are_kept_apart",
    Sorted: "test_studies_are_listed",
    Miscounting: "test_the_number_of_the_last_event_is_known",
    NeverAlone: "test_others_wait_while_one_is_alone",
    Slippery: "test_closing_loses_nothing",
    Pairing: "test_columns_are_what_is_read",
    Copies: "test_two_objects_see_what_the_other_appends",
    Empty: "test_opened_again_it_has_everything test_a_large_batch_is_one_append",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_storage_is_caught(broken, tmp_path):
    is_contract = issubclass(broken, StorageContract)
    contract = broken if is_contract else type("Contract", (Memory,), {"make": broken})
    assert survived(contract, BROKEN[broken], tmp_path) == set()


def test_every_test_of_the_suite_can_fail():
    assert never_failing(StorageContract, BROKEN) == set()
