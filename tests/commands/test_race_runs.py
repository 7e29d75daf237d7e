"""A given number of runs: exactly, or at least; a verdict is what the evidence says."""

import io
import math
from collections import Counter

import pytest
from rich.console import Console

from bestk.commands.paired import PairedRace
from bestk.commands.race import Race
from bestk.errors import InputError
from bestk.report.terminal.race import lines, table
from bestk.study import Study
from bestk.study.certificate import make_certificate
from bestk.verification import verify

FAST, SLOW = "true", "sleep 0.05"


def raced(*commands, **settings):
    race = Race(commands, seed=1, **settings)
    race.warm_up()
    return race


def runs_of(race):
    return Counter(run.command for run in race.runs())


def test_every_command_has_exactly_as_many_runs_as_wanted():
    race = raced(FAST, "true x", "true y", warmup=0)
    outcome = race.run(runs=3)
    assert set(runs_of(race).values()) == {3}
    assert (outcome.result.stopped, outcome.result.certified) == ("budget", False)
    commands = [run.command for run in race.runs()]
    assert all(len(set(commands[at : at + 3])) == 3 for at in (0, 3, 6))  # in blocks


def slowness(race, outcome):
    """What is said of how much slower the last command is."""
    variations = {command: one.variation for command, one in race.timings().items()}
    console = Console(width=200, record=True, file=io.StringIO())
    found_by = outcome.by, outcome.relative, outcome.wins, variations
    console.print(table(outcome.result, outcome.at_least, *found_by))
    return [x for x in console.export_text().splitlines() if "│" in x][-1].split("│")[6].strip()


@pytest.mark.parametrize("made", [Race, PairedRace])
def test_few_runs_are_named_and_told_with_their_deviation(made):
    race = made([FAST, SLOW], warmup=0, seed=1)
    race.warm_up()
    outcome = race.run(runs=3)
    assert "; not certified after 3 runs of each" in lines(outcome)[0]
    fast, slow = race.timings()[FAST], race.timings()[SLOW]
    ratio = outcome.relative[SLOW].value
    error = ratio * math.hypot(fast.stddev / fast.mean, slow.stddev / slow.mean)
    assert slowness(race, outcome) == f"{ratio:.2f} ± {error:.2f}"
    single = made([FAST, SLOW], warmup=0, seed=1)
    single.warm_up()
    outcome = single.run(runs=1)
    assert "not certified after 1 run of each" in lines(outcome)[0]
    assert slowness(single, outcome) == f"{outcome.relative[SLOW].value:.2f}"  # no deviation


def test_what_is_proved_of_a_ratio_takes_the_place_of_its_deviation():
    race = raced(FAST, SLOW)
    found = slowness(race, race.run(runs=20))
    assert " to " in found
    assert "±" not in found
    limited = raced(FAST, SLOW, max_time=0.01)
    assert slowness(limited, limited.run(runs=3)).startswith(">= ")
    assert "±" not in slowness(limited, limited.run(runs=3))


def test_enough_runs_are_certified_and_few_are_not():
    assert not raced(FAST, SLOW, warmup=0).run(runs=4).result.certified
    race = raced(FAST, SLOW, warmup=0)
    outcome = race.run(runs=12)
    assert set(runs_of(race).values()) == {12}  # nine would have been enough
    assert (outcome.result.stopped, outcome.result.certified) == ("rule", True)
    assert outcome.result.top == (FAST,)


def test_at_least_so_many_runs_of_each_and_then_until_it_is_certain():
    race = raced(FAST, SLOW, warmup=0)
    assert race.run(min_runs=14).result.certified
    assert set(runs_of(race).values()) == {14}
    race = raced(FAST, SLOW, warmup=0)
    assert race.run(min_runs=2).result.certified
    assert min(runs_of(race).values()) >= 2


def test_a_resumed_race_goes_on_to_the_same_number(tmp_path):
    file = tmp_path / "race.db"
    raced(FAST, "true x", warmup=0, storage=file).run(runs=2)
    race = raced(FAST, "true x", warmup=0, storage=file)
    race.run(runs=4)
    assert set(runs_of(race).values()) == {4}
    with pytest.raises(InputError, match=r"runs=3 was refused.* has 4"):
        race.run(runs=3)


def test_what_was_run_in_blocks_is_certified_and_verified_like_any_race(tmp_path):
    file = tmp_path / "race.db"
    assert raced(FAST, SLOW, warmup=0, storage=file).run(runs=11).result.certified
    assert verify(make_certificate(file), file).verified


def test_numbers_that_contradict_each_other_are_refused_and_cleaned_up_after(tmp_path):
    race = raced(FAST, "true x", cleanup=f"touch {tmp_path}/cleaned", setup="true")
    with pytest.raises(InputError, match="budget=5 was refused: runs=2"):
        race.run(budget=5, runs=2)
    assert (tmp_path / "cleaned").exists()
    for settings in ({"runs": 2, "min_runs": 1}, {"runs": 0}, {"min_runs": -1}):
        with pytest.raises(InputError, match="refused"):
            raced(FAST, "true x").run(**settings)


def test_a_study_asks_for_every_arm_in_blocks_whose_order_is_drawn():
    def orders(seed):
        study = Study("blocks", "abc", k=1, seed=seed)
        study.ask_each(8)
        found = []
        for _ in range(24):
            (pull,) = study.ask()
            study.tell(pull, 0.5)
            found.append(pull.arm)
        return ["".join(found[at : at + 3]) for at in range(0, 24, 3)]

    assert all(sorted(block) == list("abc") for block in orders(1))
    assert len(set(orders(1))) > 1
    assert orders(1) == orders(1) != orders(2)


def test_blocks_count_what_is_open():
    study = Study("blocks", "abc", k=1, seed=1)
    study.ask_each(1)
    assert sorted(pull.arm for pull in study.ask(3)) == list("abc")


def test_blocks_are_refused_where_every_sample_must_be_the_policys_own():
    one = Study("one", "ab", k=1, policy="lil-ucb", variant="faithful", seed=1)
    with pytest.raises(InputError, match="asking for each arm"):
        one.ask_each(2)
    with pytest.raises(InputError, match="asking for each arm"):
        Study("items", "ab", k=1, items=["x", "y"], seed=1).ask_each(2)
