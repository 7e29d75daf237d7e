"""Races: bounded times from real processes; a run at the cap is killed, one that fails is no time.

Nothing depends on how fast the machine is: what must be told apart differs by large factors.
"""

import csv
import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bestk.commands.race import Race, default_cap
from bestk.errors import ArmFailedError, InputError
from bestk.report.terminal.race import lines as lines_of
from bestk.rewards import Gaussian
from bestk.study import Study

FAST, SLOW, SLEEPING = "true", "sleep 0.1", "sleep 60"
EXAMPLE = Path(__file__).parents[2] / "examples" / "sorting_programs" / "race.sh"


def counting(path, least=None, most=None):
    """A command that notes its runs in a file, and fails but from its least-th to its most-th."""
    tests = [f"test $n -ge {least}" if least else "", f"test $n -le {most}" if most else ""]
    check = " && ".join(filter(None, tests)) or "true"
    return f"sh -c 'echo x >> {path}; n=$(wc -l < {path}); {check}'"


def lines(path):
    return len(path.read_text().splitlines())


def raced(*commands, **settings):
    race = Race(commands, seed=1, **settings)
    race.warm_up()
    return race


def test_the_cap_is_three_times_the_next_fastest_warm_up():
    times = [0.5, 0.02, 0.01, 7.0]
    assert default_cap(times, 1) == pytest.approx(0.06)
    assert default_cap(times, 2) == pytest.approx(1.5)
    assert default_cap(times, 3) == pytest.approx(21.0)


def test_the_cap_comes_from_the_smallest_warm_up_and_stays(tmp_path):
    ran = tmp_path / "ran"
    slow_at_first = f"sh -c 'test -e {ran} || {{ touch {ran}; sleep 2; }}'"
    race = raced(slow_at_first, SLOW, warmup=2, by="mean")
    cap = race.cap
    assert 3 * 0.1 <= cap < 3 * 2  # from SLOW, not from the first run of the other
    assert race.run(budget=3).cap == race.cap == cap


def test_a_cut_run_counts_as_the_cap():
    race = raced(SLEEPING, FAST, warmup=0, max_time=0.5)
    outcome = race.run()
    slow, fast = outcome.result.arms
    assert outcome.cap == 0.5
    assert outcome.cut[SLEEPING] == slow.pulls > 0
    assert slow.mean == 0.5 > fast.mean
    assert (slow.status, fast.status) == ("out", "in")
    assert outcome.result.certified
    assert all(run.seconds == 0.5 for run in race.runs() if run.command == SLEEPING)
    data = json.loads(json.dumps(outcome.to_dict(), allow_nan=False))
    assert data["cut"][SLEEPING] == slow.pulls
    assert data["cap"] == 0.5
    assert outcome.result.to_dict().items() <= data.items()


def test_every_counted_run_is_in_the_log_in_order():
    race = raced(FAST, SLOW, SLEEPING, k=2, max_time=0.4, by="mean")
    outcome = race.run()
    assert set(outcome.result.top) == {FAST, SLOW}
    runs = list(race.runs())
    assert [run.seq for run in runs] == list(range(1, outcome.result.samples + 1))
    counts = Counter(run.command for run in runs)
    for arm in outcome.result.arms:
        assert counts[arm.label] == arm.pulls
        times = [run.seconds for run in runs if run.command == arm.label]
        assert sum(times) / len(times) == pytest.approx(arm.mean)
    assert all(run.cut == (run.seconds == race.cap) for run in runs)


def test_a_command_that_fails_in_warm_up_leaves_the_race(tmp_path):
    ran = tmp_path / "ran"
    failing = counting(ran, most=1)
    race = raced(FAST, failing, "no-such-program -x", SLOW, warmup=2)
    assert set(race.failed) == {failing, "no-such-program -x"}
    assert race.failed[failing] == "exit code 1"
    assert "127" in race.failed["no-such-program -x"]
    outcome = race.run()
    assert [arm.label for arm in outcome.result.arms] == [FAST, SLOW]
    assert outcome.to_dict()["failed"] == race.failed
    assert lines(ran) == 2  # never again


