"""Replay without replacement: a table of scores, of which every cell is drawn at most once."""

import json

import numpy as np
import pytest

from bestk import evaluate, replay, simulate
from bestk.errors import InputError
from bestk.rewards import Bernoulli, Bounded
from helpers.command import bestk

N_ARMS, N_ITEMS = 5, 20
TABLE = (np.random.default_rng(1).random((N_ARMS, N_ITEMS)) < 0.5).astype(float)
TABLE[3] = 1.0
NAN = float("nan")


def test_a_simulated_run_is_the_live_one():
    table = TABLE / 2 + np.arange(N_ITEMS) / 50
    instance = replay(table, k=2, without_replacement=True)
    found = simulate(instance, epsilon=0.01, delta=0.1, runs=1, seed=4)
    score = {(i, j): table[i, j] for i in range(N_ARMS) for j in range(N_ITEMS)}
    live = evaluate(
        range(N_ARMS), range(N_ITEMS), lambda arm, item: score[arm, item],
        k=2, epsilon=0.01, delta=0.1, seed=4,
    )  # fmt: skip
    assert found.samples.tolist() == [live.samples]


def test_ties_end_and_either_answer_is_right():
    table = np.array([np.roll([0.1, 0.2, 0.3, 0.7], shift) for shift in range(4)])
    result = simulate(replay(table, k=2, without_replacement=True), runs=20)
    assert (result.wrong, result.unfinished) == (0, 0)
    assert result.samples.max() <= table.size
    assert result.lower_bound is None


def test_the_smallest_are_found_too():
    result = simulate(replay(TABLE, k=1, without_replacement=True, maximize=False), runs=20)
    assert (result.wrong, result.unfinished) == (0, 0)


def test_scores_may_be_whole_numbers_and_know_their_range():
    whole = replay(TABLE.astype(int), k=1, without_replacement=True)
    np.testing.assert_array_equal(whole.means, TABLE.mean(axis=1))
    assert (whole.items, replay(TABLE, k=1).items) == (N_ITEMS, None)
    same = [
        simulate(whole, rewards=rewards, runs=5).samples.tolist()
        for rewards in (None, Bounded(), Bernoulli())
    ]
    assert same[0] == same[1] == same[2]
    doubled = replay(2 * TABLE, k=1, without_replacement=True)
    assert simulate(doubled, rewards=Bounded(0, 2), runs=5).samples.tolist() == same[0]
    with pytest.raises(InputError, match="lie in"):
        simulate(doubled, runs=5)


@pytest.mark.parametrize(
    ("table", "more", "said"),
    [
        ([[0.5, NAN], [0.1, 0.2]], {}, "arm 0 on item 1 is missing"),
        ([[0.5, float("inf")], [0.1, 0.2]], {}, "infinite"),
        ([0.5, 0.2], {}, "a column for each item"),
        ([["a"], ["b"]], {}, "a column for each item"),
        (TABLE, {"draw": "gaussian"}, "draw gaussian was refused"),
        (TABLE, {"without_replacement": "yes"}, "without_replacement"),
    ],
)
def test_tables_that_cannot_be_replayed_are_refused(table, more, said):
    with pytest.raises(InputError, match=said):
        replay(table, **{"k": 1, "without_replacement": True, **more})


def test_other_policies_are_refused():
    with pytest.raises(InputError, match="found by e-lucb"):
        simulate(replay(TABLE, k=1, without_replacement=True), "lil-rand-lucb", runs=1)


@pytest.fixture
def command(tmp_path):
    np.savez(tmp_path / "data.npz", rows=TABLE)
    return ["--data", str(tmp_path / "data.npz"), "--array", "rows", "--k", "1", "--json"]


def test_on_the_command_line(command):
    replayed = ["simulate", "--instance", "replay", "--without-replacement", "--runs", "3"]
    done = bestk(*replayed, *command)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["items"], data["rewards"], data["wrong"]) == (N_ITEMS, "bounded", 0)
    done = bestk("simulate", "--means", "1,2", "--k", "1", "--without-replacement")
    assert done.returncode == 2
    assert "goes with --instance replay" in done.stderr


def test_interpreted_and_compiled_runs_are_the_same(monkeypatch):
    found = []
    for mode in ("never", "now"):
        monkeypatch.setenv("BESTK_COMPILE", mode)
        result = simulate(replay(TABLE, k=2, without_replacement=True), epsilon=0.1, runs=4, seed=9)
        found.append((result.samples.tolist(), result.right.tolist()))
    assert found[0] == found[1]
