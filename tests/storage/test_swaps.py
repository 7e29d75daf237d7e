"""What is acknowledged is in the file, whatever happens around it: swaps, forks, others, clocks."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bestk.errors import PullError, StorageError
from bestk.storage import Event, MemoryStorage, SQLiteStorage, identity
from bestk.storage import events as ev
from bestk.storage.backup import backup
from bestk.study import Study
from helpers.damage import python, snapshot

SETTINGS = {"arms": "abc", "k": 1, "policy": "uniform", "variant": "heuristic", "seed": 1}
OPEN_AND_CLOSE = (
    "import sys; from bestk.storage import SQLiteStorage\n"
    "storage = SQLiteStorage(sys.argv[1]); list(storage.read('s')); storage.close()"
)


def tell_until_refused(study, most=20):
    """The pulls that were acknowledged."""
    kept = []
    with pytest.raises(StorageError) as refusal:  # noqa: PT012 - any of them may be the last
        for _ in range(most):
            (pull,) = study.open or study.ask()
            study.tell(pull, 0.5)
            kept.append(pull.id)
    return kept, str(refusal.value)


TOLD = (
    "import sys; from bestk.storage import SQLiteStorage\n"
    "print(*(e.key for e in SQLiteStorage(sys.argv[1]).read('s') if e.kind == 2))"
)
WORK = (
    "import sys; from bestk.study import Study\n"
    "study = Study('s', storage=sys.argv[1])\n"
    "study.tell_many([(pull, 0.5) for pull in study.ask(int(sys.argv[2]))])\n"
)


def told(path):
    """What another process reads."""
    done = python(TOLD, path)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def work(path, pulls):
    """Another process tells so much."""
    done = python(WORK, path, str(pulls))
    assert done.returncode == 0, done.stderr


def begun(path, pulls=3):
    study = Study("s", storage=path, **SETTINGS)
    for pull in study.ask(pulls):
        study.tell(pull, 0.5)
    return study


# --- the file is swapped --------------------------------------------------------------------------


def removed(path):
    path.unlink()
    return "it was removed"


def replaced(path):
    backup(path, path.with_name("copy.db"))
    os.replace(path.with_name("copy.db"), path)
    return "another file was put in its place"


def moved(path):
    path.rename(path.with_name("elsewhere.db"))
    return "it was removed"


def copied(path):
    shutil.copyfile(path, path.with_name("copy.db"))  # drops the locks of this process
    assert python(OPEN_AND_CLOSE, path).returncode == 0  # and so this one is the last
    return "its write-ahead file was removed"


@pytest.mark.parametrize("swap", [removed, replaced, moved, copied])
def test_a_file_that_is_swapped_takes_no_more(swap, tmp_path):
    path = tmp_path / "study.db"
    study = begun(path)
    said = swap(path)
    for _ in range(2):  # nor later
        kept, why = tell_until_refused(study)
        assert kept == []
        assert said in why
        assert "may not be in the file" in why
    assert study.samples == 3


def test_nor_one_in_a_folder_that_was_quiet(tmp_path):
    path = tmp_path / "study.db"
    study = begun(path)
    watch = study._journal.storage._watch
    changed = os.stat(tmp_path).st_ctime_ns
    while watch._settled != changed:  # until the clock of the file system has gone on
        assert watch.swapped() is None
    (pull,) = study.ask()
    study.tell(pull, 0.5)
    copied(path)
    assert tell_until_refused(study)[0] == []
    assert len(told(path)) == 4


@pytest.mark.parametrize("swap", [copied, replaced])
@pytest.mark.parametrize("notices", [True, False])
def test_the_one_that_was_swapped_does_not_harm_what_took_its_place(swap, notices, tmp_path):
    """Closing moves the pages of a write-ahead file into the file, over what others wrote."""
    path = tmp_path / "study.db"
    study = begun(path)
    swap(path)
    work(path, 300)
    if notices:
        assert tell_until_refused(study)[0] == []
    study._journal.storage.close()
    work(path, 10)
    assert len(told(path)) == 313


def test_a_process_whose_file_was_swapped_does_not_open_it_again(tmp_path):
    """SQLite would share the index of a write-ahead file that is gone."""
    path = tmp_path / "study.db"
    study = begun(path)
    copied(path)
    for _ in range(2):  # before and after it was noticed
        for read_only in (True, False):
            with pytest.raises(StorageError, match="open it in a new one"):
                SQLiteStorage(path, read_only=read_only)
        tell_until_refused(study)
    work(path, 10)
    assert len(told(path)) == 13


def test_folders_that_are_removed_cost_no_open_files(tmp_path):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for i in range(20):
        folder = tmp_path / str(i)
        folder.mkdir()
        storage = SQLiteStorage(folder / "study.db")
        storage.append("s", [Event(ev.CREATED)])
        shutil.rmtree(folder)
        storage.close()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_a_backup_is_taken_from_a_file_that_is_written_to(tmp_path):
    path = tmp_path / "study.db"
    study = begun(path)
    stop, failed = threading.Event(), []

    def go_on():
        try:
            while not stop.is_set():
                study.tell(study.ask()[0], 0.5)
        except Exception as error:
            failed.append(error)

    worker = threading.Thread(target=go_on)
    worker.start()
    seen = study.samples
    for i in range(5):
        assert backup(path, tmp_path / f"{i}.db") >= 1 + 2 * seen
        copy = Study("s", storage=tmp_path / f"{i}.db")
        assert copy.samples >= seen
        seen = copy.samples
    stop.set()
    worker.join()
    assert failed == []
    assert len(told(path)) == study.samples
    assert not [name for name in snapshot(tmp_path) if ".new" in name]


def test_a_file_that_another_thread_closes_meanwhile_was_not_swapped(tmp_path, monkeypatch):
    path, real = tmp_path / "study.db", identity._identity
    study = Study("s", "abc", k=1, storage=path, seed=1)
    study.tell(study.ask()[0], 0.5)

    def look(name):
        if name.endswith("-wal"):
            study._journal.storage.close()  # between the look at the file and this one
        return real(name)

    monkeypatch.setattr(identity, "_identity", look)
    assert Path(f"{path}-wal").exists()
    assert identity.stale(path) is None
    assert not Path(f"{path}-wal").exists()


# --- forks ----------------------------------------------------------------------------------------

FORKS = """
import os, sys, threading
from bestk.study import Study
study = Study("s", "abc", k=1, storage=sys.argv[1] if sys.argv[2] == "file" else None,
              policy="uniform", variant="heuristic", seed=1)
