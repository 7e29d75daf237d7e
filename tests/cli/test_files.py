"""`bestk status`, `list`, `export` and `doctor` on real files, through the real command."""

import csv
import io
import json
import os
import random
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bestk.decisions.labels import freeze
from bestk.report.terminal import study as study_tables
from bestk.report.text import iso
from bestk.storage import Event, SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study
from helpers import damage
from helpers.cells import read_label_cell
from helpers.command import BESTK, bestk, call, good

ODD = [
    "a,b",
    "=1+1",
    "new\nline",
    "car\rriage",
    'quo"te',
    "[bold]x[/bold]",
    "é \u202e",
    ("t", 1),
    7,
]


def fine(*args):
    done = call(*args)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def captions(path):
    """A study that is certified, one that runs, and one of a heuristic that has ended."""
    done = Study("done", "abc", k=1, storage=path, seed=1, epsilon=0.2, delta=0.2)
    worth = {"a": 0.1, "b": 0.9, "c": 0.2}
    while pulls := done.ask():
        done.tell(pulls[0], worth[pulls[0].arm])
    odd = Study("odd", ODD, k=2, storage=path, seed=1, maximize=False)
    rewards = random.Random(1)
    for pull in odd.ask(len(ODD)):
        odd.tell(pull, rewards.random())
    pulls = odd.ask(3)
    odd.tell(pulls[0], 0.125)
    odd.forget(pulls[1])
    late = [Event(ev.TOLD, pull.id, reward=0.75, at=time.time()) for pull in pulls[:2]]
    SQLiteStorage(path).append("odd", late)
    odd.fail(odd.open[0], "no answer")
    odd.add("=1+1", 0.25, "from elsewhere, 1")
    odd.add("=1+1", 0.25, "from elsewhere, 1")  # counts once
    again = Event(ev.OBSERVED, "from elsewhere, 1", 1, 0.75, "", time.time())
    SQLiteStorage(path).append("odd", [again])
    ended = Study("ended", "ab", k=1, storage=path, seed=1, policy="lil-rand-lucb",
                  variant="heuristic", epsilon=0.5)  # fmt: skip
    while pulls := ended.ask():
        ended.tell(pulls[0], float(pulls[0].arm == "b"))
    return done, odd, ended


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "captions.db"
    return path, captions(path)


def counted(study):
    return {arm.label: (arm.pulls, arm.mean) for arm in study.result.arms}


def test_status_prints_the_result(file):
    path, (done, odd, _) = file
    data = json.loads(good("status", str(path), "--study", "done", "--json"))
    expected = done.result.to_dict()
    for each in (data, expected):
        del each["seconds"]
    assert data == expected
    assert data["certified"] is True

    text = fine("status", path, "--study", "done")
    assert "the arm of 3 with the largest mean" in text
    assert "certified: error <= 0.2, slack 0.2" in text
    ranks = [line.split()[3] for line in text.splitlines() if line.split()[1:2] in (["1"], ["2"])]
    assert ranks == ["b", "c"]

    text = fine("status", path, "--study", "odd")
    assert f"{odd.samples} told, 0 open, 1 failed" in text
    assert "[bold]x[/bold]" in text
    assert r"new\nline" in text
    assert "\u202e" not in text
    assert "not certified: not finished; unless it is running, run what began it again" in text


def test_of_thousands_of_arms_the_leaders_and_the_boundary_are_shown():
    assert study_tables.shown(30, 3) == list(range(30))
    assert study_tables.shown(5000, 3) == list(range(10))
    assert study_tables.shown(5000, 2500) == [*range(10), *range(2495, 2505)]
    assert study_tables.shown(5000, None) == list(range(10))
    study = Study("many", range(5000), k=2500, seed=1)
    study.tell(study.ask()[0], 0.5)
    table = study_tables.arms(study, study.result)
    assert table.row_count == 22
    assert [str(cell) for cell in table.columns[1].cells if "more" in str(cell)] == [
        "(2,485 more)", "(2,495 more)",
    ]  # fmt: skip
    assert "none: not every arm" in str(
        list(study_tables.summary(study, study.result).columns[1].cells)
    )


def test_list_names_every_study(file):
    path, studies = file
    data = json.loads(good("list", str(path), "--json"))
    assert [each["study"] for each in data] == ["done", "odd", "ended"]
    assert [each["state"] for each in data] == ["certified", "running", "stopped"]
    assert [each["samples"] for each in data] == [study.samples for study in studies]
    assert [each["arms"] for each in data] == [3, 9, 2]
    for each in data:
        age = datetime.now().astimezone() - datetime.fromisoformat(each["last_activity"])
        assert 0 <= age.total_seconds() < 3600
    text = fine("list", path)
    assert all(word in text for word in ("done", "certified", "odd", "running", "ended", "stopped"))