def test_a_race_needs_one_command_more_than_are_looked_for():
    with pytest.raises(InputError, match="takes 2 commands that run, and there are 1") as caught:
        raced(FAST, "sh -c 'echo no licence >&2; exit 4'")
    assert "exit code 4: no licence" in str(caught.value)


def test_a_run_that_fails_later_ends_the_race_and_is_no_time(tmp_path):
    ran = tmp_path / "ran"
    failing = counting(ran, most=3)
    race = raced(FAST, failing, max_time=600.0)  # no run is cut, however slow the machine
    with pytest.raises(
        ArmFailedError, match=r"failed in a counted run.* exit code 1; .* not a time"
    ):
        race.run()
    assert lines(ran) == 4
    assert Counter(run.command for run in race.runs())[failing] == 2  # one of three was a warm-up
    assert race.study.result.arms[1].failed == 1


def test_what_prepares_runs_before_every_run(tmp_path):
    ready = tmp_path / "ready"
    race = raced(
        f"rm {ready}", f"sh -c 'rm {ready}; sleep 0.1'", prepare=f"touch {ready}", warmup=2
    )
    outcome = race.run()  # `rm` fails where nothing was prepared
    assert not race.failed
    assert outcome.result.certified
    noted = tmp_path / "noted"
    race = raced(FAST, SLOW, prepare=counting(noted), warmup=3)
    assert lines(noted) == 6
    assert race.run(budget=5).result.samples == 5
    assert lines(noted) == 11


def test_preparing_that_fails_is_an_error(tmp_path):
    with pytest.raises(ArmFailedError, match=r"what prepares the run of 'true' failed: .* code 3"):
        raced(FAST, SLOW, prepare="sh -c 'exit 3'")
    race = raced(FAST, SLOW, prepare=counting(tmp_path / "noted", most=4))
    with pytest.raises(ArmFailedError, match=r"^what prepares"):
        race.run()
    assert race.study.samples == 2


def test_preparing_is_not_timed():
    race = raced(FAST, SLOW, prepare="sleep 1", warmup=0, max_time=1.0)
    assert race.run(budget=1).cut == {}


def test_a_slack_and_a_budget_end_a_race_of_equals():
    equals = ("sleep 0.01", "sleep 0.010")
    outcome = raced(*equals).run(budget=6)
    assert (outcome.result.stopped, outcome.result.certified) == ("budget", False)
    assert outcome.result.samples == 6
    outcome = raced(*equals, max_time=1.0, epsilon=0.5).run()
    assert outcome.result.certified


def test_words_are_split_without_a_shell_unless_one_is_wanted(tmp_path):
    made = tmp_path / "two words; touch never"
    race = raced(f"touch '{made}'", f"{FAST} $HOME | false > /dev/null", warmup=1)
    assert not race.failed
    assert made.exists()
    race = raced("true | false", FAST, f"echo hello > '{tmp_path / 'out'}'", shell=True)
    assert set(race.failed) == {"true | false"}
    assert (tmp_path / "out").read_text() == "hello\n"


