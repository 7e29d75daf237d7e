"""Races by medians and other quantiles: no cap, and a limit that changes nothing below it."""

import io
import re
import statistics

import pytest
from rich.console import Console

from bestk.cli.race import _watch
from bestk.commands.paired import PairedRace
from bestk.commands.race import Race
from bestk.commands.runs import NEVER, Run, at_least, interrupted
from bestk.errors import InputError
from bestk.report.page.study import write
from bestk.report.terminal.race import RaceView, lines, table
from bestk.rewards import Bounded, Quantile
from bestk.study import Study
from bestk.study.certificate import make_certificate
from bestk.verification import verify

FAST, SLOW, SLEEPING = "true", "sleep 0.1", "sleep 60"


def raced(*commands, **settings):
    race = Race(commands, seed=1, **settings)
    race.warm_up()
    return race


def test_medians_are_compared_without_a_cap():
    race = raced(FAST, SLOW, warmup=0)
    outcome = race.run()
    assert race.study.problem.rewards == Quantile(0.5)
    assert (outcome.cap, outcome.cut, outcome.by) == (None, {}, "median")
    assert outcome.result.certified
    assert outcome.result.top == (FAST,)
    for arm in outcome.result.arms:  # a factor of 100: eight runs of each on a quiet machine
        times = sorted(run.seconds for run in race.runs() if run.command == arm.label)
        assert len(times) == arm.pulls <= 40
        assert times[0] <= arm.mean <= times[-1]
        assert statistics.median_low(times) <= arm.mean <= statistics.median_high(times)
    data = outcome.to_dict()
    assert (data["cap"], data["cut"], data["failed"], data["by"]) == (None, {}, {}, "median")


def test_another_quantile_is_compared_if_wanted():
    outcome = raced(FAST, SLOW, quantile=0.75, warmup=0).run()
    assert outcome.by == "0.75-quantile"
    assert outcome.result.certified


def test_a_limit_is_a_time_that_is_at_least_so_long():
    race = raced(SLEEPING, FAST, warmup=0, max_time=0.3)
    outcome = race.run()
    slow, fast = outcome.result.arms
    assert outcome.result.certified
    assert outcome.cut == {SLEEPING: slow.pulls}
    assert slow.mean == 0.3 > fast.mean


def test_what_a_run_used_is_in_the_log():
    race = raced(FAST, SLOW, warmup=0)
    race.run(budget=4)
    for run in race.runs():
        assert run.code == 0
        assert 0.0 <= run.user < 10.0
        assert 0.0 <= run.system < 10.0
        assert run.memory > 0


def test_a_race_goes_on_with_what_it_compares(tmp_path):
    means, tails = tmp_path / "means.db", tmp_path / "tails.db"
    raced(FAST, SLOW, by="mean", storage=means).run(budget=2)
    resumed = raced(FAST, SLOW, storage=means)
    assert isinstance(resumed.study.problem.rewards, Bounded)
    assert resumed.run(budget=3).by == "mean"
    with pytest.raises(
        InputError, match="by the median was refused: the race was begun by the mean"
    ):
        Race([FAST, SLOW], by="median", storage=means)

    raced(FAST, SLOW, quantile=0.9, storage=tails).run(budget=2)
    resumed = raced(FAST, SLOW, storage=tails)
    assert resumed.study.problem.rewards == Quantile(0.9)
    with pytest.raises(InputError, match=r"begun by the 0\.9-quantile"):
        Race([FAST, SLOW], by="mean", storage=tails)
    with pytest.raises(
        InputError, match=r"by the median was refused: .* begun by the 0\.9-quantile"
    ):
        Race([FAST, SLOW], by="median", storage=tails)


def test_one_limit_goes_for_all_runs(tmp_path):
    limited, free = tmp_path / "limited.db", tmp_path / "free.db"
    raced(FAST, SLOW, max_time=5.0, storage=limited).run(budget=2)
    assert raced(FAST, SLOW, storage=limited).cap == 5.0
    with pytest.raises(InputError, match="begun with 5"):
        Race([FAST, SLOW], max_time=6.0, storage=limited)
    raced(FAST, SLOW, storage=free).run(budget=2)
    with pytest.raises(InputError, match="begun without one"):
        Race([FAST, SLOW], max_time=6.0, storage=free)


def test_an_interrupted_run_is_longer_than_any_without_a_limit(tmp_path):
    file = tmp_path / "race.db"
    begun = raced(FAST, SLOW, storage=file)
    begun.run(budget=2)
    (pull,) = begun.study.ask()
    del begun
    resumed = Race([FAST, SLOW], seed=1, storage=file, warmup=0)
    outcome = resumed.run(budget=3)
    assert resumed.interrupted == [pull.arm]
    assert outcome.cut == {pull.arm: 1}
    last = list(resumed.runs())[-1]
    assert (last.command, last.seconds, last.cut, last.is_timed) == (pull.arm, NEVER, True, False)


