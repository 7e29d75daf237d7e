"""`bestk run` and `bestk init`: to the certificate, through interrupts and failures, and again."""

import json
import os
import pty
import select
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from bestk.cli.main import main
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from helpers.command import BESTK, bestk, good, interrupt, start

HEAD = """
[study]
k = 1
rewards = "bernoulli"
{study}
[pull]
command = {command}
{pull}
[budget]
{budget}
"""
ARMS = """
[[arms]]
name = "good"
value = 1
[[arms]]
name = "bad [b]"
value = 0
"""


@pytest.fixture
def write(tmp_path):
    """Writes a study.toml; its path."""

    def write(command='["echo", "{value}"]', *, study="", pull="", budget="", arms=ARMS):
        path = tmp_path / "study.toml"
        text = HEAD.format(study=study, command=command, pull=pull, budget=budget)
        path.write_text(text + arms, encoding="utf-8")
        return str(path)

    return write


def log(path, study="study"):
    return list(SQLiteStorage(path.replace(".toml", ".db")).read(study))


@pytest.fixture
def here(capfd, monkeypatch):
    """Runs the command in this process, which is quicker; its words, the exit code checked."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def here(code, *args):
        monkeypatch.setattr("sys.argv", ["bestk", *args])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        assert ended.value.code == code, said.err
        return said

    yield here
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_study_runs_to_its_certificate_and_is_only_shown_the_next_time(write):
    path = write()
    done = bestk("run", path)
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    assert "certified: error <= 0.05" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert (lines[1][:2], lines[1][-1]) == (["1", "good"], "in")
    assert (lines[2][:3], lines[2][-1]) == (["2", "bad", "[b]"], "out")
    before = log(path)
    result = json.loads(good("run", path, "--json"))
    assert (result["study"], result["top"], result["stopped"]) == ("study", ["good"], "rule")
    assert result["samples"] == sum(event.kind == ev.TOLD for event in before)
    assert log(path) == before


def test_minimising_ranks_the_smallest_first(write, here):
    shown = here(0, "run", write(study='direction = "minimize"', pull="parallel = 2")).out
    assert shown.splitlines()[1].split()[1] == "bad"


def test_a_budget_counts_all_pulls_of_the_study(write, here):
    path = write(budget="pulls = 3")
    done = here(3, "run", path)
    assert "not certified: the budget is spent" in done.out
    assert "more pulls are needed (an estimate)" in done.out
    again = here(3, "run", path, "--json")
    result = json.loads(again.out)
    assert (result["samples"], result["stopped"], result["certified"]) == (3, "budget", False)
    assert "going on with study 'study' after 3 pulls" in again.err


def test_a_budget_of_seconds_ends_a_run(write, here):
    arms = ARMS.replace("value = 0", "value = 1")  # never decided
    result = json.loads(here(3, "run", write(budget="seconds = 1", arms=arms), "--json").out)
    assert (result["stopped"], result["certified"]) == ("budget", False)


def test_a_heuristic_ends_without_a_certificate(write, here):
    done = here(3, "run", write(study='policy = "uniform"\nvariant = "heuristic"'))
    assert "not certified: the policy has stopped, but it is a heuristic" in done.out


def test_an_answer_other_than_the_largest_means_is_named(write, here, tmp_path):
    script = tmp_path / "pull.sh"  # b is worse than a, except in the second round
    script.write_text(
        'printf . >> "$1"; n=$(wc -c < "$1")\n'
        "case ${1##*/} in a) echo $((n != 5));; b) echo $((n > 2));; c) echo 0;; esac\n"
    )
    arms = "".join(f'[[arms]]\nname = "{name}"\n' for name in "abc")
    command = json.dumps(["sh", str(script), f"{tmp_path}/{{name}}"])
    study = 'policy = "sequential-halving"\nparams = { budget = 24 }'
    done = here(3, "run", write(command, study=study, arms=arms))
    table, said = done.out.split("answer: ")
    assert [line.split()[1:3] for line in table.splitlines()[1:]] == [
        ["a", "0.9"],
        ["b", "0.8"],
        ["c", "0"],
    ]
    assert said.startswith("b\n24 pulls")


def test_a_changed_setting_is_refused_with_the_reason(write, here):
    here(3, "run", write(budget="pulls = 3"))
    done = here(2, "run", write(study="delta = 0.2"))
    assert "delta=0.2 was refused: the study was begun with 0.05" in done.err
    assert done.out == ""


def test_a_refusal_is_one_paragraph(write, tmp_path, here):
    done = here(2, "run", write(study="delta = 'x'"))
    assert "study.toml: delta = 'x' of [study] was refused" in done.err
    assert "Traceback" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_no_name_and_no_parameter_is_a_command(write, tmp_path, here):
    names = ["; touch pwned", "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", "--flag"]
    names += ['"; touch pwned; "', "x\ntouch pwned", "| touch pwned", "two words"]
    arms = "".join(
        f"[[arms]]\nname = {json.dumps(name)}\ntext = {json.dumps(name)}\nvalue = {i == 0:d}\n"
        for i, name in enumerate(names)
    )
    path = write("\"sh -c 'echo $3' {name} {text} {name} {value}\"", arms=arms)
    assert json.loads(here(0, "run", path, "--json").out)["top"] == names[:1]
    path = write(
        '"echo {name} {text} > /dev/null; echo {value}"', study='name = "by the shell"',
        pull="shell = true", arms=arms,
    )  # fmt: skip
    assert json.loads(here(0, "run", path, "--json").out)["top"] == names[:1]
    assert {file.suffix for file in tmp_path.iterdir()} <= {".toml", ".db", ".db-shm", ".db-wal"}


def test_failed_pulls_are_retried_recorded_and_shown(write, tmp_path, here):
    """Every third command fails, in two ways."""
    (tmp_path / "flaky.sh").write_text(
        "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n\n"
        "case $n in 3) echo 'no luck' >&2; exit 3;; 6) echo text; exit;; esac\n"
        "echo $1\n"
    )
    path = write('"sh flaky.sh {value}"', pull="retries = 2")
    done = here(0, "run", path)
    assert "failed pulls: 2, the last: " in done.err
    reasons = [event.data for event in log(path) if event.kind == ev.RETRIED]
    assert reasons[0] == "NoReward: exit code 3: no luck"
    assert "no number" in reasons[1]


def test_a_reward_out_of_range_ends_the_run_whatever_the_retries(write, tmp_path, here):
    (tmp_path / "odd.sh").write_text(
        "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n\n"
        "if test $n = 3; then echo 7; else echo $1; fi\n"
    )
    path = write('"sh odd.sh {value}"', pull="retries = 5")
    done = here(2, "run", path)
    assert "reward 7.0 was refused" in done.err
    assert "would void the guarantee" in done.err
    assert sum(event.kind == ev.TOLD for event in log(path)) == 2


def test_an_arm_that_keeps_failing_ends_the_run_and_says_how_to_go_on(write, tmp_path, here):
    path = write("\"sh -c 'cat ready && echo $0' {value}\"",
                 pull="retries = 1")  # fmt: skip
    done = here(2, "run", path)
    assert "failed 2 times in a row" in done.err
    assert "No such file" in done.err
    assert f"resumed with: bestk run {path}" in done.err
    (tmp_path / "ready").write_text("ready\n")
    here(0, "run", path)


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    end = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    yield end
    os.close(end)


def until_up(end, many, running):
    """Wait until so many commands have said that they run."""
    said = b""
    while said.count(b"up") < many:
        assert running.poll() is None
        if select.select([end], [], [], 1)[0]:
            said += os.read(end, 100)


def all_gone(end):
    """Whether nobody holds the pipe open any more."""
    while select.select([end], [], [], 60)[0]:
        if not os.read(end, 100):
            return True
    return False


STUCK = (
    """'''if [ -e go ]; then echo {value}; else"""
    """ exec 9>fifo; echo up >&9; sleep 1000 & wait; fi'''"""
)


def test_an_interrupted_study_leaves_nothing_running_and_goes_on(write, fifo, tmp_path, here):
    path = write(STUCK, pull="shell = true\nparallel = 2", budget="pulls = 5")
    (tmp_path / "go").touch()
    here(3, "run", path)
    (tmp_path / "go").unlink()
    path = write(STUCK, pull="shell = true\nparallel = 2")
    with start("run", path) as running:
        until_up(fifo, 2, running)
        said = interrupt(running)
    assert f"interrupted; all answers are kept, go on with: bestk run {path}" in said
    assert all_gone(fifo)
    stuck = [event.key for event in log(path) if event.kind == ev.ASKED][-2:]
    (tmp_path / "go").touch()
    done = here(0, "run", path)
    assert "going on with study 'study' after 5 pulls" in done.err
    told = Counter(event.key for event in log(path) if event.kind == ev.TOLD)
    assert set(told.values()) == {1}
    assert set(stuck) <= set(told)  # the same pulls were made again
    assert sum(told.values()) == json.loads(here(0, "run", path, "--json").out)["samples"]


def test_a_terminated_run_leaves_nothing_running_and_still_prints_json(write, fifo):
    path = write(STUCK, pull="shell = true\nparallel = 2")
    with start("run", path, "--json") as running:
        until_up(fifo, 2, running)
        running.send_signal(signal.SIGTERM)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert json.loads(out)["stopped"] == "interrupted"
    assert all_gone(fifo)


def test_a_terminal_shows_the_standings_as_they_change(write):
    reading, writing = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    environment |= {"PYTHONUTF8": "1", "NO_COLOR": "1"}
    running = subprocess.Popen(
        [BESTK, "run", write(budget="pulls = 500")], stdout=subprocess.PIPE, stderr=writing,
        env=environment,
    )  # fmt: skip
    os.close(writing)
    seen = b""
    try:
        while part := os.read(reading, 1 << 16):
            seen += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(reading)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    text = seen.decode()
    assert "study study" in text
    assert "0 in, 0 out, 2 undecided" in text
    last = text.rpartition("study study")[2]
    assert "1 in, 1 out, 0 undecided" in last
    assert "pulls/s" in last
    assert "of at most 500 pulls" in last
    assert "bad [b]" in last
    assert "━●" in last
    assert text.count("\x1b[?25h") >= text.count("\x1b[?25l") == 1  # the cursor is back
    assert b"certified: error" in out


def test_init_writes_a_file_that_runs_and_overwrites_nothing(tmp_path, here, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(BESTK).parent), prepend=os.pathsep)  # its python3
    path = str(tmp_path / "my study.toml")
    assert good("init", path) == f"wrote {path}; run it with: bestk run '{path}'\n"
    result = json.loads(here(0, "run", path, "--json").out)
    assert (result["study"], result["certified"]) == ("coins", True)
    before = (tmp_path / "my study.toml").read_text()
    done = here(2, "init", path)
    assert "it already exists; edit it, or remove it first" in done.err
    assert (tmp_path / "my study.toml").read_text() == before
    assert "refused" in here(2, "init", str(tmp_path / "no" / "x.toml")).err


def test_init_writes_study_toml_where_it_is_called(tmp_path, monkeypatch, here):
    monkeypatch.chdir(tmp_path)
    assert here(0, "init").out == "wrote study.toml; run it with: bestk run study.toml\n"
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