@pytest.mark.parametrize(
    ("commands", "settings", "why"),
    [
        (["true", "sleep 1", "sleep  '1'"], {}, "listed twice"),
        (["true", "true"], {"shell": True}, "listed twice"),
        (["true", " "], {}, "empty"),
        (["true", ""], {"shell": True}, "empty"),
        (["true", "echo 'x"], {}, "No closing quotation"),
        (["true"], {}, "give two commands"),
        (["true", "false"], {"k": 2}, "K=2 was refused"),
        (["true", "false"], {"warmup": 0, "by": "mean"}, "at least 1"),
        (["true", "false"], {"warmup": -1, "max_time": 1.0}, "refused"),
        (["true", "false"], {"max_time": 0.0}, "positive"),
        (["true", "false"], {"max_time": float("nan")}, "positive"),
        (["true", "false"], {"max_time": float("inf")}, "must be finite"),
        (["true", "false"], {"max_time": "1"}, "positive"),
        (["true", 5], {}, "must be a text"),
        (["true", "false"], {"k": 1.5}, "k=1.5"),
        (["true", "false"], {"shell": "no"}, "True or False"),
        (["true", "false"], {"delta": 1.5}, "delta"),
        (["true", "false"], {"epsilon": -1.0}, "epsilon"),
        (["true", "false"], {"prepare": " "}, "empty"),
        (["true", "false"], {"by": "mode"}, "by.*mode"),
        (["true", "false"], {"by": "mean", "quantile": 0.9}, "quantile 0.9 is what is compared"),
        (["true", "false"], {"quantile": 1.0}, "q=1"),
    ],
)
def test_what_cannot_be_raced_is_refused_before_anything_runs(commands, settings, why):
    with pytest.raises(InputError, match=why):
        Race(commands, **settings)


def test_a_race_in_a_file_goes_on_with_its_cap(tmp_path):
    file = tmp_path / "race.db"
    begun = raced(FAST, SLOW, storage=file)
    begun.run(budget=4)
    resumed = raced(FAST, SLOW, storage=file)
    assert resumed.cap == begun.cap
    outcome = resumed.run()
    assert outcome.result.certified
    assert outcome.result.samples > 4
    assert list(resumed.runs())[:4] == list(begun.runs())[:4]
    with pytest.raises(InputError, match="begun with"):
        Race([FAST, SLOW], storage=file, max_time=9.0)
    with pytest.raises(
        InputError, match=f"begun with '{FAST}', '{SLOW}', and '{SLOW}' is not given"
    ):
        Race([FAST, "sleep 0.3"], storage=file)  # before anything runs
    other = tmp_path / "other.db"
    Study("race", [FAST, SLOW], k=1, maximize=False, rewards=Gaussian(), storage=other, seed=1)
    with pytest.raises(InputError, match="not a race"):
        raced(FAST, SLOW, storage=other)


def test_a_race_in_a_file_goes_on_with_the_commands_that_it_was_begun_with(tmp_path):
    file, tool, log = tmp_path / "race.db", tmp_path / "tool", tmp_path / "log"
    commands = (FAST, SLOW, f"test -e {tool}")
    race = raced(*commands, storage=file)  # the third fails in warm-up and leaves
    race.run(budget=2)
    assert raced(*commands, storage=file).run(budget=3).result.samples == 3  # as before
    tool.touch()
    cleanup = f"sh -c 'echo cleaned >> {log}'"
    with pytest.raises(InputError, match=f"begun without 'test -e {tool}'"):
        raced(*commands, storage=file, cleanup=cleanup)
    assert log.read_text().split() == ["cleaned"] * 3
    other = tmp_path / "other.db"
    raced(*commands, storage=other).run(budget=3)
    tool.unlink()
    with pytest.raises(InputError, match=f"failed in warm-up now: 'test -e {tool}': exit code 1"):
        raced(*commands, storage=other)


def test_an_interrupt_ends_the_race_and_kills_the_run(tmp_path):
    pipe, interrupts = tmp_path / "pipe", []

    def once(*_):
        interrupts.append(signal.SIGINT)
        if len(interrupts) == 1:
            raise KeyboardInterrupt

    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    # twice: a signal that comes just before the interpreter waits does not end its waiting
    twice = "kill -INT $PPID; sleep 1; kill -INT $PPID"
    race = raced(f"sh -c 'exec > {pipe}; {twice}; sleep 100'", FAST, warmup=0, max_time=600)
    handler = signal.signal(signal.SIGINT, once)
    try:
        outcome = race.run()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert (outcome.result.stopped, outcome.result.samples) == ("interrupted", 0)
    assert select.select([end], [], [], 30)[0]  # not only when it would have ended by itself
    assert os.read(end, 1) == b""  # nobody is left who could write: the shell and its child died
    os.close(end)


