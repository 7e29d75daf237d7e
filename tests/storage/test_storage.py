"""Files of studies: nothing acknowledged is lost, and what cannot be used is refused unchanged."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from bestk.errors import InputError, StorageError
from bestk.storage import Event, SQLiteStorage, files, wal
from bestk.storage import events as ev
from bestk.storage.doctor import Examination
from bestk.study import Study
from bestk.study.reading import open_study
from helpers import damage
from helpers.damage import powerless, python, snapshot, sql, write, write_and_die

PATHS = [str(Path(__file__).parents[i]) for i in (0, 1)]  # of this module, and of its helpers


def told(storage, name="s"):
    return [event.key for event in storage.read(name) if event.kind == ev.TOLD]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", damage.NOT_OURS + damage.DAMAGED)
def test_what_cannot_be_used_is_refused_and_left_as_it_is(make, tmp_path):
    path = tmp_path / "study.db"
    make(path)
    before = snapshot(tmp_path)
    for read_only in (True, False):
        with pytest.raises(StorageError, match=r"study\.db was refused") as refusal:
            list(SQLiteStorage(path, read_only=read_only).read("s"))
        assert ("bestk doctor" in str(refusal.value)) == (make in damage.DAMAGED)
    with pytest.raises(StorageError, match=r"study\.db was refused"):
        Study("s", "abcde", k=2, storage=path)
    with pytest.raises(StorageError, match=r"study\.db was refused"):
        open_study(path)
    assert snapshot(tmp_path) == before


def test_the_refusal_says_what_is_wrong(tmp_path):
    said = {}
    for make in damage.NOT_OURS:
        make(tmp_path / make.__name__)
        with pytest.raises(StorageError) as refusal:
            SQLiteStorage(tmp_path / make.__name__)
        said[make] = str(refusal.value)
    assert "no database" in said[damage.text]
    assert "is empty" in said[damage.empty]
    assert "is a folder" in said[damage.folder]
    assert "no study of bestk" in said[damage.other_database]
    assert "newer bestk (format 7, this one reads 2)" in said[damage.newer]


def test_a_file_that_cannot_be_there_is_refused(tmp_path):
    with pytest.raises(StorageError, match="there is no folder"):
        SQLiteStorage(tmp_path / "no" / "study.db")
    with pytest.raises(StorageError, match="no such file"):
        SQLiteStorage(tmp_path / "study.db", read_only=True)
    (tmp_path / "loop").symlink_to("loop")
    for name in ("a\0b", tmp_path / "loop"):
        with pytest.raises(StorageError, match="refused"):
            SQLiteStorage(name)
    with pytest.raises(StorageError, match="durability"):
        SQLiteStorage(tmp_path / "study.db", durability="none")
    assert [p.name for p in tmp_path.iterdir()] == ["loop"]


def test_a_write_ahead_file_is_not_taken_into_a_new_study(tmp_path):
    path = write_and_die(tmp_path / "study.db")
    path.unlink()
    before = snapshot(tmp_path)
    with pytest.raises(StorageError, match=r"study\.db-wal is there"):
        SQLiteStorage(path)
    assert snapshot(tmp_path) == before


def test_text_that_a_file_cannot_hold_is_refused_whole(tmp_path):
    storage = SQLiteStorage(tmp_path / "study.db")
    storage.append("s", [Event(ev.CREATED)])
    half = Event(ev.FAILED, "a", data="half a character: \ud800")
    for batch in ([half], [Event(ev.ASKED, "a"), half]):
        with pytest.raises(StorageError, match="a file cannot hold it"):
            storage.append("s", batch)
    assert list(storage.read("s")) == [Event(ev.CREATED)]


@pytest.mark.parametrize("count", [1, 3])
def test_a_transaction_left_by_an_interrupt_holds_nothing_back(count, tmp_path):
    path = tmp_path / "study.db"
    storage = SQLiteStorage(path)
    storage.append("s", [Event(ev.CREATED)])
    storage.append("s", [Event(ev.TOLD, "before")])
    storage._connection.execute("BEGIN IMMEDIATE")  # and then Ctrl-C
    storage.append("s", [Event(ev.TOLD, "after")] * count)
    assert told(SQLiteStorage(path)) == ["before"] + ["after"] * count


# --- the write-ahead file -------------------------------------------------------------------------


def test_what_a_killed_process_told_is_read(tmp_path):
    path = write_and_die(tmp_path / "study.db", pulls=200)
    found = wal.read(tmp_path / "study.db-wal")
    assert found.valid == found.committed == len(found.frames)
    assert told(SQLiteStorage(path)) == [f"pull-{i}" for i in range(200)]


def test_a_transaction_cut_short_is_no_damage(tmp_path):
    path = write_and_die(tmp_path / "study.db", pulls=200)
    os.truncate(f"{path}-wal", 32 + 300 * damage.FRAME + 1000)
    keys = told(SQLiteStorage(path, read_only=True))
    assert 100 < len(keys) < 200
    assert keys == [f"pull-{i}" for i in range(len(keys))]


SPILL = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")  # pages are written before the end
connection.execute("BEGIN IMMEDIATE")
for key in range(1000):
    connection.execute(
        "INSERT INTO log_1 (kind, key, arm, reward, data, at, checksum)"
        " VALUES (2, ?, 0, 0, ?, 0, 0)",
        (str(key), "x" * 900),
    )
    if sys.argv[2] == "again" and key < 100:
        connection.execute("UPDATE log_1 SET reward = reward + 1 WHERE seq < 300")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("pages", ["once", "again"])
def test_nor_is_a_long_transaction_whose_writer_was_killed(pages, tmp_path):
    path = write_and_die(tmp_path / "study.db", pulls=200)
    before = wal.read(tmp_path / "study.db-wal")
    assert python(SPILL, path, pages).returncode == -signal.SIGKILL
    found = wal.read(tmp_path / "study.db-wal")
    assert len(found.frames) > len(before.frames)
    assert found.committed == before.committed
    storage = SQLiteStorage(path)
    assert len(told(storage)) == 200
    storage.append("s", [Event(ev.TOLD, "one more")])  # over the first page that was left
    left = wal.read(tmp_path / "study.db-wal")
    assert left.committed == before.committed + 1
    assert len(left.frames) == len(found.frames)
    assert len(told(SQLiteStorage(path))) == 201


def test_frames_left_from_before_are_no_damage(tmp_path):
    path = tmp_path / "study.db"
    storage = SQLiteStorage(path)
    storage.append("s", list(damage.log(500)))
    sql(path, "PRAGMA wal_checkpoint(RESTART)")
    storage.append("s", [Event(ev.ASKED, "last")])  # overwrites the first frame of many
    assert wal.read(tmp_path / "study.db-wal").valid == 1
    assert list(SQLiteStorage(path).read("s"))[-1].key == "last"


# --- locks ----------------------------------------------------------------------------------------


def test_a_locked_file_is_waited_for_and_nothing_is_lost(tmp_path):
    path = tmp_path / "study.db"
    study = Study("s", "ab", k=1, storage=SQLiteStorage(path, patience=0.05), seed=1)
    (pull,) = study.ask()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match=r"locked for 0\.05 seconds"):
        study.tell(pull, 0.5)
    assert (study.samples, study.open) == (0, [pull])
    assert study.result.samples == 0  # reading needs no lock
    other.execute("ROLLBACK")
    study.tell(pull, 0.5)
    assert open_study(path).samples == 1
    other.close()


def test_so_is_one_that_cannot_even_be_read(tmp_path):
    path = write(tmp_path / "study.db", 10)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE t (x)")
    for read_only in (True, False):
        with pytest.raises(StorageError, match="locked for 0 seconds"):
            SQLiteStorage(path, patience=0, read_only=read_only)
    with pytest.raises(StorageError, match="locked"):
        Examination(path, patience=0)
    other.execute("ROLLBACK")
    other.close()
    assert len(told(SQLiteStorage(path))) == 10


# --- disks and permissions ------------------------------------------------------------------------


def tell_until_refused(study):
    """What was acknowledged before the disk was full."""
    kept = []
    with pytest.raises(StorageError) as refusal:  # noqa: PT012 - any of them may be the last
        while True:
            (pull,) = study.open or study.ask()
            study.tell(pull, 0.5)
            kept.append(pull.id)
    return kept, str(refusal.value)


def go_on(study, path, kept):
    """With space again: the study agrees with its log, and nothing acknowledged is missing."""
    assert study.samples == len(kept)
    for _ in range(3):
        (pull,) = study.open or study.ask()
        study.tell(pull, 0.25)
        kept.append(pull.id)
    again = open_study(path)
    assert told(SQLiteStorage(path)) == kept
    assert again.samples == study.samples == len(kept)
    assert [arm.mean for arm in again.result.arms] == [arm.mean for arm in study.result.arms]


@pytest.fixture
def disk(tmp_path):
    """A disk of one megabyte."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True, check=False)
    if not mounted or mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    """Leave no byte on a disk."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    return path


def test_a_disk_that_is_full_takes_nothing_half(disk):
    path, ballast = disk / "study.db", disk / "ballast"
    ballast.write_bytes(bytes(600_000))
    study = Study("s", "abc", k=1, storage=path, policy="uniform", variant="heuristic", seed=1)
    kept, why = tell_until_refused(study)
    assert "the disk is full; free some space" in why
    assert len(kept) > 5
    more = fill(disk / "more")
    assert study.result.samples == len(kept)
    assert told(SQLiteStorage(path, read_only=True)) == kept
    more.unlink()
    ballast.unlink()
    go_on(study, path, kept)


def test_what_is_on_a_full_disk_can_be_read(disk):
    closed, killed = write(disk / "closed.db", 2000), write_and_die(disk / "killed.db", 20)
    Path(f"{killed}-shm").unlink()
    more = fill(disk / "more")
    for path, count in ((closed, 2000), (killed, 20)):
        assert len(told(SQLiteStorage(path, read_only=True))) == count
        with pytest.raises(StorageError, match="refused"):
            SQLiteStorage(path)
    with pytest.raises(StorageError, match="refused"):
        SQLiteStorage(disk / "new.db").append("s", [Event(ev.CREATED)])
    more.unlink()
    with Examination(closed) as found:
        os.truncate(fill(more), more.stat().st_size - 100_000)  # enough to begin
        with pytest.raises(StorageError, match="refused"):
            found.recover(disk / "new.db")
    more.unlink()
    assert not [p.name for p in disk.iterdir() if "new" in p.name]
    for path, count in ((closed, 2000), (killed, 20)):
        SQLiteStorage(path).append("s", [Event(ev.TOLD, "more")])
        assert len(told(SQLiteStorage(path))) == count + 1


LIMITED = """
import resource, sys
sys.path[:0] = {paths!r}
from pathlib import Path
from bestk.study import Study
from test_storage import go_on, tell_until_refused
path = Path({path!r})
study = Study("s", "abc", k=1, storage=path, policy="uniform", variant="heuristic", seed=1)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
kept, why = tell_until_refused(study)
assert "is there space" in why, why
assert len(kept) > 5, kept
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
go_on(study, path, kept)
"""


def test_nor_does_one_that_refuses_to_write(tmp_path):
    done = python(LIMITED.format(paths=PATHS, path=str(tmp_path / "study.db")))
    assert done.returncode == 0, done.stderr


ALIVE = """
import sys
from bestk.storage import Event, SQLiteStorage
storage = SQLiteStorage(sys.argv[1])
storage.append("s", [Event(1, "more", 0), Event(2, "more", reward=0.5)])
print("ready", flush=True)
sys.stdin.read()
"""

READ = """
import sys
from bestk.storage import SQLiteStorage
path = sys.argv[1]
storage = SQLiteStorage(path, read_only=True)
print(sum(event.kind == 2 for event in storage.read("s")))
for attempt in (lambda: storage.append("s", []), lambda: SQLiteStorage(path),
                lambda: SQLiteStorage(path + ".new")):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("crashed", ["closed", "killed", "killed, index gone", "alive"])
