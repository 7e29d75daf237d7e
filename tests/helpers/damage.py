"""Files of studies, whole and damaged in every way, for the tests that look at them."""

import ctypes
import json
import os
import signal
import sqlite3
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from bestk.storage import Event, MemoryStorage, SQLiteStorage, checksums, schema
from bestk.storage import events as ev

PAGE = 4096
FRAME = PAGE + 24  # of the write-ahead file, behind a header of 32 bytes


@cache
def spec():
    """The first event of a study that can be opened."""
    from bestk.study import Study

    recorder = MemoryStorage()
    Study("s", "abcde", k=2, storage=recorder, seed=1)
    return next(recorder.read("s"))


def log(pulls):
    """A study's log: its beginning, and so many pulls asked and told."""
    yield spec()
    for i in range(pulls):
        yield Event(ev.ASKED, f"pull-{i}", i % 5, 0.0, "", 1000.0 + i)
        yield Event(ev.TOLD, f"pull-{i}", -1, (i % 7) / 8, "", 1000.5 + i)


def write(path, pulls=1500):
    """A file with a study of so many pulls, closed."""
    storage = SQLiteStorage(path)
    storage.append("s", list(log(pulls)))
    storage.close()
    return path


def told(storage, name="s"):
    """The pulls that a storage has rewards of."""
    return [event.key for event in storage.read(name) if event.kind == ev.TOLD]


KILLED = """
import json, os, signal, sys
from bestk.storage import Event, SQLiteStorage
storage = SQLiteStorage(sys.argv[1])
for fields in json.load(sys.stdin):
    storage.append("s", [Event(*fields)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def append_and_die(path, events):
    """A process appends events one by one, and is killed."""
    done = python(KILLED, path, input=json.dumps(list(events)))
    assert done.returncode == -signal.SIGKILL, done.stderr


def write_and_die(path, pulls=200):
    """A file whose writer was killed: what it told is in the write-ahead file."""
    append_and_die(path, log(pulls))
    assert Path(f"{path}-wal").stat().st_size > FRAME * pulls
    return path


def python(code, *args, **more):
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False, **more
    )


def sql(path, *statements):
    """Change a file as another program could."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def forge(path, *statements):
    """Change a file as a program could that knows its format: the checksums fit."""
    sql(path, *statements)
    connection = sqlite3.connect(path, isolation_level=None)
    for number, name in connection.execute("SELECT id, name FROM studies").fetchall():
        total = checksums.begin(name)
        query = f"SELECT kind, key, arm, reward, data, at, seq FROM log_{number} ORDER BY seq"
        for *event, seq in connection.execute(query).fetchall():
            total = checksums.after(total, event)
            connection.execute(f"UPDATE log_{number} SET checksum = ? WHERE seq = ?", (total, seq))
    connection.close()


def write_old(path, pulls=1500, names=("s",)):
    """A file as version 0.1 wrote them."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(schema.STUDIES)
    connection.execute("PRAGMA application_id = 1650815860")
    connection.execute("PRAGMA user_version = 1")
    for number, name in enumerate(names, 1):
        connection.execute("INSERT INTO studies VALUES (?, ?)", (number, name))
        connection.execute(
            f"CREATE TABLE log_{number} (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
            " key TEXT NOT NULL, arm INTEGER NOT NULL, reward REAL NOT NULL, data TEXT NOT NULL,"
            " at REAL NOT NULL)"
        )
        connection.executemany(
            f"INSERT INTO log_{number} (kind, key, arm, reward, data, at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            list(log(pulls)),
        )
    connection.close()
    return path


def overwrite(path, offset, data):
    with Path(path).open("r+b") as file:
        file.seek(offset)
        file.write(data)


def flip(path, offset):
    with Path(path).open("rb") as file:
        file.seek(offset)
        (byte,) = file.read(1)
    overwrite(path, offset, bytes([byte ^ 0xFF]))


def snapshot(folder):
    """Every file of a folder with its bytes; of SQLite's index of the write-ahead file, nothing."""
    return {
        p.name: p.read_bytes() if p.is_file() else None
        for p in Path(folder).iterdir()
        if not p.name.endswith("-shm")
    }


def powerless():
    """Run in a child before it starts: root, too, must then heed file permissions."""
    if os.geteuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                os._exit(77)


def needs_powerless():
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    if subprocess.run(["true"], preexec_fn=powerless, check=False).returncode:
        pytest.skip("root here cannot give up its powers")


def text(path):
    path.write_text("These are notes, not a study.\n" * 100)


def empty(path):
    path.write_bytes(b"")


def folder(path):
    path.mkdir()


def other_database(path):
    sql(path, "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")


def newer(path):
    sql(write(path), "PRAGMA user_version = 7")


def no_header(path):
    overwrite(write(path), 0, bytes(100))


def no_magic(path):
    overwrite(write(path), 0, b"?" * 16)


def no_mark(path):
    overwrite(write(path), 68, bytes(4))


def cut(path):
    size = write(path).stat().st_size
    os.truncate(path, size // 2 + 100)


def cut_in_the_header(path):
    os.truncate(write(path), 50)


def zeros_in_the_middle(path):
    overwrite(write(path), PAGE * 12, bytes(PAGE))


def noise_in_the_middle(path):
    overwrite(write(path), PAGE * 12, bytes(i * 151 % 251 for i in range(PAGE)))


def row_missing(path):
    sql(write(path), "DELETE FROM log_1 WHERE seq = 1111")


def early_row_missing(path):
    sql(write(path, 50), "DELETE FROM log_1 WHERE seq = 7")


def late_row_missing(path):
    sql(write(path), "DELETE FROM log_1 WHERE seq = 3000")


def impossible_kind(path):
    sql(write(path), "UPDATE log_1 SET kind = 77 WHERE seq = 1111")


def infinite_reward(path):
    sql(write(path), "UPDATE log_1 SET reward = 9e999 WHERE seq = 1111")


def key_of_bytes(path):
    sql(write(path), "UPDATE log_1 SET key = x'0102' WHERE seq = 1111")


def broken_text(path):
    sql(write(path), "UPDATE log_1 SET key = CAST(x'ff20' AS TEXT) WHERE seq = 1111")


def table_gone(path):
    sql(write(path), "DROP TABLE studies")


def wal_page(path):
    flip(f"{write_and_die(path)}-wal", 32 + 100 * FRAME + 2000)


def wal_frame(path):
    flip(f"{write_and_die(path)}-wal", 32 + 100 * FRAME + 9)


def wal_header(path):
    flip(f"{write_and_die(path)}-wal", 5)


NOT_OURS = [text, empty, folder, other_database, newer]
DAMAGED = [
    no_header, no_magic, no_mark, cut, cut_in_the_header, zeros_in_the_middle, noise_in_the_middle,
    row_missing, early_row_missing, late_row_missing, impossible_kind, infinite_reward,
    key_of_bytes, broken_text, table_gone, wal_page, wal_frame, wal_header,
]  # fmt: skip