def test_the_sorting_programs_are_ranked(tmp_path):
    export = tmp_path / "runs.csv"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(EXAMPLE), "--json", "--seed", "1", "--export", str(export)],
        capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": path, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if "runs/s" not in line]  # on a busy machine
    assert (done.returncode, said) == (0, [])
    data = json.loads(done.stdout)
    assert data["certified"]
    assert set(data["top"]) == {"python3 builtin.py", "python3 heap.py"}
    assert data["failed"] == {}
    with export.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == data["samples"]
    assert sorted(tmp_path.iterdir()) == [export]  # it cleans up


def test_a_run_that_was_interrupted_counts_as_cut_when_the_race_goes_on(tmp_path):
    """By a signal or by the death of the process: to run it again would be to draw again."""
    file, ran = tmp_path / "race.db", tmp_path / "ran"
    slow_once = counting(ran)
    commands = (slow_once, SLOW)
    begun = raced(*commands, storage=file, max_time=600.0, warmup=1)
    begun.run(budget=2)
    (pull,) = begun.study.ask()  # its run had begun when the process died
    runs, before = lines(ran), begun.study.samples
    del begun
    resumed = Race(commands, seed=1, storage=file, warmup=0, max_time=600.0)
    outcome = resumed.run(budget=before + 1)
    assert outcome.result.samples == before + 1
    assert lines(ran) == runs  # nothing was run again
    assert resumed.interrupted == [pull.arm]
    assert outcome.cut == {pull.arm: 1}
    last = list(resumed.runs())[-1]
    assert (last.command, last.seconds, last.cut) == (pull.arm, 600.0, True)
    again = Race(commands, seed=1, storage=file, warmup=0, max_time=600.0)
    assert again.run(budget=before + 1).cut == {pull.arm: 1}  # once
    assert again.interrupted == []


def test_a_budget_that_was_spent_before_counts_nothing_more(tmp_path):
    file = tmp_path / "race.db"
    begun = raced(FAST, SLOW, storage=file)
    begun.run(budget=2)
    begun.study.ask()
    del begun
    for budget, samples in ((1, 2), (2, 2), (3, 3)):
        resumed = Race([FAST, SLOW], seed=1, storage=file, warmup=0)
        outcome = resumed.run(budget=budget)
        assert (outcome.result.samples, outcome.result.stopped) == (samples, "budget")
        assert len(resumed.interrupted) == samples - 2
        del resumed


def test_a_run_that_failed_counts_as_cut_when_the_race_goes_on(tmp_path):
    """To run it again until it works would be to time the lucky runs."""
    file, ran = tmp_path / "race.db", tmp_path / "ran"
    failing = counting(ran, most=2)
    race = raced(FAST, failing, storage=file, max_time=600.0)
    with pytest.raises(ArmFailedError, match="counted run"):
        race.run()
    del race
    ran.write_text("")  # from now on it works
    resumed = Race([FAST, failing], seed=1, storage=file, warmup=0, max_time=600.0)
    outcome = resumed.run(budget=resumed.study.samples + 1)
    assert (resumed.interrupted, outcome.cut) == ([failing], {failing: 1})
    assert Race([FAST, failing], seed=1, storage=file).study.result.arms[1].failed == 1


@pytest.mark.parametrize(("limit", "certified"), [(0.03, False), (5.0, True)])
def test_commands_at_the_limit_are_not_told_apart(limit, certified):
    """What is proved is about min(time, limit), of which both have the same."""
    outcome = raced("sleep 0.2", "sleep 0.05", max_time=limit).run()
    result = outcome.result
    assert (result.certified, result.stopped) == (certified, "rule")
    assert {arm.status for arm in result.arms} == ({"in", "out"} if certified else {"undecided"})
    said = "nobody knows the median of" in "".join(lines_of(outcome))
    assert said is not certified