def test_a_study_of_the_future_does_not_hide_the_others(tmp_path):
    path = tmp_path / "study.db"
    Study("now", "ab", k=1, storage=path)
    Study("then", "ab", k=1, storage=path)
    damage.forge(path, """UPDATE log_2 SET data = replace(data, '"format": 2', '"format": 9')""")
    now, then = json.loads(fine("list", path, "--json"))
    assert (now["state"], now["samples"]) == ("running", 0)
    assert (then["samples"], then["arms"]) == (None, None)
    assert "newer bestk (format 9" in then["state"]


def test_export_has_every_observation_that_counts(file, tmp_path):
    path, (_, odd, _) = file
    records = json.loads(fine("export", path, "--format", "json", "--study", "odd"))
    assert len(records) == odd.samples
    assert [record["seq"] for record in records] == sorted({record["seq"] for record in records})
    assert [record["kind"] for record in records].count("added") == 1
    found = {}
    for record in records:
        label = tuple(record["arm"]) if isinstance(record["arm"], list) else record["arm"]
        found.setdefault(label, []).append(record["reward"])
        told = datetime.fromisoformat(record["told"])
        if record["kind"] == "told":
            assert datetime.fromisoformat(record["asked"]) <= told
        else:
            assert (record["pull"], record["asked"]) == ("from elsewhere, 1", None)
    means = {
        label: (len(all_), pytest.approx(sum(all_) / len(all_))) for label, all_ in found.items()
    }
    assert means == counted(odd)

    out = tmp_path / "out.csv"
    assert fine("export", path, "--format", "csv", "--study", "odd", "-o", out) == ""
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [list(row) for row in rows[:1]] == [list(records[0])]
    for row, record in zip(rows, records, strict=True):
        arm = record["arm"]
        assert read_label_cell(row["arm"]) == freeze(arm)
        assert float(row["reward"]) == record["reward"]
        assert (int(row["seq"]), row["pull"]) == (record["seq"], record["pull"])
        assert (row["asked"], row["told"]) == (record["asked"] or "", record["told"])
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_export_writes_to_standard_output_in_any_language(file):
    path, _ = file
    written = subprocess.check_output(
        [BESTK, "export", path, "--format", "csv", "--study", "odd"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    rows = list(csv.DictReader(io.StringIO(written.decode(), newline="")))
    assert set(ODD) == {read_label_cell(row["arm"]) for row in rows}
    assert {"a,b", "'=1+1", "[bold]x[/bold]", r'"new\nline"', "7"} <= {row["arm"] for row in rows}


def content(path):
    """Read by another process: this one would lose its locks on a file that it has open."""
    return subprocess.run(["cat", path], capture_output=True, check=True).stdout


def test_what_cannot_be_is_refused(file, tmp_path):
    path, _ = file
    before = content(path)
    nothing = tmp_path / "nothing.db"
    for args, said in (
        (("status", path), "Name one of done, odd, ended"),
        (("status", path, "--study", "don"), "did you mean 'done'"),
        (("status", nothing), "no such file"),
        (("list", tmp_path), "is a folder"),
        (("export", path, "--study", "odd", "--format", "xml"), "csv, json or jsonl"),
        (("export", path, "--study", "odd", "--format", "csv", "-o", path), "own file"),
        (
            ("export", path, "--study", "odd", "--format", "csv", "-o", nothing / "x"),
            "there is no folder",
        ),
        (("doctor", nothing), "no such file"),
        (("doctor", path, "--recover", path), "already exists"),
    ):
        done = call(*args)
        assert (done.returncode, done.stdout) == (2, ""), args
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert content(path) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [damage.newer, damage.cut, damage.row_missing, damage.wal_page])
def test_every_reader_refuses_what_is_damaged(make, tmp_path):
    path = tmp_path / "study.db"
    make(path)
    before = damage.snapshot(tmp_path)
    for command in (["status"], ["export", "--format", "csv"]):
        done = call(*command, path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "study.db was refused" in done.stderr
    assert damage.snapshot(tmp_path) == before


def test_the_readers_need_no_right_to_write(tmp_path):
    damage.needs_powerless()
    home = tmp_path / "home"
    home.mkdir()
    path = damage.write_and_die(home / "study.db", 50)
    Path(f"{path}-shm").unlink()
    before = damage.snapshot(home)
    home.chmod(0o555)
    try:
        for command in (["status", "--json"], ["doctor", "--json"], ["export", "--format", "json"]):
            done = bestk(*command, str(path), preexec_fn=damage.powerless)
            assert done.returncode == 0, done.stderr
            assert "50" in done.stdout or len(json.loads(done.stdout)) == 50
    finally:
        home.chmod(0o755)
    assert damage.snapshot(home) == before


def test_the_doctor_finds_a_file_healthy(file):
    path, studies = file
    data = json.loads(good("doctor", str(path), "--json"))
    assert (data["state"], data["format"], data["findings"]) == ("healthy", 2, [])
    for found, study in zip(data["studies"], studies, strict=True):
        assert (found["name"], found["samples"]) == (study.name, study.samples)
        assert (found["folds"], found["loss"]) == (True, None)
        assert found["readable"] == found["whole"] > study.samples
    assert "healthy" in fine("doctor", path)


def test_the_doctor_recovers_a_damaged_file(tmp_path):
    path, out = tmp_path / "study.db", tmp_path / "out.db"
    damage.row_missing(path)
    before = path.read_bytes()
    done = call("doctor", path)
    assert done.returncode == 1
    assert "damaged" in done.stdout
    assert "event 1111: it is missing" in done.stdout
    assert "--recover OUT" in done.stdout
    done = bestk("doctor", str(path), "--recover", str(out), "--json")
    assert done.returncode == 1, done.stderr
    (study,) = json.loads(done.stdout)["studies"]
    assert (study["readable"], study["whole"], study["samples"]) == (3000, 1110, 554)
    assert path.read_bytes() == before
    assert json.loads(fine("status", out, "--json"))["samples"] == 554


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (damage.newer, "format 7"),
        (damage.text, "not a database"),
        (damage.other_database, "another program's"),
        (damage.empty, "empty"),
        (damage.no_header, "its first bytes are damaged"),
    ],
)
def test_the_doctor_works_on_what_nothing_else_opens(make, said, tmp_path):
    path = tmp_path / "study.db"
    make(path)
    done = call("doctor", path)
    assert done.returncode == 1
    assert said in done.stdout
    assert done.stderr == ""


