"""Disks that are full, limited or read-only: nothing is half written, all can be read."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from bestk.errors import StorageError
from bestk.storage import Event, SQLiteStorage
from bestk.storage import events as ev
from bestk.storage.doctor import Examination
from bestk.study import Study
from bestk.study.reading import open_study
from helpers import damage
from helpers.damage import powerless, python, snapshot, told, write, write_and_die

PATHS = [str(Path(__file__).parents[i]) for i in (0, 1)]  # of this module, and of its helpers


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
from test_disks import go_on, tell_until_refused
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
    assert said[1] == f"StorageError {path} was opened read-only: nothing can be added to it"
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
