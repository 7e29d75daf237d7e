"""Every event is read as it was written, or not at all; older files get their checksums once."""

import itertools
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import zlib

import pytest

from bestk.errors import StorageError
from bestk.storage import Event, SQLiteStorage, checksums, schema
from bestk.storage import events as ev
from bestk.storage.doctor import Examination
from bestk.study.reading import observations, open_storage, open_study
from helpers import damage
from helpers.damage import python, snapshot, sql, write, write_and_die, write_old

ODD = ["", "a", "é", "\0", "a\0b", "\U0001f600", "x" * 300]


def events(count, seed=1):
    dice = random.Random(seed)
    return [
        Event(
            dice.randrange(10), dice.choice(ODD), dice.randrange(-1, 9), dice.gauss(0, 1),
            dice.choice(ODD), dice.uniform(0, 2e9),
        )
        for _ in range(count)
    ]  # fmt: skip


def stored(path, number=1):
    with sqlite3.connect(path) as connection:
        return [row[0] for row in connection.execute(f"SELECT checksum FROM log_{number}")]


def test_the_checksum_is_the_documented_one():
    numbers, texts, total = zlib.crc32(b"prompts"), 0, checksums.begin("prompts")
    for kind, key, arm, reward, data, at in events(20):
        packed = struct.pack("<qIqdId", kind, len(key), arm, reward, len(data), at)
        numbers, texts = zlib.crc32(packed, numbers), zlib.crc32((key + data).encode(), texts)
        total = checksums.after(total, (kind, key, arm, reward, data, at))
        assert total == texts * 2**32 + numbers - 2**63


@pytest.mark.parametrize("count", [1, 2, 1999, 2000, 2001, 4100])
def test_many_at_once_give_what_one_by_one_gives(count):
    one, rows = checksums.begin("s"), events(count)
    for row in rows:
        one = checksums.after(one, row)
    assert checksums.after_all(checksums.begin("s"), rows) == one


CHANGES = {
    "reward": "reward = reward + 1e-9", "arm": "arm = arm + 1", "key": "key = 'pull-9'",
    "data": "data = 'x'", "at": "at = at + 1", "kind": "kind = 3", "checksum": "checksum = 7",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seq", [1, 2, 200, 256, 257, 2256, 2900, 3001])
def test_a_change_shows_and_where(change, seq, tmp_path):
    path = write(tmp_path / "study.db")
    sql(path, f"UPDATE log_1 SET {CHANGES[change]} WHERE seq = {seq}")
    with Examination(path) as found:
        (study,) = found.studies
        assert found.state == "damaged"
        if (seq, change) != (1, "at"):  # when a study was begun is for people alone
            assert study.whole == seq - 1
            assert study.loss.startswith(f"event {seq}: ")
    if change == "checksum" and seq not in (256, 2256, 3001):
        assert list(SQLiteStorage(path).read("s")) == list(damage.log(1500))
        return
    kept = []
    with pytest.raises(StorageError, match=f"event {seq} of s is not what was written"):
        kept.extend(SQLiteStorage(path).read("s"))
    assert kept == list(damage.log(1500))[: len(kept)]
    assert len(kept) < seq


@pytest.mark.parametrize("last", [3000, 2901, 2256, 256, 1])
def test_a_log_without_its_end_is_refused(last, tmp_path):
    path = write(tmp_path / "study.db")
    sql(path, f"DELETE FROM log_1 WHERE seq > {last}")
    with pytest.raises(StorageError, match=f"events {last + 1} to 3001 at least are missing"):
        list(SQLiteStorage(path).read("s"))
    with pytest.raises(StorageError, match="at least are missing"):
        SQLiteStorage(path).append("s", [Event(ev.TOLD, "more")])
    with Examination(path) as found:
        assert (found.state, found.studies[0].whole) == ("damaged", last)
        assert "at least are missing" in found.studies[0].loss


def test_swapped_events_and_swapped_names_are_refused(tmp_path):
    path = write(tmp_path / "study.db", 20)
    SQLiteStorage(path).append("t", list(damage.log(10)))
    swap = "UPDATE log_1 SET seq = {} WHERE seq = {}"
    sql(path, *(swap.format(*pair) for pair in ((99, 5), (5, 7), (7, 99))))
    with pytest.raises(StorageError, match="event 5 of s"):
        list(SQLiteStorage(path).read("s"))
    other = write(tmp_path / "other.db", 20)
    sql(other, "UPDATE studies SET name = 'r'")
    with pytest.raises(StorageError, match="event 1 of r"):
        list(SQLiteStorage(other).read("r"))
    with Examination(other) as found:  # all but the name can be relied on
        assert (found.state, found.studies[0].whole) == ("damaged", 41)
        assert "its name" in found.studies[0].note


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM studies WHERE id = 2",
        "DELETE FROM marks WHERE id = 2",
        "DROP TABLE log_2",
        "CREATE TABLE log_3 (x)",
        "DROP TABLE marks",
        "PRAGMA user_version = 1",
    ],
)
def test_tables_that_are_not_those_that_were_made_are_refused(change, tmp_path):
    path = write(tmp_path / "study.db", 20)
    storage = SQLiteStorage(path)
    storage.append("t", list(damage.log(10)))
    storage.close()
    sql(path, change)
    with pytest.raises(StorageError, match=r"study\.db was refused.*bestk doctor"):
        SQLiteStorage(path)
    with Examination(path) as found:
        assert found.state == "damaged"


