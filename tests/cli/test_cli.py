"""The command line: help, `policies`, `simulate`."""

import json
import os
import re
import time
from pathlib import Path

import pytest
from rich.text import Text
from typer.main import get_command

from bestk import __version__
from bestk.cli.main import app
from bestk.cli.plan import plan
from bestk.cli.simulate import simulate
from bestk.compiled.programs import PLAY, Axes, Program
from bestk.kernels.types import EVIDENCE, NORMAL, PAIR
from helpers.command import bestk, good, interrupt, process, start

SMALL = ["simulate", "--instance", "1-sparse", "--arms", "10", "--k", "2", "--runs", "5"]


def test_the_command_is_on_the_path():
    """In a process of its own; most tests of commands spare its start."""
    done = process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bestk {__version__}\n", "")


def test_help_names_every_command():
    text = good("--help")
    for command in ("simulate", "reproduce", "policies"):
        assert command in text
        assert "--help" in good(command, "--help")


@pytest.mark.compiled
@pytest.mark.parametrize("command", [simulate, plan])
def test_the_example_of_the_help_text_runs(command):
    (example,) = re.findall(r"Example: bestk (.*)", command.__doc__)
    good(*example.split(), "--runs", "2")


def test_policies_are_listed_for_people_and_for_scripts():
    assert "Algorithm 1" in good("policies")
    data = {entry["name"]: entry for entry in json.loads(good("policies", "--json"))}
    assert set(data) == {
        "lil-rand-lucb", "lil-clucb", "lucb", "lil-lucb", "lucb++", "lil-ucb", "clucb", "ugape",
        "uniform", "e-lucb", "e-clucb", "glr", "sar", "sequential-halving", "csar",
        "track-and-stop", "eb-tc", "ttts", "kl-lucb", "kl-racing", "successive-elimination",
    }  # fmt: skip
    assert data["lucb"]["variants"] == []
    assert data["lil-ucb"]["guarantee"] is data["glr"]["guarantee"] is None
    assert [p["name"] for p in data["lil-rand-lucb"]["parameters"]] == [
        "levels", "rule", "eps", "bound",
    ]  # fmt: skip


def test_simulate_prints_one_json_object_that_depends_on_the_seed_alone():
    def numbers(*more):
        data = json.loads(good(*SMALL, "--json", *more))
        return {key: data[key] for key in data if key not in ("seconds", "steps_per_second")}

    one = numbers("--seed", "5", "--jobs", "1")
    assert one == numbers("--seed", "5", "--jobs", "2")
    assert one["samples"] != numbers("--seed", "6")["samples"]
    assert (one["policy"], one["variant"]) == ("e-lucb", None)
    assert one["guarantee"] == 0.01


@pytest.mark.compiled
def test_several_budgets_give_the_error_at_each(tmp_path):
    args = ["simulate", "--means", "0.6,0.5,0.1", "--k", "1", "--runs", "20", "--policy", "sar",
            "--policy", "uniform"]  # fmt: skip
    runs, plot = tmp_path / "runs.csv", tmp_path / "errors.png"
    text = good(*args, "--budget", "60,6", "--csv", str(runs), "--plot", str(plot))
    found = json.loads(good(*args, "--budget", "6,60", "--json"))["budgets"]
    for each, size in zip(found, (6, 60), strict=True):
        for result in each["results"]:
            assert result["budget"] == size
            name = result["policy"]
            alone = good(*args[:-4], "--policy", name, "--budget", str(size), "--json")
            assert json.loads(alone)["wrong"] == result["wrong"]
            low, high = result["wrong_ci"]
            assert f"{result['wrong'] / 20:.3g} [{low:.2g}, {high:.2g}]" in text
    lines = runs.read_text().splitlines()
    assert lines[0] == "policy,variant,instance,alpha,arms,k,budget,seed,run,samples,finished,right"
    assert lines[1].startswith("sar,,means,,3,1,6,1,0,")
    assert [line.split(",")[6] for line in lines[1:]] == ["6"] * 40 + ["60"] * 40
    one = tmp_path / "one.csv"
    good(*args, "--budget", "60", "--csv", one)
    assert one.read_text().splitlines()[1:] == lines[41:]
    assert plot.read_bytes().startswith(b"\x89PNG")
    for odd in ("six", "6,", "0"):
        assert bestk(*args, "--budget", odd).returncode == 2


