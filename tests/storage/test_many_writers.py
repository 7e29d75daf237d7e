"""Threads and processes on one file at once: nothing lost, nothing torn apart."""

import os
import subprocess
import sys
import threading

import pytest

from bestk.storage import Event, SQLiteStorage
from bestk.storage import events as ev
from bestk.storage.doctor import Examination
from bestk.study import Study
from helpers.damage import python, told

WRITER = """
import sys
from bestk.storage import Event, SQLiteStorage
path, who, count, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
storage = SQLiteStorage(path)
for i in range(0, count, batch):
    storage.append("s", [Event(2, f"{who}-{j}") for j in range(i, i + batch)])
"""


def writers(path, *, names, count, batch):
    return [
        subprocess.Popen([sys.executable, "-c", WRITER, path, name, str(count), str(batch)])
        for name in names
    ]


def by_writer(path):
    found = {}
    for event in SQLiteStorage(path).read("s"):
        who, number = event.key.split("-")
        found.setdefault(who, []).append(int(number))
    return found


def test_two_processes_and_two_threads_append_at_once(tmp_path):
    path = tmp_path / "study.db"
    storage = SQLiteStorage(path)

    def write_too(who):
        for i in range(500):
            storage.append("s", [Event(ev.TOLD, f"{who}-{i}")])

    processes = writers(path, names="ab", count=500, batch=1)
    threads = [threading.Thread(target=write_too, args=(who,)) for who in "cd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait() for process in processes] == [0, 0]
    assert by_writer(path) == {who: list(range(500)) for who in "abcd"}


def test_a_batch_is_not_torn_apart(tmp_path):
    path = tmp_path / "study.db"
    assert [p.wait() for p in writers(path, names="ab", count=400, batch=20)] == [0, 0]
    keys = [event.key.split("-") for event in SQLiteStorage(path).read("s")]
    for i in range(0, 800, 20):
        assert len({who for who, _ in keys[i : i + 20]}) == 1
    assert by_writer(path) == {who: list(range(400)) for who in "ab"}


def test_many_threads_make_one_file_at_the_same_moment(tmp_path):
    path, gate, errors = tmp_path / "study.db", threading.Barrier(8), []

    def begin(who):
        try:
            gate.wait()
            storage = SQLiteStorage(path)
            for i in range(5):
                storage.append("s", [Event(ev.TOLD, f"{who}-{i}")])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(str(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert by_writer(path) == {str(i): list(range(5)) for i in range(8)}
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".new")]


def test_two_processes_tell_one_study_at_once(tmp_path):
    path = tmp_path / "study.db"
    study = Study("s", "abc", k=1, storage=path, policy="uniform", variant="heuristic", seed=1)
    pulls = study.ask(400)
    code = (
        "import sys; from bestk.study import Study\n"
        f"study = Study('s', storage={str(path)!r})\n"
        "for key in sys.stdin.read().split():\n"
        "    study.tell(key, 0.5)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True)
    other.stdin.write("\n".join(pull.id for pull in pulls[::2]))
    other.stdin.close()
    for pull in pulls[1::2]:
        study.tell(pull, 0.25)
    assert other.wait() == 0
    assert study.result.samples == 400
    assert sorted(told(SQLiteStorage(path))) == sorted(pull.id for pull in pulls)


OPEN_AND_CLOSE = (
    "import sys; from bestk.storage import SQLiteStorage; SQLiteStorage(sys.argv[1]).close()"
)


def test_looking_at_a_file_does_not_drop_the_locks_of_its_writer(tmp_path):
    """A process that opens and closes a file by itself loses SQLite's locks on it."""
    path = tmp_path / "study.db"
    writer = SQLiteStorage(path)
    writer.append("s", [Event(ev.TOLD, "a-0")])
    SQLiteStorage(path).close()
    SQLiteStorage(path, read_only=True).close()
    Examination(path).close()
    done = python(OPEN_AND_CLOSE, path)  # would remove the write-ahead file, were it alone
    assert done.returncode == 0, done.stderr
    writer.append("s", [Event(ev.TOLD, "a-1")])
    assert by_writer(path) == {"a": [0, 1]}


FORK = """
import os, sys
from bestk.storage import Event, SQLiteStorage
storage = SQLiteStorage(sys.argv[1])
storage.append("s", [Event(2, "parent-0")])
ready, go = os.pipe(), os.pipe()
if os.fork() == 0:
    storage.append("s", [Event(2, "child-0")])
    os.write(ready[1], b"x")
    os.close(go[1])
    os.read(go[0], 1)  # until the parent is gone
    for i in range(1, 50):
        storage.append("s", [Event(2, f"child-{i}")])
    os._exit(0)
os.read(ready[0], 1)
storage.append("s", [Event(2, "parent-1")])
storage.close()  # moves what the write-ahead file holds, and would remove it if nobody used it
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_connection_of_its_own(tmp_path):
    path = tmp_path / "study.db"
    process = subprocess.Popen([sys.executable, "-c", FORK, path], stdout=subprocess.PIPE)
    process.communicate()  # until parent and child have both closed their output
    assert by_writer(path) == {"parent": [0, 1], "child": list(range(50))}