def test_what_is_recovered_has_its_checksums(tmp_path):
    path, out = write(tmp_path / "study.db"), tmp_path / "out.db"
    sql(path, "UPDATE log_1 SET reward = 0.25 WHERE seq = 1111")
    with Examination(path) as found:
        found.recover(out)
    assert list(SQLiteStorage(out).read("s")) == list(damage.log(1500))[:1110]
    assert stored(out) == stored(path)[:1110]
    with Examination(out) as found:
        assert found.state == "healthy"


def test_negative_zero_and_numbers_without_a_fraction_are_read_back(tmp_path):
    storage = SQLiteStorage(tmp_path / "study.db")
    storage.append("s", [Event(ev.CREATED), Event(ev.TOLD, "a", -1, -0.0, "", 5)])
    storage.append("s", [Event(ev.TOLD, "b", -1, -0.0, "", -0.0)])
    assert [event.reward for event in SQLiteStorage(tmp_path / "study.db").read("s")] == [0, 0, 0]


# --- files of version 1 ---------------------------------------------------------------------------


def test_an_old_file_is_read_as_it_is(tmp_path):
    path = write_old(tmp_path / "study.db")
    before = snapshot(tmp_path)
    assert open_study(path).samples == 1500
    assert len(list(observations(open_storage(path), "s"))) == 1500
    assert list(SQLiteStorage(path).read("s")) == list(damage.log(1500))
    with Examination(path) as found:
        assert (found.state, found.version, found.studies[0].whole) == ("healthy", 1, 3001)
    assert snapshot(tmp_path) == before


def test_an_old_file_gets_its_checksums_with_the_first_append(tmp_path):
    path, new = write_old(tmp_path / "study.db", names=("s", "t")), tmp_path / "new.db"
    reader, writer = SQLiteStorage(path, read_only=True), SQLiteStorage(path)
    assert sum(1 for _ in reader.read("s")) == 3001
    more = [Event(ev.ASKED, "more", 1), Event(ev.TOLD, "more", -1, 0.5)]
    for event in more:
        writer.append("s", [event])
    assert list(reader.read("s", 3001)) == more  # opened when the file was old
    writer.close()
    fresh = SQLiteStorage(new)
    fresh.append("s", [*damage.log(1500), *more])
    fresh.append("t", list(damage.log(1500)))
    fresh.close()
    assert stored(path) == stored(new)
    assert stored(path, 2) == stored(new, 2)
    with Examination(path) as found:
        assert (found.state, found.version) == ("healthy", 2)
        assert found._connection.execute("SELECT * FROM marks").fetchall() == [(1, 3003), (2, 3001)]


