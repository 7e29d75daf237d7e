"""Several policies on one instance: paired ratios, every run, and what is refused."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import bestk
from bestk.errors import InputError, UnknownName
from bestk.report.paper_table import PaperTable
from bestk.simulation import Comparison
from bestk.simulation.comparison import Entry, entries
from helpers.command import call, good
from helpers.python_policies import forgotten

SMALL = ("simulate", "--means", "0.9,0.4,0.2", "--k", "1", "--runs", "20")
TWO = ("--policy", "e-lucb", "--policy", "lil-rand-lucb:heuristic")


def results(*policies, **more):
    settings = {"k": 1, "runs": 20} | more
    return tuple(bestk.simulate([0.9, 0.4, 0.2], *each, **settings) for each in policies)


def test_ratios_are_of_paired_runs():
    found = Comparison(results(("e-lucb",), ("lucb++", "heuristic")))
    first, second = (result.samples for result in found.results)
    value, low, high = found.ratio(found.results[1])
    assert value == pytest.approx(second.mean() / first.mean())
    error = np.std(second - value * first, ddof=1) / np.sqrt(20) / first.mean()
    for end in (value / low, high / value):
        assert math.log(end) == pytest.approx(2.0930 * error / value, rel=1e-4)  # Student's, of 19
    assert found.ratio(found.results[0]) == pytest.approx((1.0, 1.0, 1.0))


def test_intervals_of_five_runs_hold_their_level():
    # 1,000 comparisons of two independent policies, log-normal samples of 30%, intervals at 95%:
    # Student's quantile covers 94.6%, a normal one 87%; below 909 of 1,000 has probability 1e-6
    drawn = np.random.default_rng(1).lognormal(0.0, 0.3, (1000, 2, 5))
    base = results(("e-lucb",), ("lucb++",), runs=5)
    covered = 0
    for samples in drawn:
        pair = tuple(replace(b, samples=s) for b, s in zip(base, samples, strict=True))
        _, low, high = Comparison(pair).ratio(pair[1])
        covered += low <= 1.0 <= high
    assert covered >= 909


@pytest.mark.parametrize("more", [{"runs": 1}, {"max_samples": 10}])
def test_no_ratio_of_one_run_or_of_runs_that_were_cut_off(more):
    found = Comparison(results(("e-lucb",), ("lucb++",), **more))
    assert found.ratio(found.results[1]) is None
    assert found.to_dict()["results"][1]["ratio"] is None


class Guess:
    """Answers the first arm at once."""

    def start(self, *_):
        pass

    def ask(self):
        return []

    tell = start

    def answer(self):
        return [0]


def test_no_ratio_to_a_policy_that_takes_no_samples():
    with forgotten():
        bestk.policies.register("guess", Guess)
        found = Comparison(results(("guess",), ("e-lucb",)))
        assert found.results[0].samples.tolist() == [0] * 20
        assert [found.ratio(result) for result in found.results] == [None, None]
        assert "guess" in PaperTable([found]).write(".csv")
        assert Comparison(found.results[::-1]).ratio(found.results[0]) is None


def test_at_a_budget_tables_name_it_instead_of_an_error(tmp_path):
    both = ("--policy", "e-lucb", "--policy", "sar")
    shown = good(*SMALL, *both, "--budget", "40", "--plot", tmp_path / "runs.svg")
    assert "N=3, budget 40, 20 runs each" in shown
    assert "budget 40" in (tmp_path / "runs.svg").read_text(encoding="utf-8")
    mixed = good(*SMALL, *both, "--param", "budget=40")
    assert "N=3, error <= 0.01, 20 runs each" in mixed
    assert "nothing at a budget" in good(*SMALL, "--budget", "40")


def test_each_policy_takes_its_variant_and_its_parameters():
    found = entries(["e-lucb", "lucb++", "lucb++:heuristic"], "faithful", {"rule": "both"})
    assert found == [
        Entry("e-lucb", None, {"rule": "both"}),
        Entry("lucb++", "faithful", {}),
        Entry("lucb++", "heuristic", {}),
    ]
    assert entries([], "faithful", {"a": "1"}) == [Entry(None, "faithful", {"a": "1"})]
    assert entries(["ucb:x"], None, {}) == [Entry("ucb", "x", {})]  # refused where it is run
    with pytest.raises(InputError, match=r"param independnt was refused: none of e-lucb, lucb\+\+"):
        entries(["e-lucb", "lucb++"], None, {"independnt": "no"})
    with pytest.raises(UnknownName, match="lucb"):
        entries(["e-lucb", "lucc"], None, {})


def test_the_command_compares_all_policies_that_are_named(tmp_path):
    table, picture = tmp_path / "runs.csv", tmp_path / "runs.svg"
    data = json.loads(good(*SMALL, *TWO, "--csv", table, "--plot", picture, "--json"))
    assert data["reference"] == "e-lucb"
    assert [row["policy"] for row in data["results"]] == ["e-lucb", "lil-rand-lucb"]
    assert data["results"][1]["variant"] == "heuristic"
    assert data["results"][0]["ratio"] == 1.0
    alone = json.loads(good(*SMALL, *TWO[2:], "--json"))
    for changing in ("seconds", "steps_per_second", "ratio", "ratio_ci"):
        data["results"][1].pop(changing)
        alone.pop(changing, None)
    assert data["results"][1] == alone
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40
    samples = [int(row["samples"]) for row in rows if row["policy"] == "e-lucb"]
    assert len(samples) == 20
    assert np.mean(samples) == data["results"][0]["samples"]["mean"]
    assert "share of runs" in picture.read_text(encoding="utf-8")


def test_the_table_says_what_is_proved():
    text = good(*SMALL, *TWO)
    assert "lil-rand-lucb (heuristic)" in text
    assert "nothing" in text
    assert "error <= 0.01" in text


def test_a_figure_of_another_format_is_refused_before_the_work():
    done = call(*SMALL, "--plot", "x.pdf")
    assert done.returncode == 2
    assert "must end in .png or .svg" in done.stderr


def test_runs_as_a_table():
    pytest.importorskip("pandas")
    frame = Comparison(results(("e-lucb",), ("lucb++",))).to_pandas()
    assert ",".join(frame.columns) == (
        "policy,variant,instance,alpha,arms,k,budget,seed,run,samples,finished,right"
    )
    assert frame.groupby("policy")["run"].max().to_dict() == {"e-lucb": 19, "lucb++": 19}
