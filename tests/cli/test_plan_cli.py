"""`bestk plan`."""

import json
import os

import numpy as np
import pytest

import bestk as library
from helpers.command import bestk, good

SMALL = [
    "plan", "--means", "0.3,0.9,0.6,0,0.7", "--k", "2", "--delta", "0.1", "--runs", "10",
    "--sigma", "0.1",
]  # fmt: skip
ONE = [*SMALL, "--policy", "e-lucb"]


def test_nothing_given_is_told_what_is_missing():
    done = bestk("plan")
    assert (done.returncode, "--k is missing" in done.stderr) == (2, True)


def test_people_get_bound_costs_drivers_and_a_caution():
    text = good(*SMALL)
    for part in ("lower bound", "samples on average", "median", "5% to 95%", "too cheap"):
        assert part in text
    rows = [line for line in text.splitlines() if line.startswith("│")]
    costs = [row for row in rows if "error <= 0.1 " in row and "wanted" not in row]
    assert [row.split()[1] for row in costs] == ["e-lucb", "lil-rand-lucb", "uniform"]
    drivers = [row.split("│")[1:4] for row in rows if row.rstrip().endswith("% │")]
    assert {row[1].strip() for row in drivers[:2]} == {"2", "4"}  # arms at the boundary first
    assert len(drivers) == 5
    assert "slack:" not in text  # no sweep was asked for


def test_what_an_author_claims_is_shown_as_a_claim():
    text = good(*SMALL[:-2], "--policy", "kl-lucb", "--policy", "lil-rand-lucb:heuristic",
                "--rewards", "bernoulli")  # fmt: skip
    assert "author's claim: error <= delta" in text
    assert "heuristic: none" not in text


def test_json_is_the_plan_of_the_library():
    data = json.loads(good(*ONE, "--policy", "lil-rand-lucb:heuristic", "--json"))
    same = library.plan(
        [0.3, 0.9, 0.6, 0.0, 0.7],
        k=2,
        delta=0.1,
        runs=10,
        rewards=library.Gaussian(0.1),
        policies=["e-lucb", "lil-rand-lucb:heuristic"],
    )
    assert data == same.to_dict()


def test_the_sweep_takes_a_list_or_nothing_wherever_it_stands():
    def slacks(*args):
        return [at["epsilon"] for at in json.loads(good(*ONE, "--json", *args))["sweep"]]

    auto = [0, 0.025, 0.05, 0.1, 0.2, 0.4]
    assert slacks("--epsilon-sweep") == auto
    assert slacks("--epsilon-sweep", "--seed", "2") == auto
    assert slacks("--epsilon-sweep", "auto") == auto
    assert slacks("--epsilon-sweep=0.2,0.1") == [0.1, 0.2]
    text = good(*ONE, "--epsilon-sweep", "0.1,0.35")
    assert "Samples against slack" in text
    assert "0.35" in text
    assert "--plot FILE.png" in text


@pytest.mark.parametrize(("name", "magic"), [("plan.png", b"\x89PNG"), ("plan.svg", b"<?xml")])
def test_plot_writes_a_figure_and_sweeps_by_itself(tmp_path, name, magic):
    path = tmp_path / name
    data = json.loads(good(*ONE, "--plot", str(path), "--json"))
    assert len(data["sweep"]) == 6
    assert path.read_bytes().startswith(magic)


def test_many_arms_are_summed_up():
    text = good(
        "plan", "--instance", "1-sparse", "--arms", "30", "--k", "2", "--runs", "3", "--policy",
        "e-lucb",
    )  # fmt: skip
    assert "the other 20 arms" in text
    assert sum(line.endswith("% │") for line in text.splitlines()) == 10 + 1


def test_replayed_data_and_costs_can_be_planned_too(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, stars=np.array([[9, 0, 1], [1, 0, 9], [0, 8, 2]]))
    replayed = ["plan", "--instance", "replay", "--data", str(path), "--array", "stars", "--k", "1"]
    data = json.loads(
        good(*replayed, "--rewards", "ratings", "--minimize", "--runs", "5", "--json")
    )
    assert (data["instance"], data["rewards"], data["maximize"]) == ("replay", "ratings", False)
    assert data["shares"][0]["arm"] in (0, 2)  # the smallest mean, and its nearest rival


def test_runs_that_were_cut_off_are_said_to_cost_more():
    text = good(*ONE, "--max-samples", "8")
    assert "10 of 10 runs of e-lucb were cut off at 8 samples" in text
    assert "8+" in text


def test_tied_means_are_warned_of_once():
    done = bestk("plan", "--means", "1,1,0", "--k", "1", "--runs", "2", "--max-samples", "100")
    assert done.returncode == 0
    assert done.stderr.count("warning: ") == 1
    assert "tied means cannot be told apart" in done.stdout


BAD = {
    "tied": (["--means", "1,0.5,0.5"], "give a slack epsilon > 0"),
    "policy": (["--policy", "lil-rand-lucbb"], "did you mean 'lil-rand-lucb'"),
    "variant": (["--policy", "e-lucb:heuristic"], "no variants"),
    "sweep": (["--epsilon-sweep", "0.1,much"], "as in 0.01,0.02,0.05"),
    "negative sweep": (["--epsilon-sweep", "-0.1"], "epsilon=-0.1"),
    "plot kind": (["--plot", "plan.pdf"], ".png or .svg"),
    "plot folder": (["--plot", "no/such/folder/plan.png"], "there is no folder"),
    "runs": (["--runs", "0"], "at least 1"),
    "bernoulli": (
        ["--means", "2,0", "--k", "1", "--rewards", "bernoulli", "--sigma", "0.5"],
        "[0, 1]",
    ),
    "stray data": (["--array", "stars"], "go with --instance replay"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_message_and_exit_code_2(case):
    args, message = BAD[case]
    done = bestk(*SMALL, *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", [("--quantile", "0.5"), ("--rewards", "quantile")])
def test_a_plan_of_quantiles_is_refused_with_what_to_do_instead(option):
    done = bestk("plan", "--means", "1,1.5", "--k", "1", *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bestk simulate --quantile 0.5 --law log-normal" in done.stderr


def test_a_missing_matplotlib_is_said_before_the_work(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    done = bestk(
        "plan", "--means", "1,1,0", "--k", "1", "--plot", "plan.png",
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "bestk[plot]" in done.stderr  # the work would have failed too: these means are tied
