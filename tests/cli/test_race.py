"""`bestk race` through its real entry point, with real commands."""

import csv
import json
import os
import select
import signal
from collections import Counter

import pytest

from helpers.command import bestk, good, start

PATIENCE = 120  # seconds, for what comes at once unless something is broken


def test_people_get_the_cap_a_table_and_the_certificate():
    slow = "sh -c 'sleep 60; echo [/bold]'"
    done = bestk("race", slow, "true", "--max-time", "0.5", "--seed", "1", "--by", "mean")
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert said[0] == "cap 500 ms: a run that reaches it is killed and scored as the cap"
    rows = [line.split("│")[1:-1] for line in said if line.startswith("│")]
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == 7]
    assert [row[0] for row in rows] == ["1", "2"]
    assert [row[1] for row in rows] == ["true", slow]
    assert rows[1][2] == "500 ms"
    assert rows[0][5] == "1.00"
    assert rows[1][5].startswith(">= ")
    assert [row[6] for row in rows] == ["in", "out"]
    assert "certified: error <= 0.05 (docs/e-lucb.md" in done.stdout
    assert f"runs cut there: {rows[1][4]} of {slow}" in done.stdout
    assert "means of min(time, cap)" in done.stdout


def test_json_is_a_result_with_the_cap_and_every_run_is_exported(tmp_path):
    export = tmp_path / "runs.csv"
    commands = ["true 'two words'", "sleep 0.1", "sleep 0.15"]
    data = json.loads(good("race", "--json", "--by", "mean", "--export", str(export), *commands))
    assert data["study"] == "race"
    assert (data["top"], data["certified"], data["stopped"]) == (commands[:1], True, "rule")
    assert [arm["label"] for arm in data["arms"]] == commands
    assert data["cap"] >= 3 * 0.1
    with export.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["command", "seq", "seconds", "cut"]
    assert [int(row["seq"]) for row in rows] == list(range(1, data["samples"] + 1))
    counts = Counter(row["command"] for row in rows)
    assert counts == {arm["label"]: arm["pulls"] for arm in data["arms"]}
    assert all(0 < float(row["seconds"]) <= data["cap"] for row in rows)
    assert Counter(row["command"] for row in rows if row["cut"] == "true") == data["cut"]


def test_a_cleanup_that_fails_is_told_after_the_result():
    done = bestk("race", "true", "sleep 0.05", "--cleanup", "false", "--seed", "1")
    assert done.returncode == 2
    assert "certified: error <= 0.05" in done.stdout
    assert done.stderr.count("cleans up after the runs") == 2
    done = bestk("race", "true", "sleep 0.05", "--cleanup", "false", "--prepare", "false")
    assert done.returncode == 2
    assert "prepares the run of 'true' failed" in done.stderr


@pytest.mark.parametrize("by", ["median", "pairs"])
def test_an_interrupt_is_exit_code_130_whatever_becomes_of_the_cleanup(by, tmp_path):
    signs = tmp_path / "signs"
    os.mkfifo(signs)
    slow = f"sh -c 'echo > {signs}; exec sleep 100'"
    race = ("race", slow, "sleep 100", "--warmup", "0", "--seed", "1", "--by", by)
    with start(*race, "--cleanup", "false") as process:
        pipe = os.open(signs, os.O_RDWR)
        assert select.select([pipe], [], [], PATIENCE)[0]
        os.close(pipe)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.count("cleans up after the runs") == 2


@pytest.mark.parametrize("by", ["median", "pairs"])
def test_an_interrupt_of_a_cleanup_costs_neither_the_others_nor_the_result(by, tmp_path):
    signs, log = tmp_path / "signs", tmp_path / "log"
    os.mkfifo(signs)
    hangs = f"test {{n}} = 0.2 || {{ echo > {signs}; exec sleep 100; }}"
    cleanup = f"sh -c 'echo {{n}} >> {log}; {hangs}'"
    race = ("race", "-L", "n", "0.1,0.2", "sleep {n}", "--runs", "1", "--by", by)
    with start(*race, "--cleanup", cleanup) as process:
        pipe = os.open(signs, os.O_RDWR)
        assert select.select([pipe], [], [], PATIENCE)[0]  # the first cleanup has begun
        process.send_signal(signal.SIGINT)
        os.close(pipe)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "2 counted runs in" in out
    assert "cleans up after the runs of 'sleep 0.1' was interrupted" in err
    assert log.read_text().split() == ["0.1", "0.2"]


