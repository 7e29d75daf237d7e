"""Exports in hyperfine's layout, beside those of a real hyperfine."""

import csv
import json
import math
import re
import shutil
import statistics
import subprocess

import pytest

from bestk.commands.runs import NEVER, Run
from bestk.commands.timings import Timing
from bestk.report import hyperfine
from helpers.command import process

COMMANDS = ["true {a}|", "sh -c 'kill -9 $$'"]
KINDS = ("json", "csv", "markdown")
NUMBER = re.compile(r"\d+\.\d+")


def exports(files):
    """The options that write a file of each kind."""
    pairs = zip(KINDS, files, strict=True)
    return [word for kind, file in pairs for word in (f"--export-{kind}", str(file))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def ours(folder):
    """What `bestk race` exports."""
    files = [folder / f"ours.{kind}" for kind in ("json", "csv", "md")]
    done = process(
        "race", *COMMANDS, "-L", "a", "x,y", "--runs", "3", "-i", "--seed", "1",
        *exports(files),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr  # three runs prove nothing
    return [file.read_text() for file in files]


@pytest.fixture(scope="module")
def theirs(folder):
    """What hyperfine exports of the same commands."""
    if shutil.which("hyperfine") is None:
        pytest.skip("hyperfine is not installed")
    files = [folder / f"theirs.{kind}" for kind in ("json", "csv", "md")]
    command = ["hyperfine", "-N", "-i", "--runs", "3", *COMMANDS, "-L", "a", "x,y", *exports(files)]
    subprocess.run(command, check=True, capture_output=True)
    return [file.read_text() for file in files]


def test_json_has_the_keys_and_kinds_of_hyperfine(ours, theirs):
    mine, other = json.loads(ours[0]), json.loads(theirs[0])
    assert mine.keys() == other.keys()
    by_command = {entry["command"]: entry for entry in other["results"]}
    for entry in mine["results"]:
        twin = by_command[entry["command"]]
        assert set(entry) == set(twin) - (
            {"parameters"} if "true" not in entry["command"] else set()
        )
        for key, value in entry.items():
            if key == "memory_usage_byte":
                continue
            assert type(value) is type(twin[key])
        assert entry["exit_codes"] == twin["exit_codes"]
        if "parameters" in entry:
            assert entry["parameters"] == twin["parameters"]


def test_combinations_are_in_the_order_of_hyperfine(tmp_path):
    if shutil.which("hyperfine") is None:
        pytest.skip("hyperfine is not installed")
    options = ["true {b} {a}", "sleep 0.0{a}{b}", "-L", "b", "1,2", "-L", "a", "0,1", "--runs", "1"]
    first, second = tmp_path / "ours", tmp_path / "theirs"
    process("race", *options, "--export-json", str(first), "--export-csv", f"{first}.csv")
    subprocess.run(
        ["hyperfine", "-N", *options, "--export-json", second, "--export-csv", f"{second}.csv"],
        check=True, capture_output=True,
    )  # fmt: skip
    found = [
        [(entry["command"], list(entry["parameters"].items())) for entry in entries]
        for entries in (json.loads(file.read_text())["results"] for file in (first, second))
    ]
    assert found[0] == found[1]
    heads = [(tmp_path / f"{x}.csv").read_text().splitlines()[0] for x in ("ours", "theirs")]
    assert heads[0] == heads[1]


def test_csv_and_markdown_have_the_shape_of_hyperfine(ours, theirs):
    head = ours[1].splitlines()[0]
    assert head == theirs[1].splitlines()[0]
    assert len(next(csv.reader([ours[1].splitlines()[1]]))) == head.count(",") + 1
    own = {NUMBER.sub("0.0", line) for line in ours[2].splitlines()}
    others = {NUMBER.sub("0.0", line) for line in theirs[2].splitlines()}
    head = {line for line in own if line.startswith(("| Command", "|:"))}
    assert len(head) == 2
    assert head <= others
    shape = re.compile(r"\| `.+` \| 0\.0 ± 0\.0 \| 0\.0 \| 0\.0 \| 0\.0( ± 0\.0)? \|")
    for lines in (own, others):
        assert all(shape.fullmatch(line) for line in lines - head)
    assert any(r"`true x\|`" in line for line in own)
    assert any(r"`true x\|`" in line for line in others)


def test_figures_are_those_of_the_times_listed(ours):
    entries = json.loads(ours[0])["results"]
    rows = list(csv.DictReader(ours[1].splitlines()))
    assert len(entries) == len(rows) == len(ours[2].splitlines()) - 2 == 3
    for entry, row in zip(entries, rows, strict=True):
        times = entry["times"]
        assert len(times) == len(entry["exit_codes"]) == 3
        assert entry["mean"] == pytest.approx(statistics.fmean(times))
        assert entry["stddev"] == pytest.approx(statistics.stdev(times))
        assert entry["median"] == statistics.median(times)
        assert (entry["min"], entry["max"]) == (min(times), max(times))
        for key in hyperfine.COLUMNS:
            assert float(row[key]) == entry[key]
        assert row["parameter_a"] == entry.get("parameters", {}).get("a", "")
    assert entries[1]["exit_codes"] == [128 + 9] * 3


def timing(*times, command="x", **parameters):
    runs = tuple(Run(command, i, t, t >= NEVER, 0.5, 0.25, code=0) for i, t in enumerate(times))
    return Timing(command, parameters, runs, tuple(t for t in times if t < NEVER))


def test_markdown_has_ratios_of_means_with_their_errors():
    lines = hyperfine.as_markdown([timing(2.0, 4.0, command="slow"), timing(1.0, 2.0)]).splitlines()
    error = 2.0 * math.hypot(math.sqrt(2.0) / 3.0, math.sqrt(0.5) / 1.5)
    assert lines[0] == "| Command | Mean [s] | Min [s] | Max [s] | Relative |"
    assert lines[2] == f"| `slow` | 3.000 ± 1.414 | 2.000 | 4.000 | 2.00 ± {error:.2f} |"
    assert lines[3] == "| `x` | 1.500 ± 0.707 | 1.000 | 2.000 | 1.00 |"
    single = hyperfine.as_markdown([timing(0.25), timing(0.5, command="y")]).splitlines()
    assert single[2:] == [
        "| `x` | 250.0 | 250.0 | 250.0 | 1.00 |",
        "| `y` | 500.0 | 500.0 | 500.0 | 2.00 |",
    ]


def test_a_run_that_has_no_time_is_not_listed():
    (entry,) = json.loads(hyperfine.as_json([timing(1.0, NEVER, 2.0)]))["results"]
    assert entry["times"] == [1.0, 2.0]
    assert entry["exit_codes"] == [0, 0]
    (entry,) = json.loads(hyperfine.as_json([timing(1.0)]))["results"]
    assert entry["stddev"] is None


def test_a_spreadsheet_takes_no_command_for_a_formula():
    text = hyperfine.as_csv([timing(1.0, command="=x", a="-1"), timing(1.0, b="2")])
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["command"] for row in rows] == ["'=x", "x"]
    assert [(row["parameter_a"], row["parameter_b"]) for row in rows] == [("'-1", ""), ("", "2")]
    assert rows[0]["stddev"] == "0.0"
