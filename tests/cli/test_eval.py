"""`bestk eval`: commands that score items, and tables that are finished."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

import bestk
from bestk.cli.main import main
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev

TEXT = """
[study]
k = 1
seed = 3
{study}
[items]
file = "{items}"
{more}
[pull]
command = {command}
{pull}
[budget]
{budget}
[[arms]]
name = "good"
value = 1
[[arms]]
name = "bad"
value = 0
"""
ECHO = '["echo", "{item}", "{value}"]'
SHELL = '"echo $(cat | wc -c) {item} {value}"\nshell = true'


@pytest.fixture
def here(capfd, monkeypatch):
    """Runs the command in this process; its words, the exit code checked."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def here(code, *args):
        monkeypatch.setattr("sys.argv", ["bestk", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        assert ended.value.code == code, said.err
        return said

    yield here
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def write(tmp_path):
    """Writes an evaluation with twelve items; its path."""

    def write(command=ECHO, *, items="items.txt", content=None, **parts):
        lines = [f"what; is $(touch hacked) {i}?" for i in range(12)]
        (tmp_path / items).write_text("\n".join(lines) if content is None else content, "utf-8")
        parts = {name: parts.get(name, "") for name in ("study", "more", "pull", "budget")}
        path = tmp_path / "e.toml"
        path.write_text(TEXT.format(command=command, items=items, **parts), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("command", [ECHO, SHELL])
def test_an_evaluation_runs_to_its_certificate_and_is_only_shown_the_next_time(
    here, write, tmp_path, command
):
    path = write(command)
    found = json.loads(here(0, "eval", path, "--json").out)
    assert (found["top"], found["certified"], found["items"]) == (["good"], True, 12)
    assert found["samples"] <= found["table"] == 24
    again = here(0, "eval", path)
    assert f"2 arms on 12 items, {100 * found['share']:.1f}% of the table scored" in again.out
    asked = [event for event in SQLiteStorage(tmp_path / "e.db").read("e") if event[0] == ev.ASKED]
    assert len(asked) == found["samples"]
    assert not (tmp_path / "hacked").exists()  # no item can become a command


def test_fields_of_items_are_filled_in_and_the_whole_item_is_on_standard_input(here, write):
    rows = "".join(json.dumps({"q": i, "a": [i]}) + "\n" for i in range(12))
    program = (
        "import json, sys; item = json.load(sys.stdin);"
        " assert item == json.loads(sys.argv[1]) and str(item['q']) == sys.argv[2];"
        " print(sys.argv[3])"
    )
    command = json.dumps(["python3", "-c", program, "{item}", "{item.q}", "{value}"])
    path = write(command, items="items.jsonl", content=rows, pull='on_fail = "stop"')
    assert json.loads(here(0, "eval", path, "--json").out)["top"] == ["good"]


def test_a_csv_has_a_row_per_item(here, write):
    path = write('["echo", "{item.q} {value}"]', items="items.csv", content="q,a\n1,x\n2,y\n3,z\n")
    assert json.loads(here(0, "eval", path, "--json").out)["items"] == 3


def test_every_cell_is_scored_as_often_as_repeats_says(here, write, tmp_path):
    path = write('["sh", "-c", "echo x >> calls; echo {value}", "{item}"]', pull="repeats = 3")
    found = json.loads(here(0, "eval", path, "--json").out)
    assert len((tmp_path / "calls").read_text().split()) == 3 * found["samples"]


def test_a_budget_ends_it_and_it_goes_on(here, write):
    path = write(budget="pulls = 3")
    assert json.loads(here(3, "eval", path, "--json").out)["samples"] == 3
    path.write_text(path.read_text("utf-8").replace("pulls = 3", ""), "utf-8")
    said = here(0, "eval", path, "--json")
    assert "after 3 pulls" in said.err
    assert json.loads(said.out)["top"] == ["good"]


def test_a_failure_scores_the_worst_or_ends_the_run(here, write):
    command = '["sh", "-c", "test $2 -eq 1 && echo 1", "sh", "{item}", "{value}"]'
    said = here(0, "eval", write(command, pull="backoff = 0"), "--json")
    assert json.loads(said.out)["arms"][1]["failed"] > 0
    assert "failed pulls" in said.err
    path = write(command, study='name = "other"', pull='on_fail = "stop"\nbackoff = 0')
    assert f"go on with: bestk eval {path}" in here(2, "eval", path).err.replace("resumed", "go on")


def test_other_items_are_refused_later(here, write):
    path = write(budget="pulls = 3")
    here(3, "eval", path)
    (path.parent / "items.txt").write_text("one\ntwo\n", "utf-8")
    assert "was refused: the study was begun with" in here(2, "eval", path).err


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"items": "i.jsonl", "content": '{"a": 1}\n{'}, "i.jsonl, line 2 was refused: no JSON"),
        ({"items": "i.csv", "content": "a,b\n1,2\n3\n"}, "line 3 was refused: it has 1 cells"),
        ({"items": "i.csv", "content": "a,a\n1,2\n"}, "two columns have the same name"),
        ({"content": "\n\n"}, "there are none"),
        ({"command": '["echo", "{item.q}"]'}, "{item.q} in the command was refused"),
        ({"study": 'policy = "lucb"'}, "found by e-lucb"),
        ({"study": 'lost = "worst"'}, "on_fail"),
        ({"more": 'target = "all"'}, 'it must be "items" or "population"'),
    ],
)
def test_files_that_cannot_run_are_refused(here, write, parts, said):
    path = write(**parts)
    assert said in here(2, "eval", path).err
    assert not path.with_suffix(".db").exists()


