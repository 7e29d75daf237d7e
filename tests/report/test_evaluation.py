"""Evaluations in words: how much of the table was scored, on which items, and what is assumed."""

import csv
import io
import json

import pytest

import bestk
from helpers.command import bestk as command

ARMS, ITEMS = ["a", "b", "c"], list(range(20))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Arm a is right on every item, the others never; c fails on the first ten."""

    def score(arm, item):
        if arm == "c" and item < 10:
            raise OSError("no answer")
        return float(arm == "a")

    path = tmp_path_factory.mktemp("evaluation") / "e.db"
    result = bestk.evaluate(ARMS, ITEMS, score, k=1, delta=1e-9, seed=1, backoff=0, storage=path)
    return path, result


def test_status_says_how_much_of_the_table_was_scored(file):
    path, result = file
    said = command("status", str(path)).stdout
    assert "the arm of 3 with the largest mean over 20 items" in said
    assert f"3 arms on 20 items, {100 * result.share:.1f}% of the table scored" in said


def test_the_page_says_on_what_it_rests(file, tmp_path):
    path, result = file
    assert command("report", str(path), "-o", str(tmp_path / "p.html")).returncode == 0
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "a random order of its own" in page
    assert f"<dt>of the table scored</dt><dd>{100 * result.share:.1f}%</dd>" in page
    assert "true mean over 20 items" in page
    assert "counts as the worst score" in page
    assert "depend on the reward it would have brought" not in page


def test_exported_rows_carry_the_position_of_the_item(file):
    path, result = file
    rows = json.loads(command("export", str(path), "--format", "json").stdout)
    found = [(row["arm"], row["item"], row["reward"]) for row in rows]
    assert found == [(cell.arm, cell.position, cell.score) for cell in result.cells]
    failed = [(row["arm"], row["item"]) for row in rows if row["kind"] == "failed"]
    assert failed == [(arm, item) for arm, item, _ in found if arm == "c" and item < 10]
    assert failed
    text = command("export", str(path), "--format", "csv").stdout
    assert [int(row["item"]) for row in csv.DictReader(io.StringIO(text))] == [
        cell.position for cell in result.cells
    ]
