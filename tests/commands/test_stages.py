"""What runs around the runs: setup, prepare, conclude, cleanup; failures; input and output."""

import pytest

from bestk.commands.entrants import Settings, read_entrants
from bestk.commands.race import Race
from bestk.errors import ArmFailedError, InputError

FAST = "true"


def noting(file, word):
    return f"sh -c 'echo {word} >> {file}'"


def test_stages_run_in_their_order_for_every_command(tmp_path):
    log = tmp_path / "log"
    race = Race(
        [noting(log, "a"), noting(log, "b")], seed=1, warmup=1,
        setup=noting(log, "setup"), prepare=[noting(log, "pa"), noting(log, "pb")],
        conclude=noting(log, "end"), cleanup=noting(log, "cleanup"),
    )  # fmt: skip
    race.warm_up()
    runs = ["pa a end", "pb b end"]
    assert log.read_text().split() == " ".join(["setup setup", *runs]).split()
    race.run(runs=1)
    words = log.read_text().split()
    assert words[:2] == ["setup", "setup"]
    assert words[-2:] == ["cleanup", "cleanup"]
    assert sorted(" ".join(words[8:11]) for _ in [0]) <= sorted(runs)
    assert words.count("setup") == words.count("cleanup") == 2
    assert (words.count("pa"), words.count("pb"), words.count("end")) == (2, 2, 4)


def test_one_preparation_for_all_or_one_for_each():
    with pytest.raises(InputError, match="2 commands to prepare were refused"):
        Race(["true", "true x", "true y"], prepare=["true", "true"])


@pytest.mark.parametrize("stage", ["setup", "prepare", "conclude"])
def test_a_stage_that_fails_ends_the_race_and_cleans_up(stage, tmp_path):
    cleaned = tmp_path / "cleaned"
    race = Race([FAST, "true x"], **{stage: "false"}, cleanup=f"touch {cleaned}")
    with pytest.raises(ArmFailedError, match="exit code 1"):
        race.warm_up()
    assert cleaned.exists() == (stage != "setup")  # nothing was set up there


def test_a_cleanup_that_fails_costs_neither_the_others_nor_the_result(tmp_path):
    log = tmp_path / "log"
    race = Race(
        [FAST, "sleep 0.05"], seed=1, cleanup=f"sh -c 'echo cleaned >> {log}; exit 4'", delta=0.4
    )
    race.warm_up()
    assert race.run().result.top == (FAST,)
    assert log.read_text().split() == ["cleaned", "cleaned"]
    assert len(race.unclean) == 2
    assert "cleans up after the runs of 'true' failed: exit code 4" in race.unclean[0]


def test_failures_are_runs_if_they_are_ignored():
    race = Race(["false", "sh -c 'exit 3'"], seed=1, ignore_failure=True)
    race.warm_up()
    race.run(runs=2)
    assert not race.failed
    assert {(run.command, run.code) for run in race.runs()} == {("false", 1), ("sh -c 'exit 3'", 3)}
    race = Race(["false", "true", "no-such-program"], ignore_failure=True)
    race.warm_up()
    assert set(race.failed) == {"no-such-program"}  # what never ran has no time


def test_commands_read_the_input_and_write_the_output(tmp_path):
    given, written = tmp_path / "in", tmp_path / "out"
    given.write_text("given")
    race = Race(["cat", "grep given"], given=given, output=written, seed=1)
    race.warm_up()
    assert not race.failed
    assert written.read_text().strip() == "given"
    race = Race(["grep given", "true", "cat"])  # nothing to read
    race.warm_up()
    assert set(race.failed) == {"grep given"}


def test_hints_are_about_what_is_not_quoted():
    hints = {text: read_entrants([text, "b"], Settings())[text].hint for text in (
        "grep '|' x", 'a --b="c|d" \\;', "a|b", "a 2>&1", "curl x?a=1&b=2", "awk '{ print }'",
        "a ${b}", "a {b}{c}", "a '*' '$b'", "a $b", "a *.c", "a `b`", "a $ 'b'",
    )}  # fmt: skip
    said = [text for text, hint in hints.items() if "use --shell" in hint]
    assert said == ["a|b", "a 2>&1", "a ${b}", "a $b", "a *.c", "a `b`"]
    assert [text for text, hint in hints.items() if "{b} is no" in hint] == ["a {b}{c}"]
    shell = read_entrants(["a|b", "b"], Settings(shell=True))
    assert shell["a|b"].hint == ""


def test_what_is_around_runs_is_no_shell_command_either():
    around = {"prepare": "rm -f *.o", "setup": "true; true", "cleanup": "echo '*'"}
    race = Race(["a -j {n}"], parameters={"n": ["1", "2"]}, **around)
    signs = {
        "setup": ("true; true", ";"),
        "prepare": ("rm -f *.o", "*"),
        "cleanup": ("echo '*'", ""),
    }
    assert [each.signs for each in race.entrants.values()] == [signs] * 2
    with pytest.raises(ArmFailedError, match=r"\('false; true' has a ;: use --shell\)"):
        Race([FAST, "true x"], prepare="false; true").warm_up()
    race = Race([FAST, "true x"], prepare="false; true", shell=True)
    assert [each.signs["prepare"][1] for each in race.entrants.values()] == ["", ""]
    with pytest.raises(ArmFailedError, match=r"exit code 1$"):  # which is not what has the sign
        Race([FAST, "true x"], prepare="false", cleanup="echo *").warm_up()
