"""Comparison within blocks: drift that a block shares changes nothing; errors are as asked."""

import io
import math
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from bestk.commands.paired import PairedRace
from bestk.commands.pairs import Pairs
from bestk.errors import ArmFailedError, InputError
from bestk.report.terminal.race import RaceView, table

FAST, SLOW = "true", "sleep 0.02"


def decided(medians, k, delta, seed, drift=None, most=2000):
    """The rule after its last block, and how many there were."""
    rng, rule = np.random.default_rng(seed), Pairs(len(medians), k, delta)
    for block in range(most):
        shift = 0.0 if drift is None else drift(block)
        noise = 0.3 * rng.standard_normal(len(medians))
        rule.tell({i: math.exp(medians[i] + shift + noise[i]) for i in rule.remaining})
        if rule.is_over:
            return rule, block + 1
    return rule, most


def test_evidence_is_the_mixture_of_bets_on_who_was_faster():
    rule = Pairs(2, 1, 0.05)
    e = rule._evidence
    for _ in range(3):
        rule.tell({0: 1.0, 1: 2.0})
    rule.tell({0: 2.0, 1: 1.0})
    rule.tell({0: 1.0, 1: 1.0})  # a tie says nothing
    share = np.exp(e.log_weights)
    wealth = share @ ((1 + e.points) ** 3 * (1 - e.points))
    assert rule.log_evidence(0, 1) == pytest.approx(math.log(wealth))


def test_seven_blocks_tell_a_factor_of_two():
    rule = Pairs(2, 1, 0.05)
    for _ in range(7):
        assert not rule.is_over
        rule.tell({0: 2.0, 1: 1.0})
    assert (rule.inside, rule.outside) == ({1}, {0})


def test_common_drift_changes_no_decision():
    wild = decided((0.0, 0.2, 0.3), 1, 0.1, 1, drift=lambda block: 5.0 * math.sin(block))
    rule, blocks = decided((0.0, 0.2, 0.3), 1, 0.1, 1)
    assert wild[1] == blocks
    assert (wild[0].won == rule.won).all()


@pytest.mark.parametrize(("n", "k"), [(4, 2), (3, 1), (5, 4)])
def test_the_answer_is_the_k_fastest_and_those_decided_run_no_more(n, k):
    medians = [0.5 * i for i in reversed(range(n))]
    rule, _ = decided(medians, k, 0.05, 3)
    assert rule.inside == set(range(n - k, n))
    assert rule.remaining == [] or len(rule.outside) < n - k


def test_equal_commands_are_told_apart_in_at_most_delta_of_races():
    """At delta = 0.3 and looked at after every block: a wrong level would show."""
    wrong = sum(decided((0.0, 0.0), 1, 0.15, seed, most=150)[0].is_over for seed in range(200))
    assert 5 <= wrong <= 97  # two answers, each with probability 0.15 at most: tail 1e-6


def test_levels_are_shared_by_the_pairs_across_the_line():
    """With twenty equals of which one is wanted the union over 19 pairs is what keeps the error."""
    alone = Pairs(2, 1, 0.05)._target
    assert Pairs(20, 1, 0.05)._target == pytest.approx(alone + math.log(19))
    assert Pairs(20, 5, 0.05)._target == pytest.approx(alone + math.log(75))


# --- races ----------------------------------------------------------------------------------------


def raced(*commands, **settings):
    race = PairedRace(commands, seed=1, warmup=0, **settings)
    race.warm_up()
    return race


def test_a_race_runs_in_blocks_until_it_is_certain():
    race = raced(FAST, SLOW)
    outcome = race.run()
    assert (outcome.result.top, outcome.result.certified) == ((FAST,), True)
    assert (outcome.by, outcome.result.error_bound) == ("pairs", 0.05)
    commands = [run.command for run in race.runs()]
    assert len(commands) % 2 == 0
    blocks = list(pairwise(commands))[::2]
    assert all(set(block) == {FAST, SLOW} for block in blocks)
    assert len(set(blocks)) == 2  # either order
    assert [arm.status for arm in outcome.result.arms] == ["in", "out"]
    assert outcome.to_dict()["relative"][SLOW]["ratio"] > 1.0


