"""Output files: the older one stays until the new one is whole."""

import os
import resource
import stat

import pytest

from bestk.errors import InputError
from bestk.output import check_output, replacing, write_text
from bestk.study import Study
from helpers.command import bestk, call

LIMIT = 40_000  # bytes that a file may grow to: SQLite's shared memory fits in, the outputs do not


def small_disk():
    """Run in a child before it starts: writing more fails, as it does on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A certified study whose page, export and certificate are all larger than the disk."""
    path = tmp_path_factory.mktemp("study") / "study.db"
    study = Study("s", range(400), k=1, storage=path, seed=1, epsilon=0.9, delta=0.5)
    while pulls := study.ask(400):
        study.tell_many([(pull, float(pull.arm == 7)) for pull in pulls])
    return path


@pytest.mark.parametrize("command", [
    ["report", "-o"], ["certify", "-o"], ["export", "--format", "csv", "-o"],
])  # fmt: skip
def test_a_full_disk_leaves_the_older_file(command, study, tmp_path):
    output = tmp_path / "output"
    output.write_text("the older one")
    args = [command[0], str(study), *command[1:], str(output)]
    done = bestk(*args, preexec_fn=small_disk)
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr
    assert output.read_text() == "the older one"
    assert list(tmp_path.iterdir()) == [output]
    assert call(*args).returncode == 0
    assert output.stat().st_size > LIMIT


def test_a_study_is_never_overwritten(study, tmp_path):
    """Nor what SQLite keeps beside it, nor under another name."""
    (tmp_path / "link").symlink_to(study)
    os.link(study, tmp_path / "hard")
    beside = [study.with_name(study.name + side) for side in ("", "-wal", "-shm", "-journal")]
    around = study.parent / ".." / study.parent.name / study.name
    for name in (*beside, around, tmp_path / "link", tmp_path / "hard"):
        with pytest.raises(InputError, match="the study's own file"):
            check_output(name, study)
    check_output(tmp_path / "study.db-wal", study)


def test_no_other_study_is_overwritten_either(study, tmp_path):
    other = tmp_path / "other.db"
    other.write_bytes(study.read_bytes())
    for args in (
        ("report", str(study), "-o"),
        ("race", "true", "sleep 0.01", "--export-json"),
        ("simulate", "--means", "1,0", "--k", "1", "--runs", "2", "--csv"),
    ):
        done = call(*args, str(other))
        assert (done.returncode, "it is a database" in done.stderr) == (2, True), args
    assert other.read_bytes() == study.read_bytes()


def test_links_modes_and_pipes_are_kept(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("older")
    target.chmod(0o600)
    link.symlink_to(target)
    write_text(link, "new \udc80")
    assert link.is_symlink()
    assert target.read_text() == "new \\udc80"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    longest = tmp_path / ("x" * 255)
    write_text(longest, "as long as a name may be")
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    write_text(pipe, "through")
    assert os.read(end, 100) == b"through"
    os.close(end)
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == sorted([target, link, longest, pipe])


def test_what_fails_leaves_nothing_behind(tmp_path):
    output = tmp_path / "output"

    def fail():
        with replacing(output) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []
