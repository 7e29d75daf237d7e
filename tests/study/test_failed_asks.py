"""An ask that fails, as the storage is away for instance, leaves no pull that nobody makes."""

import pytest

from bestk.errors import StorageError
from bestk.storage import MemoryStorage
from bestk.study import Study


class Away(MemoryStorage):
    """Refuses one append; that event is in the log all the same, or not (`is_done`)."""

    def __init__(self):
        super().__init__()
        self.left, self.is_done = 0, False

    def append(self, study, events):
        self.left -= 1
        if self.left == 0 and not self.is_done:
            raise StorageError("away")
        super().append(study, events)
        if self.left == 0:
            raise StorageError("away")


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("lease", [None, 1000.0])
def test_its_pulls_are_those_of_the_next_ask(is_done, lease):
    storage = Away()
    study = Study("s", "abc", k=1, storage=storage, seed=1, lease=lease)
    (mine,) = study.ask()
    storage.left, storage.is_done = 3, is_done
    with pytest.raises(StorageError, match="away"):
        study.ask(5)
    left = [pull for pull in study.open if pull != mine]
    pulls = study.ask(5)
    assert left
    assert pulls[: len(left)] == left
    assert mine not in pulls
    assert len({pull.id for pull in pulls}) == 5
    assert {pull.id for pull in study.open} == {pull.id for pull in [mine, *pulls]}
    for pull in [mine, *pulls]:
        study.tell(pull, 0.5)
    assert not study.waiting_for


@pytest.mark.parametrize("is_done", [False, True])
def test_a_pull_of_one_who_died_is_handed_out_though_taking_it_over_failed(is_done):
    storage = Away()
    pulls = Study("s", "abc", k=1, storage=storage, seed=1).ask(2)  # whose object is gone
    study = Study("s", storage=storage)
    storage.left, storage.is_done = 1, is_done
    with pytest.raises(StorageError, match="away"):
        study.ask(2)
    assert study.ask(2) == pulls
    assert study.ask(1)[0] not in pulls
