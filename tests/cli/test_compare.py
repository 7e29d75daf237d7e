"""`bestk compare`: the table of a paper."""

import csv
import json
import re

import pytest

import bestk as library
from bestk.report.paper_table import PaperTable
from bestk.simulation import Comparison
from helpers.command import bestk, call, good

QUIET = ["--delta", "0.1", "--runs", "5", "--sigma", "0.1"]
SMALL = ["compare", "1-sparse:10:2", "exponential:6:N/2:0.6", *QUIET]
TWO = ["--policy", "e-lucb", "--policy", "lil-rand-lucb:heuristic"]
pytestmark = pytest.mark.compiled


def test_json_has_every_comparison_as_the_library_finds_it():
    found = json.loads(good(*SMALL, *TWO, "--json"))["instances"]
    assert [each["results"][0]["arms"] for each in found] == [10, 6]
    assert [each["results"][0]["k"] for each in found] == [2, 3]
    same = library.simulate(
        "exponential", "lil-rand-lucb", "heuristic", arms=6, k="N/2", alpha=0.6, delta=0.1, runs=5,
        rewards=library.Gaussian(0.1),
    )  # fmt: skip
    assert found[1]["results"][1]["samples"] == same.to_dict()["samples"]


def test_one_table_for_people_and_for_papers(tmp_path):
    files = [tmp_path / f"table{kind}" for kind in (".md", ".tex", ".csv")]
    text = good(*SMALL, *TWO, *(part for file in files for part in ("--out", str(file))))
    markdown, latex, numbers = (file.read_text(encoding="utf-8") for file in files)
    for shown in (text, markdown, latex):
        assert shown.count("1-sparse") == shown.count("exponential") == 1
        assert "±" in shown or r"$\pm$" in shown
    assert r"\textbf{" in latex
    assert "heuristic" in latex
    assert latex.count(r"\\") == 3
    rows = list(csv.DictReader(numbers.splitlines()))
    assert [(row["instance"], row["policy"]) for row in rows] == [
        ("1-sparse", "e-lucb"),
        ("1-sparse", "lil-rand-lucb (heuristic)"),
        ("exponential (0.6)", "e-lucb"),
        ("exponential (0.6)", "lil-rand-lucb (heuristic)"),
    ]
    same = library.simulate(
        "1-sparse", arms=10, k=2, delta=0.1, runs=5, rewards=library.Gaussian(0.1)
    )
    assert float(rows[0]["mean"]) == same.mean
    assert f"**{same.mean:,.0f} ±" in markdown


def test_the_help_shows_the_examples_as_they_are_typed():
    """Colons around some words and numbers are pictures on a terminal."""
    text = good("compare", "--help")
    assert "1-sparse:50:5" in text
    assert text.isascii() or not re.search("[\U0001f300-\U0001faff]", text)


def test_the_caption_names_a_budget(tmp_path):
    file = tmp_path / "table.md"
    said = ["compare", "1-sparse:10:2", "--runs", "2", "--policy", "sar", "--out", str(file)]
    good(*said, "--budget", "40")
    assert "2 runs, delta = 0.01, budget = 40." in file.read_text(encoding="utf-8")


def test_fixed_budgets_stand_beside_policies_that_stop_by_themselves(tmp_path):
    file = tmp_path / "table.md"
    said = ["compare", "1-sparse:10:2", "--runs", "2", "--policy", "e-lucb", "--policy", "sar"]
    found = json.loads(good(*said, "--param", "budget=40", "--out", file, "--json"))
    own, fixed = found["instances"][0]["results"]
    assert (own["budget"], fixed["budget"]) == (None, 40)
    assert own["samples"]["mean"] > 40 >= fixed["samples"]["mean"]
    assert "delta = 0.01, budget of sar = 40." in file.read_text(encoding="utf-8")
    assert "--param budget=B" in bestk(*said).stderr


def test_only_a_proved_policy_whose_runs_ended_is_bold():
    def row(policies, **settings):
        results = [
            library.simulate([0.9, 0.1], *policy, k=1, delta=0.1, runs=3, **settings)
            for policy in policies
        ]
        return PaperTable([Comparison(tuple(results))]).rows()[0][3:]

    both = [("lil-rand-lucb", "heuristic"), ("e-lucb",)]
    unproved, proved = row(both)
    assert not unproved.startswith("**")
    assert proved.startswith("**")
    cut = row(both, max_samples=4)
    assert all(cell.startswith("≥ ") for cell in cut)


def test_means_come_from_a_file_and_are_called_by_its_name(tmp_path):
    file = tmp_path / "my & means.txt"
    file.write_text("0.9\n0.5\n0.1\n")
    table = tmp_path / "table.tex"
    good("compare", f"{file}:1", *QUIET, "--policy", "e-lucb", "--out", str(table))
    assert r"my \& means.txt & 3 & 1 & " in table.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["foo:3"], "write NAME:N:K"),
        (["1-sparse:10"], "write NAME:N:K"),
        (["means:5:1"], "lil-exponential, or FILE:K with a file of means"),
        (["1-sparse:ten:2"], "write NAME:N:K"),
        (["exponential:10:2"], "alpha"),
        (["1-sparse:10:10"], "k"),
        (["1-sparse:10:2", "--out", "table.pdf"], ".tex"),
        (["1-sparse:10:2", "--policy", "lucbb"], "lucb"),
    ],
)
def test_what_cannot_be_compared_is_refused(args, message):
    done = call("compare", *args)
    assert done.returncode == 2
    assert message in done.stderr