def test_simulate_speaks_to_people_too():
    text = good(*SMALL, "--policy", "lil-rand-lucb", "--variant", "heuristic")
    assert "heuristic" in text
    assert "5: 0 wrong, 0 unfinished" in text


def test_own_means_parameters_and_slack():
    out = good(
        "simulate", "--means", "0.9,0.5,0.1", "--k", "1", "--rewards", "bernoulli", "--epsilon",
        "0.05", "--policy", "lil-rand-lucb", "--param", "rule=both", "--param", "levels=uniform",
        "--runs", "3", "--json",
    )  # fmt: skip
    data = json.loads(out)
    assert data["instance"] == "means"
    assert data["params"] == {
        "levels": "uniform", "rule": "both", "eps": 0.01, "bound": "lil",
    }  # fmt: skip
    assert data["epsilon"] == 0.05
    assert data["lower_bound"] is None


BAD = {
    "K too large": (["--k", "10"], "1 to 9"),
    "K zero": (["--k", "0"], "1 to 9"),
    "K not a number": (["--k", "two"], "integer or N/2"),
    "one arm": (["--arms", "1"], "at least 2"),
    "odd half": (["--arms", "11", "--k", "N/2"], "odd"),
    "delta": (["--delta", "1.5"], "(0, 1)"),
    "epsilon": (["--epsilon", "-1"], "slack"),
    "policy": (["--policy", "lil-rand-lucbb"], "did you mean 'lil-rand-lucb'"),
    "instance": (["--instance", "1-spars"], "did you mean '1-sparse'"),
    "lil-ucb with K=2": (["--policy", "lil-ucb"], "K must be 1"),
    "parameter": (["--param", "nothing=1"], "has no such parameter"),
    "parameter shape": (["--param", "rule"], "NAME=VALUE"),
    "rewards": (["--rewards", "poisson"], "unknown reward family"),
    "text for a number": (["--runs", "many"], "--runs"),
    "unknown option": (["--banana"], "banana"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_message_and_exit_code_2(case):
    args, message = BAD[case]
    done = bestk(*SMALL, *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("content", "message"), [("0.1\nnan\n", "line 2"), ("a\n", "line 1")])
def test_a_bad_means_file_is_refused(tmp_path, content, message):
    path = tmp_path / "means.txt"
    path.write_text(content)
    done = bestk("simulate", "--means", str(path), "--k", "1")
    assert (done.returncode, message in done.stderr) == (2, True)


def test_debug_shows_the_traceback():
    done = bestk("--debug", *SMALL, "--k", "99")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_tied_means_are_refused_without_a_cap_and_warned_of_with_one():
    tied = ["simulate", "--means", "1,1,0", "--k", "1", "--runs", "2"]
    assert bestk(*tied).returncode == 2
    done = bestk(*tied, "--max-samples", "1000", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: ")
    assert json.loads(done.stdout)["unfinished"] == 2


@pytest.mark.compiled
def test_an_interrupt_stops_the_kernels_and_exits_with_130():
    Program(PLAY, Axes(PAIR, EVIDENCE, hybrid=True, kind=NORMAL)).compile()
    forever = ["--means", "1,0.9999999", "--k", "1", "--max-samples", str(10**15)]
    with start("simulate", *forever) as process:
        # starting takes a few seconds of processor time: after six the kernels are at work
        status, ticks = Path(f"/proc/{process.pid}/stat"), os.sysconf("SC_CLK_TCK")
        while int(status.read_text().rsplit(")", 1)[1].split()[11]) < 6 * ticks:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        assert "interrupted" in interrupt(process)


GRAPH = {
    "edges": [
        {"u": "a", "v": "b", "mean": 0.9},
        {"u": "b", "v": "c", "mean": 0.6},
        {"u": "a", "v": "c", "mean": 0.1},
    ],
    "source": "a",
    "target": "c",
}


@pytest.mark.parametrize("decision", ["spanning-tree", "path"])
def test_a_graph_file_is_simulated(tmp_path, decision):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH))
    args = ["simulate", "--decision", decision, "--graph", str(path), "--runs", "3", "--json"]
    data = json.loads(good(*args))
    assert (data["decision"], data["arms"], data["k"]) == (decision, 3, None)
    assert (data["policy"], data["wrong"]) == ("e-clucb", 0)
    assert json.loads(good(*args, "--minimize", "--policy", "clucb"))["wrong"] == 0


@pytest.mark.parametrize(
    ("decision", "text"),
    [("spanning-tree", "grid:2x3"), ("matching", "bipartite:2x2"), ("path", "layered:2x2")],
)
def test_a_generated_structure_is_simulated(decision, text):
    data = json.loads(
        good("simulate", "--decision", decision, "--generate", text, "--gap", "0.8",
             "--runs", "3", "--json")
    )  # fmt: skip
    assert data["wrong"] == 0
    assert data["lower_bound"] > 0


def test_best_k_is_minimised_on_the_command_line():
    data = json.loads(
        good("simulate", "--means", "3,1,2", "--k", "1", "--minimize", "--runs", "3", "--json")
    )
    assert data["wrong"] == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--decision", "path"], "either --graph or --generate"),
        (["--decision", "pathh", "--generate", "grid:2x2"], "did you mean 'path'"),
        (["--decision", "path", "--generate", "grid:2"], "grid"),
        (["--decision", "path", "--generate", "grid:2x2", "--k", "1"], "takes its arms"),
        (["--generate", "grid:2x2", "--k", "1"], "other than top-k"),
        (["--decision", "pat", "--k", "1"], "did you mean 'path'"),
        (["--decision", "path", "--generate", "grid:1x1"], "no edges"),
        (["--means", "1,2", "--k", "1", "--gap", "0.1"], "other than top-k"),
        (["--means", "1,2", "--k", "1", "--alpha", "0.3"], "have none"),
        (["--means", "1,2", "--k", "1", "--max-samples", "99999999999999999999"], "integer"),
        (["--decision", "path", "--graph", "nowhere.json"], "nowhere.json"),
        (["--instance", "1-sparse", "--arms", "5"], "--k is missing"),
    ],
)
def test_bad_structures_are_refused(args, message):
    done = bestk("simulate", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_extreme_settings_still_print_json():
    small = ["simulate", "--instance", "1-sparse", "--arms", "10", "--k", "2", "--runs", "2"]
    data = json.loads(good(*small, "--delta", "1e-200", "--json"))
    assert data["lower_bound"] > 0
    data = json.loads(good(*small, "--sigma", "1e200", "--max-samples", "100", "--json"))
    assert data["lower_bound"] is None
    assert bestk(*small, "--delta", "1e-320").returncode == 2


def test_a_means_file_from_a_windows_editor_is_read(tmp_path):
    path = tmp_path / "means.txt"
    path.write_bytes(b"\xef\xbb\xbf0.5\r\n0.1\r\n")
    assert json.loads(good("simulate", "--means", str(path), "--k", "1", "--json"))["arms"] == 2


def test_programs_that_cannot_be_kept_are_not_said_to_be():
    done = process("compile", env=os.environ | {"BESTK_CACHE_DIR": "/proc/nothing"})
    assert (done.returncode, "cannot be stored" in done.stderr) == (2, True)


@pytest.mark.parametrize("stream", [1, 2])
def test_closed_streams_take_what_is_written(stream):
    done = bestk("policies", preexec_fn=lambda: os.close(stream))
    assert (done.returncode, done.stderr) == (0, "")


def every_command(command):
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from every_command(each)


def test_help_loses_no_word_in_brackets():
    for command in every_command(get_command(app)):
        said = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
        assert [Text.from_markup(text).plain for text in said] == said