def test_the_first_is_who_wins_more_often_whoever_has_the_least_median(monkeypatch):
    """Blocks that take 1 s or 3 s; the loser's times straddle the winner's median."""
    race = raced("b", "a", ignore_failure=True)
    blocks = iter([(3.0, 2.0), (1.0, 1.1), *[(3.0, 3.1), (1.0, 1.1)] * 20])

    def measure(command):
        if not measure.left:
            measure.left = dict(zip("ab", next(blocks), strict=True))
        return measure.left.pop(command), {"process": {"code": 0}}

    measure.left = {}
    monkeypatch.setattr(race, "_measure", measure)
    outcome = race.run()
    first, second = outcome.result.arms
    assert (first.label, first.status, second.label, second.status) == ("a", "in", "b", "out")
    assert first.mean > second.mean
    assert outcome.relative["a"].value == 1.0
    assert outcome.relative["b"].value == pytest.approx(3.1 / 3.0, rel=0.1)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table(outcome.result, (), outcome.by, outcome.relative, outcome.wins))
    said = console.export_text()
    rows = [line.split("│") for line in said.splitlines() if "│" in line]
    assert [(row[1].strip(), row[2].strip()) for row in rows] == [("1", "a"), ("2", "b")]
    (won, of), (lost, _) = outcome.wins["a"], outcome.wins["b"]
    assert won + lost == of == outcome.result.samples // 2
    assert [row[4].strip() for row in rows] == [f"{won} of {of}", f"{lost} of {of}"]
    assert "wins" in said
    assert "interval" not in said
    assert outcome.to_dict()["wins"]["a"] == {"won": won, "of": of}


def test_a_given_number_of_blocks_and_a_budget():
    race = raced(FAST, "true x", "true y")
    outcome = race.run(runs=3)
    assert (outcome.result.samples, outcome.result.certified) == (9, False)
    assert outcome.result.stopped == "budget"
    assert raced(FAST, "true x", "true y").run(budget=8).result.samples == 6  # whole blocks
    assert raced(FAST, SLOW).run(min_runs=12).result.samples >= 24  # seven blocks would do


def test_a_run_at_the_limit_is_no_faster_than_another():
    outcome = raced("sleep 60", "sleep 61", FAST, k=1, max_time=0.05).run()
    assert outcome.result.top == (FAST,)
    assert outcome.to_dict()["relative"]["sleep 60"]["high"] is None
    assert {"sleep 60", "sleep 61"} <= outcome.cut.keys()  # on a slow day `true` is cut as well


def test_a_failed_run_is_no_time_here_either(tmp_path):
    once = f"sh -c 'test ! -e {tmp_path}/x && touch {tmp_path}/x'"
    race = raced(FAST, once, cleanup=f"touch {tmp_path}/cleaned")
    with pytest.raises(ArmFailedError, match=r"failed in a counted run, after [23] that went well"):
        race.run()
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("settings", [{"epsilon": 0.1}, {"quantile": 0.9}, {"storage": "x.db"}])
def test_what_pairs_do_not_have_is_refused(settings):
    with pytest.raises(InputError, match="a race by pairs has no"):
        PairedRace([FAST, SLOW], **settings)


def test_a_race_in_blocks_is_shown_while_it_lasts(monkeypatch):
    monkeypatch.setattr("bestk.report.terminal.race.QUIET", -1.0)
    console, views = Console(width=200, record=True, file=io.StringIO()), []

    @contextmanager
    def watch(race):
        views.append(RaceView(race))
        console.print(views[0])  # before the first run
        yield

    raced(FAST, SLOW).run(watch=watch)
    assert "undecided" in console.export_text()
    console.print(views[0])
    said = console.export_text()
    assert "median time" in said
    assert "1 in, 1 out, 0 undecided" in said
