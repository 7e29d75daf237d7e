"""Every example runs, says how far its answer is proved, and gives the answer that is true."""

import csv
import re
import signal
import subprocess
import sys
import urllib.request
from itertools import islice
from pathlib import Path

import pytest

from bestk.storage import SQLiteStorage
from bestk.study.reading import open_study

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
DRAWING = (
    pytest.param("backbone_network", marks=pytest.mark.compiled),
    "project_portfolio", "street_route", "worker_assignment",
)  # fmt: skip


def run(name, *args):
    """What an example prints, without complaints."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, args)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_example_is_run_by_a_test():
    texts = [path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py")]
    for example in EXAMPLES.glob("*.py"):
        assert any(example.stem in text for text in texts), example


@pytest.mark.parametrize("example", DRAWING)
def test_the_example_runs_and_draws(example, tmp_path):
    picture = tmp_path / "answer.png"
    check_drawn(run(example, picture), picture)


def check_drawn(said, picture):
    """The answer is proved, drawn, and the best there is."""
    assert "at most" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    truth = [line for line in said.splitlines() if line.startswith("true ")]
    answer, best = re.findall(r"\d+\.\d+", truth[0])
    assert answer == best


def test_the_live_route_loses_drives_and_crashes_half_way(tmp_path):
    picture = tmp_path / "route.png"
    said = run("live_route", picture)
    check_drawn(said, picture)
    dropped, opened = re.findall(r"(\d+) drives.* (\d+) cars on the road", said)
    assert dropped == opened  # nothing told is lost, and who was on the road still is
    study = open_study(tmp_path / "route.db")
    assert study.is_stopped
    assert f"{study.samples:,} drives; with probability at least 95%" in said


@pytest.mark.compiled
def test_the_queue_finds_the_two_fastest_plans():
    # their mean waits are 2.77 and 3.14 minutes, that of the next plan 3.34 (300 days of each)
    said = run("queue_staffing")
    assert "people in the shifts from 8, 11, 14 and 17: 2 4 2 3\n" in said
    assert "people in the shifts from 8, 11, 14 and 17: 2 3 2 4\n" in said
    assert "at most 0.1 minutes longer" in said


def means():
    """The true mean of every caption."""
    found = {}
    with (EXAMPLES / "data" / "captions_c559.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            no, somewhat, funny = (int(row[x]) for x in ("unfunny", "somewhat_funny", "funny"))
            found[row["caption"]] = (somewhat / 2 + funny) / (no + somewhat + funny)
    return found


@pytest.mark.compiled
def test_the_captions_are_certified_reported_and_resumed(tmp_path):
    said = run("captions", tmp_path)
    assert "Certified: with probability at least 95%" in said
    page = tmp_path / "captions.html"
    assert said.rstrip().endswith(f"the report is in {page}")
    whole = open_study(tmp_path / "captions.db")
    assert whole.samples < 44_000
    true, top = means(), whole.result.top
    assert min(true[caption] for caption in top) >= sorted(true.values())[-5] - 0.05
    for caption in top:
        assert f". {caption}\n" in said

    # as if the machine had died shortly before the end
    log = list(SQLiteStorage(tmp_path / "captions.db").read("captions"))
    half = tmp_path / "half"
    half.mkdir()
    SQLiteStorage(half / "captions.db").append("captions", log[: len(log) - 3_000])
    again = run("captions", half, "--resume")
    assert "Certified" in again
    kept = islice(SQLiteStorage(half / "captions.db").read("captions"), len(log) - 3_000)
    assert list(kept) == log[: len(log) - 3_000]


def test_the_served_captions_are_rated_until_ctrl_c_and_gone_on_with(tmp_path):
    pytest.importorskip("uvicorn", reason="bestk[serve] is not installed")
    command = [sys.executable, str(EXAMPLES / "serve_captions.py"), str(tmp_path)]
    command += ["--port", "0", "--raters", "4", "--pace", "0.001"]
    before = 0
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
            watch = demo.stdout.readline().split()[-1]
            with urllib.request.urlopen(watch, timeout=30) as page:
                assert b"<title>" in page.read()
            while open_study(tmp_path / "served.db").samples < before + 20:
                assert demo.poll() is None
            demo.send_signal(signal.SIGINT)
            assert "the ratings are in" in demo.stdout.read()
        assert demo.returncode == 0
        now = open_study(tmp_path / "served.db")
        assert now.samples >= before + 20
        before = now.samples
