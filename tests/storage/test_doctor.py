"""`bestk doctor`: what is before the first damage is recovered, and nothing overwritten."""

import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from bestk.errors import InputError, StorageError
from bestk.storage import Event, SQLiteStorage
from bestk.storage import events as ev
from bestk.storage.doctor import Examination
from bestk.study import Study
from helpers import damage
from helpers.damage import python, snapshot, write, write_and_die

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


def test_the_advice_is_a_command_that_a_shell_takes_as_it_stands(tmp_path):
    path = tmp_path / "my $tudies.db"
    damage.row_missing(path)
    with pytest.raises(StorageError) as refused:
        list(SQLiteStorage(path).read("s"))
    advice = re.search("`(.*)`", str(refused.value))[1]
    assert shlex.split(advice) == ["bestk", "doctor", str(path)]


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