def test_between_a_time_and_an_interrupted_run_nothing_is_known(tmp_path):
    file = tmp_path / "race.db"
    begun = raced(FAST, SLOW, storage=file)
    begun.run(budget=2)
    (pull,) = begun.study.ask()
    del begun
    outcome = Race([FAST, SLOW], seed=1, storage=file, warmup=0).run(budget=3)
    arms = {arm.label: arm for arm in outcome.result.arms}
    assert (arms[pull.arm].pulls, arms[pull.arm].mean) == (2, None)  # half a time, half NEVER
    assert outcome.to_dict()["relative"][pull.arm]["ratio"] is None
    assert outcome.result.ranked[-1].label == pull.arm
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table(outcome.result, outcome.at_least, outcome.by, outcome.relative))
    cells = next(x for x in console.export_text().splitlines() if f" {pull.arm} " in x).split("│")
    assert [cells[3].strip(), cells[6].strip()] == ["-", "-"]
    said = f"cut: 1 of 2 runs of {pull.arm} (interrupted); no median of it is shown because of them"
    assert said in lines(outcome)
    assert "e+0" not in str(outcome.result)
    write(file, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "unknown" in page
    assert "00,000,000" not in page


def test_of_a_median_next_to_a_cut_run_only_the_least_is_known():
    def runs(command, *times):
        return [Run(command, 1, seconds, seconds == 9.0) for seconds in times]

    even, odd = runs("even", 1.0, 2.0, 9.0, 9.0), runs("odd", 1.0, 2.0, 2.5, 9.0, 9.0)
    assert at_least([*even, *odd, *runs("none", 1.0)], Quantile()) == {"even"}
    assert at_least([*even, *odd], Quantile(0.25)) == set()
    assert at_least([*even, *odd], Quantile(0.6)) == {"even", "odd"}
    assert at_least([*even, *odd], Bounded(0.0, 9.0)) == {"even", "odd"}


def test_what_is_shown_of_interrupted_runs_is_never_their_stand_in():
    study = Study("race", "ab", k=1, rewards=Quantile(), maximize=False, seed=1)
    study.ask_each(14)
    for number in range(28):
        (pull,) = study.ask()
        if pull.arm == "a" and number >= 8:
            study.tell(pull, NEVER, interrupted(None))
        else:
            study.tell(pull, 20.0 + number % 3, {"unit": "s"})
    lost, known = study.result.arms
    assert (lost.mean, lost.high) == (None, None)
    assert 20.0 <= lost.low <= 22.0
    assert known.low <= known.mean <= known.high <= 22.0


def test_what_is_compared_is_named_while_the_race_lasts(monkeypatch):
    race = raced(FAST, SLOW, warmup=0)
    race.run(budget=2)
    monkeypatch.setattr("bestk.report.terminal.race.QUIET", -1.0)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(RaceView(race))
    assert "median time" in console.export_text()


def test_a_slack_may_be_a_factor(tmp_path):
    file = tmp_path / "race.db"
    begun = raced(FAST, "true x", epsilon=3.0, relative=True, storage=file)
    assert begun.study.problem.rewards == Quantile(relative=True)
    begun.run(budget=4)
    with pytest.raises(InputError, match=r"epsilon as a number of seconds was refused.* a factor"):
        Race([FAST, "true x"], epsilon=3.0, storage=file)
    resumed = Race([FAST, "true x"], epsilon=3.0, relative=True, storage=file, warmup=0)
    result = resumed.run().result
    assert result.certified
    assert "slack 300% (" in result.proof
    assert verify(make_certificate(file), file).verified


def test_a_slack_as_a_factor_is_refused_where_there_is_none(tmp_path):
    means, medians = tmp_path / "means.db", tmp_path / "medians.db"
    with pytest.raises(InputError, match="epsilon as a factor was refused: means"):
        Race([FAST, SLOW], by="mean", epsilon=0.1, relative=True)
    raced(FAST, SLOW, by="mean", epsilon=0.1, storage=means).run(budget=2)
    with pytest.raises(InputError, match="epsilon as a factor was refused: means"):
        Race([FAST, SLOW], epsilon=0.1, relative=True, storage=means)
    raced(FAST, SLOW, epsilon=0.1, storage=medians).run(budget=2)
    with pytest.raises(InputError, match=r"epsilon as a factor was refused.* seconds"):
        Race([FAST, SLOW], epsilon=0.1, relative=True, storage=medians)


@pytest.mark.parametrize("limit", [None, 600.0])
def test_a_study_says_that_interrupted_runs_count_as_cut_and_not_that_they_were_repeated(
    limit, tmp_path
):
    file = tmp_path / "race.db"
    for _ in range(2):
        race = Race([FAST, SLOW], seed=1, storage=file, warmup=0, max_time=limit)
        race.warm_up()
        race.run(budget=race.counted + 2)
        race.study.release(race.study.ask())  # as an interrupt does
        assert not any("made again" in text for text in race.now().assumptions)
        del race
    race = Race([FAST, SLOW], seed=1, storage=file, warmup=0, max_time=limit)
    (said,) = race.run(budget=race.counted + 1).result.assumptions
    assert said.startswith("2 runs were interrupted and count as cut")


@pytest.mark.parametrize("made", [Race, PairedRace])
def test_a_race_in_a_pipe_is_told_of_in_lines(made, monkeypatch, capsys):
    monkeypatch.setattr("bestk.report.terminal.live.EVERY", 0.05)
    race = made([SLOW, "sleep 0.2"], seed=1, warmup=0)
    race.warm_up()
    race.run(budget=4, watch=_watch)
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 3
    assert all(re.match(r"bestk: \d runs; 0 in, 0 out, 2 undecided", line) for line in said)
    assert said[-1].startswith(("bestk: 3 runs", "bestk: 4 runs"))