def test_status_and_report_show_units(tmp_path):
    file, page = str(tmp_path / "race.db"), tmp_path / "page.html"
    slack = ("--epsilon", "0.0025")
    good("race", "true", "sleep 0.05", "--storage", file, "--seed", "1", *slack)
    said = good("status", file)
    assert "error <= 0.05, slack 2.5 ms" in said
    sums = [line.split("│")[2].split() for line in said.splitlines() if "sum of" in line]
    assert [words[1:] in ([unit] for unit in ("s", "ms", "us")) for words in sums] == [True] * 2
    good("report", file, "-o", str(page))
    text = page.read_text()
    assert "true median at most 2.5 ms above the smallest" in text
    assert "slack 2.5 ms" in text
    assert "<dd>2.5 ms</dd>" in text


def test_a_slack_in_percent_is_a_factor(tmp_path):
    file, page = str(tmp_path / "race.db"), tmp_path / "page.html"
    race = ("race", "true", "sleep 0.05", "--storage", file, "--seed", "1", "--epsilon", "12.5%")
    assert "certified: error <= 0.05, slack 12.5% (" in good(*race)
    assert "certified: error <= 0.05, slack 12.5% (" in good(*race)  # resumed
    assert "error <= 0.05, slack 12.5%" in good("status", file)
    good("report", file, "-o", str(page))
    assert "true median at most 12.5% above the smallest" in page.read_text()
    for slack, why in [("1e", "give seconds, or a percentage"), ("%", "give seconds")]:
        done = bestk("race", "true", "sleep 0.05", "--epsilon", slack)
        assert (done.returncode, why in done.stderr) == (2, True)
    done = bestk("race", "true", "sleep 0.05", "--epsilon", "10%", "--by", "mean")
    assert (done.returncode, "means" in done.stderr) == (2, True)
    good("race", "true", "sleep 0.05", "--epsilon", "0%", "--by", "pairs")  # no slack


@pytest.mark.parametrize("shell", [["--shell", "bash"], ["--shell=zsh"], ["--shell", "/bin/sh"]])
def test_the_name_of_a_shell_is_no_command(shell):
    done = bestk("race", *shell, "true", "sleep 0.05")
    assert done.returncode == 2
    assert "--shell takes no name" in done.stderr
    said = good("race", "sh", "sleep 0.05", "--shell", "--seed", "1")  # before it, it is one
    assert "│ sh " in said


@pytest.mark.parametrize("none", [["-N"], ["--no-shell"], ["--shell=none"], ["--shell", "none"]])
def test_hyperfines_ways_to_say_no_shell_and_to_show_output(none):
    said = good("race", *none, "--show-output", "echo 'seen; true'", "sleep 0.05")
    assert "seen; true\n" in said
    done = bestk("race", "--show-output", "--output", "null", "true", "sleep 0.05")
    assert (done.returncode, "--output null" in done.stderr) == (2, True)


def test_what_can_be_compared_is_told():
    done = bestk("race", "true", "false", "--by", "max")
    assert done.returncode == 2
    assert "known are median, mean, pairs" in done.stderr


def test_a_spent_budget_is_exit_code_3():
    done = bestk("race", "sleep 0.01", "sleep 0.010", "--budget", "8")
    assert (done.returncode, done.stderr) == (3, "")
    assert "8 counted runs" in done.stdout
    assert "not certified (budget)" in done.stdout
    assert "undecided" in done.stdout