@pytest.mark.parametrize("permissions", [(0o555, 0o444), (0o555, 0o644), (0o755, 0o444)])
def test_what_is_read_only_can_be_read(crashed, permissions, tmp_path):
    damage.needs_powerless()
    home = tmp_path / "home"
    home.mkdir()
    path = home / "study.db"
    (write if crashed == "closed" else write_and_die)(path, 50)
    if crashed == "killed, index gone":
        Path(f"{path}-shm").unlink()
    alive = (
        subprocess.Popen(
            [sys.executable, "-c", ALIVE, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if crashed == "alive"
        else None
    )
    if alive:
        assert alive.stdout.readline()
    before = snapshot(home)
    for each in home.iterdir():
        each.chmod(permissions[1])
    home.chmod(permissions[0])
    try:
        done = python(READ, path, preexec_fn=powerless)
    finally:
        home.chmod(0o755)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert said[0] == str(50 + (crashed == "alive"))
    assert said[1] == f"StorageError {path} was opened to be read: nothing can be added to it"
    assert snapshot(home) == before
    if permissions[0] == 0o555:
        assert "read-only" in said[3]
    assert said[2].startswith("StorageError")
    assert "read-only" in said[2]
    for each in home.iterdir():
        each.chmod(0o644)
    if alive:
        alive.communicate()
    assert len(told(SQLiteStorage(path))) == 50 + (crashed == "alive")


def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    damage.needs_powerless()
    path = write(tmp_path / "study.db", 5)
    path.chmod(0)
    code = f"from bestk.storage import SQLiteStorage; SQLiteStorage({str(path)!r}, read_only=True)"
    done = python(code, preexec_fn=powerless)
    assert "StorageError" in done.stderr
    assert "it may not be read" in done.stderr


# --- several at once ------------------------------------------------------------------------------

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


# --- ordinary use ---------------------------------------------------------------------------------


def test_a_closed_file_is_one_file_and_opens_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    storage = SQLiteStorage("study.db")
    storage.append("s", [Event(ev.CREATED, at=5.0)])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    storage.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "study.db"]
    storage.append("s", [Event(ev.TOLD, "a", at=7.0)])
    assert [event.at for event in storage.read("s")] == [5.0, 7.0]
    assert storage.last_activity("s") == 7.0
    assert storage.last_activity("t") is None
    assert list(storage.read("t")) == []


def test_reading_a_file_leaves_nothing_behind(tmp_path):
    path = write(tmp_path / "study.db", 20)
    before = snapshot(tmp_path)
    open_study(path)
    with Examination(path) as found:
        assert found.state == "healthy"
    assert {p.name for p in tmp_path.iterdir()} == {"study.db"}
    assert snapshot(tmp_path) == before


def test_no_file_is_made_for_a_study_that_cannot_be(tmp_path):
    path = tmp_path / "study.db"
    storage = SQLiteStorage(path)
    assert (storage.studies(), list(storage.read("s")), storage.last_activity("s")) == (
        [],
        [],
        None,
    )
    for settings in ({}, {"arms": "ab", "k": 5}):
        with pytest.raises(InputError):
            Study("s", storage=path, **settings)
    assert list(tmp_path.iterdir()) == []
    SQLiteStorage(path).append("s", [Event(ev.CREATED)])
    assert list(storage.read("s")) == [Event(ev.CREATED)]


def test_a_file_that_vanishes_is_not_begun_anew(tmp_path):
    path = tmp_path / "study.db"
    storage = SQLiteStorage(path)
    storage.append("s", [Event(ev.CREATED)])
    storage.close()
    path.unlink()
    for attempt in (lambda: storage.append("s", [Event(ev.TOLD)]), lambda: storage.read("s")):
        with pytest.raises(StorageError, match="no such file"):
            attempt()
    assert list(tmp_path.iterdir()) == []


def test_a_reader_sees_what_is_told_later(tmp_path):
    path = write(tmp_path / "study.db", 20)
    reader = SQLiteStorage(path, read_only=True)
    assert len(told(reader)) == 20
    writer = SQLiteStorage(path)
    writer.append("s", [Event(ev.TOLD, "later")])
    writer.close()
    assert told(reader)[20:] == ["later"]


def test_a_file_that_is_there_is_not_made_again(tmp_path):
    path = write(tmp_path / "study.db", 20)
    before = snapshot(tmp_path)
    files.make(path, path)
    assert snapshot(tmp_path) == before


def test_full_durability_waits_for_the_disk(tmp_path):
    def synced(durability):
        path = tmp_path / f"{durability}.db"
        code = (
            "from bestk.storage import Event, SQLiteStorage\n"
            f"storage = SQLiteStorage({str(path)!r}, {durability!r})\n"
            "for i in range(50): storage.append('s', [Event(2, str(i))])\n"
            "print(storage._connection.execute('PRAGMA synchronous').fetchone()[0])\n"
        )
        return python(code).stdout.strip()

    assert (synced("process"), synced("full")) == ("1", "2")


# --- the doctor -----------------------------------------------------------------------------------

ALL = 3001  # events of a file that `write` makes
RECOVERABLE = {
    damage.no_header: ALL,
    damage.no_magic: ALL,
    damage.no_mark: ALL,
    damage.cut: (800, 2000),
    damage.cut_in_the_header: 0,
    damage.zeros_in_the_middle: (600, 2500),
    damage.noise_in_the_middle: (600, 2500),
    damage.row_missing: 1110,
    damage.early_row_missing: 6,
    damage.late_row_missing: 2999,
    damage.impossible_kind: 1110,
    damage.infinite_reward: 1110,
    damage.key_of_bytes: 1110,
    damage.broken_text: 1110,
    damage.table_gone: ALL,
    damage.wal_page: 401,
    damage.wal_frame: 401,
    damage.wal_header: 401,
}


@pytest.mark.parametrize("make", damage.DAMAGED)
def test_the_doctor_recovers_all_before_the_first_loss(make, tmp_path):
    path, out = tmp_path / "study.db", tmp_path / "out.db"
    make(path)
    before = snapshot(tmp_path)
    with Examination(path) as found:
        assert found.state == "damaged"
        assert found.findings or found.studies[0].loss
        whole = sum(each.whole for each in found.studies)
        names = [each.name for each in found.studies]
        found.recover(out)
    assert snapshot(tmp_path).items() >= before.items()
    expected = RECOVERABLE[make]
    if isinstance(expected, tuple):
        assert expected[0] < whole < expected[1]
    else:
        assert whole == expected
    events = [event for name in names for event in SQLiteStorage(out).read(name)]
    assert events == list(damage.log(1500))[:whole]


def test_around_the_damage_the_rest_is_read(tmp_path):
    path = tmp_path / "study.db"
    damage.zeros_in_the_middle(path)
    with Examination(path) as found:
        (study,) = found.studies
    a_page = ALL / (path.stat().st_size // damage.PAGE - 5)
    assert ALL - 1.3 * a_page < study.readable < ALL - 0.7 * a_page
    assert study.readable > study.whole
    assert study.loss.startswith(f"event {study.whole + 1}: ")


@pytest.mark.parametrize("make", [each for each in damage.NOT_OURS if each is not damage.folder])
def test_the_doctor_says_what_is_no_study(make, tmp_path):
    path = tmp_path / "study.db"
    make(path)
    before = snapshot(tmp_path)
    with Examination(path) as found:
        assert found.state == make.__name__.split("_")[0]
        assert len(found.findings) == 1
        assert found.studies == ()
        assert found.version == (7 if make is damage.newer else None)
    assert snapshot(tmp_path) == before


ADD = """
import os, signal, sys
from bestk.storage import Event, SQLiteStorage
events = [Event(6, f"{sys.argv[2]}-{i}", 0, 0.5) for i in range(int(sys.argv[3]))]
storage = SQLiteStorage(sys.argv[1])
storage.append("s", events)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_never_came_to_a_commit_does_not_replace_what_did(tmp_path):
    """Behind the last commit lies one that its killed writer did not live to make visible."""
    path, other = write_and_die(tmp_path / "study.db"), tmp_path / "other.db"
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{other}{suffix}")
    for each, who, count in ((path, "kept", 1), (other, "never", 500)):
        assert python(ADD, each, who, str(count)).returncode == -signal.SIGKILL
    ours, theirs = (Path(f"{each}-wal").read_bytes() for each in (path, other))
    Path(f"{path}-wal").write_bytes(ours + theirs[len(ours) :])
    with Examination(path) as found:
        assert found.state == "damaged"  # it cannot be told from damage
        assert [event.key for event in found.read("s")][400:] == ["pull-199", "kept-0"]


def test_an_answer_to_no_question_is_damage(tmp_path):
    path = write(tmp_path / "study.db", 20)
    SQLiteStorage(path).append("s", [Event(ev.TOLD, "pull-X"), Event(ev.ASKED, "pull-Y")])
    with Examination(path) as found:
        assert (found.state, found.studies[0].whole) == ("damaged", 41)
        assert "nobody asked for" in found.studies[0].loss


def test_the_doctor_overwrites_nothing_and_leaves_no_half_file(tmp_path):
    path = write(tmp_path / "study.db", 20)
    with Examination(path) as found:
        with pytest.raises(InputError, match="already exists"):
            found.recover(path)
        with pytest.raises(StorageError, match="only read"):
            found.append("s", [])
        with pytest.raises(StorageError, match="no folder"):
            found.recover(tmp_path / "no" / "out.db")
        found.recover(tmp_path / "out.db")
    assert list(SQLiteStorage(tmp_path / "out.db").read("s")) == list(damage.log(20))
    with pytest.raises(StorageError, match="no such file"):
        Examination(tmp_path / "nothing.db")
    with pytest.raises(StorageError, match="folder"):
        Examination(tmp_path)


def test_a_study_that_is_being_written_to_is_healthy(tmp_path):
    path = tmp_path / "study.db"
    storage = SQLiteStorage(path)
    for event in damage.log(30):
        storage.append("s", [event])
    with Examination(path) as found:
        assert (found.state, found.studies[0].whole) == ("healthy", 61)
        assert Study("s", storage=found).samples == 30