def test_a_log_that_makes_no_study_is_not_healthy(tmp_path):
    path = damage.write(tmp_path / "study.db", 20)
    damage.forge(path, "UPDATE log_1 SET data = 'no JSON' WHERE seq = 1")
    done = call("doctor", path, "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["state"] == "damaged"
    assert data["studies"][0]["folds"] is False
    assert "JSON" in data["studies"][0]["problem"]


def test_times_are_those_of_the_standard_library():
    dice = random.Random(4)
    times = [0.0, 0.9999995, 0.9999996, 59.9999999, -1.5, 253402300799.0, 1.7e9 + 1e-6]
    times += [dice.uniform(0, 4e9) for _ in range(2000)]
    for at in times:
        whole = datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
        assert iso(at) == whole


def test_a_backup_is_made_while_others_write_and_overwrites_nothing(tmp_path):
    path, out = tmp_path / "study.db", tmp_path / "copy.db"
    study = Study("s", "ab", k=1, storage=path, seed=1)
    study.tell(study.ask()[0], 0.5)
    assert "holds 3 events" in fine("backup", path, out)
    study.tell(study.ask()[0], 0.5)  # nothing has happened to the locks
    assert json.loads(fine("status", out, "--json"))["samples"] == 1
    assert json.loads(fine("status", path, "--json"))["samples"] == 2
    before = damage.snapshot(tmp_path)
    for wrong, said in (
        ((path, out), "already exists"),
        ((path, path), "already exists"),
        ((tmp_path / "no.db", tmp_path / "new.db"), "no such file"),
        ((path, tmp_path / "no" / "new.db"), "no folder"),
    ):
        done = call("backup", *wrong)
        assert (done.returncode, said in done.stderr) == (2, True)
    assert damage.snapshot(tmp_path) == before


def test_a_backup_of_a_damaged_file_is_refused(tmp_path):
    path = damage.write(tmp_path / "study.db", 20)
    damage.sql(path, "UPDATE log_1 SET reward = 1 WHERE seq = 11")
    done = call("backup", path, tmp_path / "copy.db")
    assert (done.returncode, "it is damaged" in done.stderr) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ["study.db"]


def test_times_have_one_form_throughout(tmp_path):
    """So that programs which guess it from the first row read them all."""
    path = damage.write(tmp_path / "study.db", 20)
    damage.forge(path, "UPDATE log_1 SET at = at + 0.125 WHERE seq % 7 = 0")
    rows = list(csv.reader(io.StringIO(fine("export", path, "--format", "csv"))))
    assert len(rows) == 21
    assert rows[1][4:7] == [
        "1970-01-01T00:16:40.000000+00:00", "1970-01-01T00:16:40.500000+00:00", "told",
    ]  # fmt: skip
    assert {len(cell) for row in rows[1:] for cell in row[4:6]} == {32}