def test_failures_are_reported_and_never_timed(tmp_path):
    export = tmp_path / "runs.csv"
    done = bestk("race", "true", "sh -c 'echo why >&2; exit 7'", "--export", str(export))
    assert (done.returncode, done.stdout) == (2, "")
    assert "exit code 7: why" in done.stderr
    assert not export.exists()

    count = tmp_path / "count"
    later = f"sh -c 'echo x >> {count}; test $(wc -l < {count}) -le 3'"
    done = bestk("race", "true", later, "false", "--export", str(export), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'false' failed in warm-up and leaves the race: exit code 1" in done.stderr
    assert "failed in a counted run" in done.stderr
    assert "Traceback" not in done.stderr
    assert export.read_text().count("wc -l") == 2  # runs 2 and 3; run 1 was a warm-up


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["true", "true"], "listed twice"),
        (["true"], "give two commands, or one with -L or -P"),
        (["sleep {n}", "-P", "n", "0.1", "0.5"], "or more values for the parameters"),
        (["-k", "5", "true", "false"], "K must be smaller than the number of commands, 2"),
        (["sleep 0.01 | cat", "true"], "(it has a |: use --shell)"),
        (["sleep 0.01 > 'x y'", "true"], "(it has a >: use --shell)"),
        (["sleep 0.0{x}", "true"], "({x} is no parameter: give it by -L or -P)"),
        (["true", "false", "--warmup", "0", "--by", "mean"], "at least 1"),
        (["true", "false", "--export", "/no/such/folder/runs.csv"], "no folder"),
    ],
)
def test_bad_input_is_exit_code_2(args, why):
    done = bestk("race", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_what_a_shell_would_do_is_not_done_silently():
    done = bestk("race", "echo a | cat", "sleep 0.05", "--seed", "1")
    assert done.returncode == 0
    assert "'echo a | cat' runs without a shell, so its | is an argument" in done.stderr
    done = bestk("race", "true", "sleep 0.05", "--seed", "1", "--prepare", "echo a; echo b")
    assert done.stderr.count("'echo a; echo b' runs without a shell, so its ; is an argument") == 1
    for command in ("echo 'a | b'", "echo http://x/?a&b"):
        assert good("race", command, "sleep 0.05", "--seed", "1").count("shell") == 0


def test_commands_may_come_in_another_order_when_a_race_goes_on(tmp_path):
    race = ("race", "--storage", str(tmp_path / "race.db"), "--seed", "1")
    first = json.loads(good(*race, "true", "sleep 0.05", "--json"))
    again = json.loads(good(*race, "sleep 0.05", "true", "--json"))
    assert (again["samples"], again["top"]) == (first["samples"], first["top"])


def test_an_interrupt_shows_what_there_is_and_can_be_resumed(tmp_path):
    file, signs = tmp_path / "race.db", tmp_path / "signs"
    os.mkfifo(signs)
    race = ["race", "sleep 0.01", "sleep 0.010", "--json", "--storage", str(file)]
    with start(*race, "--prepare", f"sh -c 'echo > {signs}'") as process:
        pipe = os.open(signs, os.O_RDWR)  # to write too: it goes on after the first who has written
        for _ in range(6):  # 2 warm-ups and the beginning of the fourth counted run
            assert select.select([pipe], [], [], PATIENCE)[0]
            os.read(pipe, 1)
        os.close(pipe)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "interrupted; run it again to resume" in err
    data = json.loads(out)
    assert data["stopped"] == "interrupted"
    assert data["samples"] >= 3
    again = bestk(*race, "--budget", str(data["samples"] + 2))
    assert again.returncode == 3
    resumed = json.loads(again.stdout)
    assert (resumed["samples"], resumed["cap"]) == (data["samples"] + 2, data["cap"])


@pytest.mark.parametrize(("stage", "counted"), [("prepare", 0), ("conclude", 1)])
@pytest.mark.parametrize("by", ["median", "mean"])
def test_an_interrupt_around_a_run_says_nothing_of_its_time(stage, counted, by, tmp_path):
    """While it is prepared there is none yet; while it is concluded it is known."""
    file, signs = tmp_path / "race.db", tmp_path / "signs"
    os.mkfifo(signs)
    race = ["race", "true", "sleep 0.05", "--storage", str(file), "--json", "--seed", "1"]
    race += ["--by", by, "--max-time", "50"]
    around = (f"--{stage}", f"sh -c 'echo > {signs}; exec sleep 100'", "--warmup", "0")
    with start(*race, *around) as process:
        pipe = os.open(signs, os.O_RDWR)
        assert select.select([pipe], [], [], PATIENCE)[0]
        process.send_signal(signal.SIGINT)
        os.close(pipe)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    data = json.loads(out)
    assert (data["stopped"], data["samples"], data["cut"]) == ("interrupted", counted, {})
    done = bestk(*race, "--runs", "3")
    data = json.loads(done.stdout)
    assert ([arm["pulls"] for arm in data["arms"]], data["cut"]) == ([3, 3], {})
    assert "counts as cut" not in done.stderr
    given_up = [said for said in data["assumptions"] if "given up" in said]
    assert len(given_up) == 1 - counted


def test_the_export_never_overwrites_the_race(tmp_path):
    file = tmp_path / "race.db"
    done = bestk("race", "--storage", str(file), "--export", str(file), "true", "sleep 0.01")
    assert (done.returncode, file.exists()) == (2, False)
    assert "the study's own file" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_run_that_was_interrupted_counts_as_cut(number, tmp_path):
    file, signs = tmp_path / "race.db", tmp_path / "signs"
    os.mkfifo(signs)
    slow = [f"sh -c 'echo $$ > {signs}; exec sleep {seconds}'" for seconds in (100, 200)]
    race = ["race", *slow, "--warmup", "0", "--max-time", "600", "--storage", str(file), "--json"]
    with start(*race) as process:
        pipe = os.open(signs, os.O_RDWR)
        assert select.select([pipe], [], [], PATIENCE)[0]  # the first run has begun
        running = int(os.read(pipe, 100))
        os.close(pipe)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    if number == signal.SIGKILL:  # who is killed so cannot kill in turn
        os.kill(running, signal.SIGKILL)
    again = bestk(*race, "--budget", "1")
    assert again.returncode == 3
    data = json.loads(again.stdout)
    assert (data["samples"], data["cut"]) == (1, {slow[0]: 1})  # at once: nothing was run again
    assert data["arms"][0]["mean"] == 600.0
    assert "was interrupted or failed before; it counts as cut" in again.stderr