told, stop = threading.Semaphore(0), threading.Event()
def work():
    while not stop.is_set():
        study.tell(study.ask()[0], 0.5)
        told.release()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(30):
    told.acquire()  # others are in the middle of it
    child = os.fork()
    if child == 0:
        before = study.samples
        study.tell(study.ask()[0], 0.25)
        os._exit(0 if study.samples > before else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("where", ["file", "memory"])
def test_a_child_forked_while_threads_tell_goes_on(where, tmp_path):
    path = tmp_path / "study.db"
    Study("warm", "ab", k=1).ask()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, path, where],
        timeout=120, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if where == "file":
        rewards = [e.reward for e in SQLiteStorage(path).read("s") if e.kind == ev.TOLD]
        assert rewards.count(0.25) == 30


# --- answers of several processes -----------------------------------------------------------------


class Meanwhile(SQLiteStorage):
    """Another process does something just before this one appends several events."""

    def __init__(self, path, act):
        super().__init__(path)
        self.act = act

    def append(self, study, events):
        if len(events) > 1 and self.act is not None:
            act, self.act = self.act, None
            act()
        super().append(study, events)

    def alone(self):
        if self.act is not None:
            act, self.act = self.act, None
            act()
        return super().alone()


@pytest.mark.parametrize("what", ["another value", "given up", "the same value"])
def test_several_answers_are_told_all_or_none(what, tmp_path):
    path = tmp_path / "study.db"
    other = Study("s", storage=path, **SETTINGS)
    pulls = other.ask(4)
    act = {
        "another value": lambda: other.tell(pulls[2], 0.75),
        "given up": lambda: other.forget(pulls[2]),
        "the same value": lambda: other.tell(pulls[2], 0.5),
    }[what]
    study = Study("s", storage=Meanwhile(path, act))
    answers = [(pull, 0.5) for pull in pulls]
    if what == "the same value":
        study.tell_many(answers)
        assert study.samples == 4
    else:
        with pytest.raises(PullError, match="refused"):
            study.tell_many(answers)
        mine = [] if what == "given up" else [pulls[2].id]
        assert told(path) == mine
        assert study.samples == len(mine)
        study.tell_many(answers[:2])  # what remains can be told
    assert other.result.samples == study.result.samples


def test_so_are_those_of_threads_that_share_a_memory():
    log = MemoryStorage()
    one, two = Study("s", storage=log, **SETTINGS), Study("s", storage=log, **SETTINGS)
    pulls = one.ask(2000)
    refused = []

    def tell(study, value):
        for i in range(0, len(pulls), 20):
            try:
                study.tell_many([(pull, value) for pull in pulls[i : i + 20]])
            except PullError:
                refused.append(i)

    threads = [threading.Thread(target=tell, args=each) for each in ((one, 0.25), (two, 0.5))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = [event for event in log.read("s") if event.kind == ev.TOLD]
    assert len(events) == len(pulls)
    assert len(refused) == 100


# --- clocks ---------------------------------------------------------------------------------------

DAY_AHEAD = """
import sys, time
real = time.time
time.time = lambda: real() + float(sys.argv[2])
from bestk.study import Study
study = Study("s", storage=sys.argv[1])
for _ in range(3):
    for pull in study.ask(2):
        study.tell(pull, 0.5)
"""


@pytest.mark.parametrize("shift", [86400, -86400])
def test_a_clock_that_is_wrong_ends_nobodys_lease(shift, tmp_path):
    path = tmp_path / "study.db"
    study = Study("s", storage=path, lease=3600, **SETTINGS)
    pulls = study.ask(5)
    done = python(DAY_AHEAD, path, str(shift))
    assert done.returncode == 0, done.stderr
    study.ask()  # nor do those of the other by ours
    assert {pull.id for pull in pulls} <= {pull.id for pull in study.open}
    study.tell_many([(pull, 0.5) for pull in pulls])
    assert study.samples == 11


def test_a_lease_runs_from_when_a_process_sees_the_pull(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    (pull,) = Study("s", storage=path, lease=60, **SETTINGS).ask()
    now = [time.monotonic()]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    later = Study("s", storage=path)
    now[0] += 59
    later.ask()
    assert pull.id in {each.id for each in later.open}
    now[0] += 2
    later.ask()
    assert pull.id not in {each.id for each in later.open}