def test_run_and_eval_point_to_each_other(here, write, tmp_path):
    path = write()
    assert "bestk eval" in here(2, "run", path).err
    here(0, "init", tmp_path / "plain.toml")
    assert "bestk run" in here(2, "eval", tmp_path / "plain.toml").err
    assert "give either" in here(2, "eval").err
    assert "--k goes with --table" in here(2, "eval", path, "--k", 1).err


def test_the_file_to_start_from_runs_as_it_stands(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here(0, "init", "--eval")
    assert json.loads(here(0, "eval", "eval.toml", "--json").out)["top"] == ["all digits"]
    assert "exists" in here(2, "init", "--eval").err


# --- finished tables ------------------------------------------------------------------------------


SCORES = (np.random.default_rng(1).random((4, 15)) < np.array([[0.2], [0.9], [0.5], [0.1]])) * 1.0


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "scores.csv"
    rows = ["arm," + ",".join(f"question {j}" for j in range(15))]
    rows += [f"prompt {i}," + ",".join(map(str, row)) for i, row in enumerate(SCORES.tolist())]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_a_table_tells_what_the_evaluation_would_have_cost(here, table):
    found = json.loads(here(0, "eval", "--table", table, "--k", 1, "--seed", 5, "--json").out)
    live = bestk.evaluate(range(4), range(15), lambda i, j: SCORES[i, j], k=1, seed=5)
    assert found["evaluations"] == {"mean": live.samples, "min": live.samples, "max": live.samples}
    assert (found["share"], found["table"]) == (live.share, 60)
    assert (found["answer"], found["best"], found["wrong"]) == (["prompt 1"], ["prompt 1"], 0)
    shown = here(0, "eval", "--table", table, "--k", 1, "--seed", 5).out
    assert "answer: prompt 1, which is right" in shown


def test_several_runs_have_a_mean_and_a_range(here, table, tmp_path):
    found = json.loads(here(0, "eval", "--table", table, "--k", 1, "--runs", 9, "--json").out)
    assert found["evaluations"]["min"] < found["evaluations"]["mean"] < found["evaluations"]["max"]
    assert (found["runs"], found["answer"]) == (9, None)
    np.savez(tmp_path / "scores.npz", scores=SCORES)
    other = json.loads(
        here(0, "eval", "--table", tmp_path / "scores.npz", "--k", 1, "--runs", 9, "--json").out
    )
    assert other == {**found, "best": ["1"]}
    assert "on average of 9 runs" in here(0, "eval", "--table", table, "--k", 1, "--runs", 9).out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("arm,a,b\nx,1,2\ny,0,0\n", "lie in"),
        ("arm,a,b\nx,1,\ny,0,0\n", "item 'b': the score is missing"),
        ("arm,a,b\nx,1,yes\ny,0,0\n", "'yes' is no score"),
        ("arm,a,b\nx,1\ny,0,0\n", "1 scores were refused"),
        ("arm,a,b\nx,1,0\nx,0,0\n", "it has a row already"),
        ("arm,a,b\n", "no scores"),
    ],
)
def test_tables_with_holes_are_refused(here, tmp_path, content, said):
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    assert said in here(2, "eval", "--table", tmp_path / "t.csv", "--k", 1).err