def test_a_damaged_old_file_gets_none(tmp_path):
    path = write_old(tmp_path / "study.db")
    sql(path, "UPDATE log_1 SET kind = 77 WHERE seq = 1111")
    before = snapshot(tmp_path)
    with pytest.raises(StorageError, match=r"one is of no known kind.*bestk doctor"):
        SQLiteStorage(path).append("s", [Event(ev.ASKED, "more", 1)])
    assert snapshot(tmp_path) == before


def test_several_processes_bring_an_old_file_up_to_date_at_once(tmp_path):
    path = write_old(tmp_path / "study.db")
    code = (
        "import sys; from bestk.storage import Event, SQLiteStorage\n"
        "storage = SQLiteStorage(sys.argv[1]); print('ready', flush=True); sys.stdin.readline()\n"
        "for i in range(20): storage.append('s', [Event(6, f'{sys.argv[2]}-{i}', 0, 0.5)])\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, path, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for who in "abc"
    ]
    assert all(process.stdout.readline() for process in started)
    for process in started:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [process.wait() for process in started] == [0, 0, 0]
    for process in started:
        process.communicate()
    found = list(SQLiteStorage(path).read("s"))
    assert found[:3001] == list(damage.log(1500))
    assert sorted(event.key for event in found[3001:]) == sorted(
        f"{who}-{i}" for who, i in itertools.product("abc", range(20))
    )
    with Examination(path) as examined:
        assert examined.state == "healthy"


KILLED_AT_WORK = """
import os, signal, sys
from bestk.storage import Event, SQLiteStorage, checksums
count, plain = 0, checksums.plain
def counted(*args):
    global count
    count += 1
    if count == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(*args)
checksums.plain = counted
SQLiteStorage(sys.argv[1]).append("s", [Event(6, "more", 0, 0.5)])
"""


@pytest.mark.parametrize("at", [1, 1500, 3001])
def test_an_interrupted_upgrade_leaves_the_old_file(at, tmp_path):
    path = write_old(tmp_path / "study.db")
    assert python(KILLED_AT_WORK, path, str(at)).returncode == -signal.SIGKILL
    with sqlite3.connect(path) as connection:
        assert schema.version(connection) == schema.OLD
    connection.close()
    assert list(SQLiteStorage(path).read("s")) == list(damage.log(1500))
    SQLiteStorage(path).append("s", [Event(ev.OBSERVED, "more", 0, 0.5)])
    assert len(list(SQLiteStorage(path).read("s"))) == 3002


def test_a_program_that_knows_no_checksums_cannot_append(tmp_path):
    """It refuses to open the file; one that has had it open since before is refused by SQLite."""
    path = write_old(tmp_path / "study.db", 20)
    old = sqlite3.connect(path, isolation_level=None)
    insert = "INSERT INTO log_1 (kind, key, arm, reward, data, at) VALUES (2, 'x', 0, 0, '', 0)"
    SQLiteStorage(path).append("s", [Event(ev.OBSERVED, "more", 0, 0.5)])
    with pytest.raises(sqlite3.IntegrityError):
        old.execute(insert)
    assert schema.version(old) == 2  # which 0.1 calls newer than itself
    old.close()


def test_the_doctor_mentions_a_write_ahead_file(tmp_path):
    path = write_and_die(tmp_path / "study.db")
    with Examination(path) as found:
        assert (found.state, len(found.notes)) == ("healthy", 1)
        assert "did not live to close it" in found.notes[0]
    wal = tmp_path / "study.db-wal"
    wal.write_bytes(wal.read_bytes()[:-100])
    with Examination(path) as found:
        assert len(found.notes) == 2
        assert "the end of it is damaged" in found.notes[1]
