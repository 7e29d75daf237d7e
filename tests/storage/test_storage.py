"""Files of studies: nothing acknowledged is lost, and what cannot be used is refused unchanged."""

import os
import signal
import sqlite3

import pytest

from bestk.errors import InputError, StorageError
from bestk.storage import Event, SQLiteStorage, files, wal
from bestk.storage import events as ev
from bestk.storage.doctor import Examination
from bestk.study import Study
from bestk.study.reading import open_study
from helpers import damage
from helpers.damage import python, snapshot, sql, told, write, write_and_die

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
