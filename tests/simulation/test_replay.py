"""Replay: what was observed of an arm is the arm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bestk.errors import InputError
from bestk.kernels import rng
from bestk.kernels.types import GAUSSIAN, TABLE
from bestk.rewards import Bernoulli, Bounded, Gaussian, Ratings, SubGaussian
from bestk.simulation import read_replay, replay, simulate
from helpers.command import bestk

NAN, INF = float("nan"), float("inf")
COUNTS = np.array([[5, 0, 15], [10, 10, 0], [0, 0, 3], [7, 1, 2]])
ROWS = np.array([[0.1, 0.2, NAN, 0.2], [0.9, NAN, NAN, NAN], [0.5, 0.5, 0.4, 0.25]])
DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real data are not here")


def draws(instance, rewards, arm, n, seed=5):
    world = instance.world(rewards)
    return np.array([rng.draw(world, seed, 0, arm, i) for i in range(n)])


# --- what is stored -------------------------------------------------------------------------------


def test_whole_numbers_count_evenly_spaced_levels():
    instance = replay(COUNTS, k=2)
    np.testing.assert_allclose(instance.means, [15 / 20, 5 / 20, 1.0, 2.5 / 10], rtol=1e-15)
    assert instance.pool.levels == (0.0, 0.5, 1.0)
    assert (instance.name, instance.k, instance.maximize) == ("replay", 2, True)
    assert instance.optimum.tolist() == [True, False, True, False]
    for kind in (np.uint8, np.int32, np.uint64):
        np.testing.assert_array_equal(replay(COUNTS.astype(kind), k=2).means, instance.means)
    assert replay(np.eye(5, dtype=int), k=1).pool.levels == (0.0, 0.25, 0.5, 0.75, 1.0)


def test_other_numbers_are_rewards_and_nan_is_none():
    instance = replay(ROWS, k=1)
    np.testing.assert_allclose(instance.means, np.nanmean(ROWS, axis=1), rtol=1e-15)
    assert instance.pool.levels is None
    np.testing.assert_array_equal(instance.pool.per_arm(instance.pool.counts), [3, 1, 4])
    np.testing.assert_allclose(
        replay(ROWS.astype(np.float32), k=1).means, instance.means, rtol=1e-6
    )
    assert replay(ROWS.tolist(), k="2").k == 2
    assert not replay(ROWS, k=1, maximize=False).maximize


def test_the_deviation_is_pooled_over_rows():
    table = np.random.default_rng(1).normal([[0.0], [5.0], [-3.0]], 0.3, (3, 40))
    table[0, :17] = NAN
    around = table - np.nanmean(table, axis=1, keepdims=True)
    free = np.sum(~np.isnan(table)) - 3
    pooled = np.sqrt(np.nansum(around**2) / free)
    assert replay(table, k=1).pool.sigma == pytest.approx(pooled, rel=1e-12)
    whole = np.repeat([[0.0, 0.5, 0.5, 1.0]], 2, axis=0)
    counts = np.array([[1, 2, 1], [1, 2, 1]])
    assert replay(counts, k=1).pool.sigma == pytest.approx(replay(whole, k=1).pool.sigma, rel=1e-12)


# --- what is drawn --------------------------------------------------------------------------------


def chi_square(found, values, counts) -> float:
    """The p-value of draws against stored frequencies; false alarm below 1e-6 by the caller."""
    seen = np.array([np.sum(found == x) for x in values])
    assert seen.sum() == len(found)  # nothing else is ever drawn
    return stats.chisquare(seen, np.array(counts) / np.sum(counts) * len(found)).pvalue


def test_counts_are_drawn_as_often_as_they_were_seen():
    instance = replay(COUNTS, k=2)
    assert instance.world(Bounded()).law == TABLE
    assert chi_square(draws(instance, Bounded(), 0, 4000), [0.0, 1.0], [5, 15]) > 1e-6
    assert chi_square(draws(instance, Bounded(), 1, 4000), [0.0, 0.5], [10, 10]) > 1e-6
    assert set(draws(instance, Bounded(), 2, 100)) == {1.0}
    assert chi_square(draws(instance, Bounded(), 3, 4000), [0.0, 0.5, 1.0], [7, 1, 2]) > 1e-6


def test_rows_are_drawn_with_replacement():
    instance = replay(ROWS, k=1)
    assert chi_square(draws(instance, Bounded(), 0, 4000), [0.1, 0.2], [1, 2]) > 1e-6
    assert set(draws(instance, Bounded(), 1, 50)) == {0.9}
    assert chi_square(draws(instance, Bounded(), 2, 4000), [0.25, 0.4, 0.5], [1, 1, 2]) > 1e-6


def test_gaussian_draws_have_the_mean_of_the_row_and_the_pooled_deviation():
    instance = replay(ROWS, k=1, draw="gaussian")
    sigma = instance.pool.sigma
    assert instance.world(Gaussian(1.0)).law == GAUSSIAN
    for arm, mean in enumerate(np.nanmean(ROWS, axis=1)):
        found = draws(instance, Gaussian(1.0), arm, 3000)
        assert stats.kstest(found, "norm", (mean, sigma)).pvalue > 1e-6


@pytest.mark.parametrize(
    "policy", ["e-lucb", pytest.param("lil-rand-lucb", marks=pytest.mark.compiled)]
)
def test_the_same_seed_gives_the_same_numbers_on_any_number_of_jobs(policy):
    instance = replay(COUNTS, k=2)
    settings = {"rewards": Ratings((0.0, 0.5, 1.0)), "runs": 12, "delta": 0.1}
    one, two = (simulate(instance, policy, jobs=jobs, **settings) for jobs in (1, 2))
    np.testing.assert_array_equal(one.samples, two.samples)
    other = simulate(instance, policy, jobs=1, seed=2, **settings)
    assert (other.samples != one.samples).any()
    assert one.wrong == one.unfinished == 0


def test_all_assumptions_that_hold_can_be_replayed():
    coins = np.array([[1, 9], [8, 2], [5, 5]])
    for data, rewards, draw in (
        (COUNTS, Ratings((0.0, 0.5, 1.0)), "table"),
        (COUNTS, Bounded(), "table"),
        (COUNTS, SubGaussian(0.5), "table"),
        (coins, Bernoulli(), "table"),
        (ROWS, Bounded(0.1, 0.9), "table"),
        (ROWS, SubGaussian(0.13), "table"),
        (ROWS, Gaussian(0.2), "gaussian"),
    ):
        instance = replay(data, k=1, draw=draw)
        result = simulate(instance, rewards=rewards, runs=3, delta=0.1, epsilon=0.05)
        assert (result.wrong, result.unfinished) == (0, 0)
    worst = simulate(replay(COUNTS, k=1, maximize=False), rewards=Bounded(), epsilon=0.1, runs=3)
    assert worst.wrong == 0  # arms 1 and 3 tie for the least


# --- what is refused ------------------------------------------------------------------------------

ANY = np.array([[0.1, 0.2], [0.3, 0.4]])
REFUSED = {
    "one row": (np.array([1, 2, 3]), {}, "a row for each arm"),
    "three axes": (np.ones((2, 2, 2)), {}, "a row for each arm"),
    "texts": (np.array([["a", "b"]]), {}, "a row for each arm"),
    "truth values": (np.array([[True, False]]), {}, "a row for each arm"),
    "negative counts": (np.array([[1, 2], [3, -1]]), {}, "counts of arm 1 were refused"),
    "no counts": (np.array([[1, 2], [0, 0]]), {}, "counts of arm 1 were refused"),
    "one level": (np.array([[1], [2]]), {}, "at least two levels"),
    "an empty row": (np.array([[0.1, 0.2], [NAN, NAN]]), {}, "arm 1 was refused"),
    "no columns": (np.ones((3, 0)), {}, "arm 0 was refused"),
    "no arms": (np.ones((0, 3)), {}, "at least 2"),
    "infinity": (np.array([[0.1, INF], [0.2, 0.3]]), {}, "infinite"),
    "an unknown draw": (ANY, {"draw": "tabel"}, "did you mean 'table'"),
    "k of all": (ANY, {"k": 2}, "K must be 1 to 1"),
    "k of none": (ANY, {"k": 0}, "K must be 1 to 1"),
    "k as text": (ANY, {"k": "some"}, "integer or N/2"),
    "no deviation": (np.array([[0.1], [0.2]]), {"draw": "gaussian"}, "no row has two"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_data_is_refused(case):
    data, settings, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        replay(data, **{"k": 1, **settings})


BROKEN = {
    "bounded too narrow below": (ROWS, "table", Bounded(0.2, 1.0), "lie in"),
    "bounded too narrow above": (ROWS, "table", Bounded(0.0, 0.8), "lie in"),
    "sigma below half the range": (ROWS, "table", SubGaussian(0.12), "Hoeffding"),
    "gaussian sigma likewise": (COUNTS, "table", Gaussian(0.49), "Hoeffding"),
    "coins of three sides": (COUNTS, "table", Bernoulli(), "0 or 1"),
    "coins beyond 1": (np.array([[0.0, 2.0], [1.0, 1.0]]), "table", Bernoulli(), "0 or 1"),
    "ratings of other levels": (ROWS, "table", Ratings((0.1, 0.2, 0.9)), "levels are"),
    "ratings that miss one": (COUNTS, "table", Ratings((0.0, 1.0)), "levels are"),
    "normal draws in a range": (ROWS, "gaussian", Bounded(), "normal rewards are drawn"),
    "normal draws as coins": (COUNTS, "gaussian", Bernoulli(), "normal rewards are drawn"),
    "normal draws, small sigma": (ROWS, "gaussian", Gaussian(0.01), "pooled"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_assumption_that_the_data_break_is_refused(case):
    data, draw, rewards, message = BROKEN[case]
    with pytest.raises(InputError, match=message):
        simulate(replay(data, k=1, draw=draw), rewards=rewards, runs=1, epsilon=0.1)


def test_a_level_that_was_never_seen_asks_for_nothing():
    """Counts of a level that are all zero are as good as a table without it."""
    seen = np.array([[0, 3, 5], [0, 6, 1]])
    simulate(replay(seen, k=1), rewards=SubGaussian(0.25), runs=1, epsilon=0.1)


# --- files ----------------------------------------------------------------------------------------


def files(folder) -> dict[str, Path]:
    """Files that are none: what is wrong, and where."""
    found = {"missing": folder / "nowhere.npz", "a folder": folder}
    found["text"] = folder / "text.npz"
    found["text"].write_text("0.1,0.2")
    found["empty"] = folder / "empty.npz"
    found["empty"].touch()
    found["one array"] = folder / "one.npy"
    np.save(found["one array"], ANY)
    found["objects"] = folder / "objects.npz"
    np.savez(found["objects"], A=np.array([[1, None]], dtype=object))
    for name, save in (("damaged", np.savez), ("damaged zip", np.savez_compressed)):
        found[name] = folder / f"{name}.npz"
        save(found[name], A=np.random.default_rng(1).random((50, 50)))
        whole = found[name].read_bytes()
        found[name].write_bytes(whole[:5000] + bytes(2000) + whole[7000:])
    return found


BAD_FILES = [
    "missing",
    "a folder",
    "text",
    "empty",
    "one array",
    "objects",
    "damaged",
    "damaged zip",
]


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_holds_no_arrays_is_refused_by_name(tmp_path, case):
    path = files(tmp_path)[case]
    with pytest.raises(InputError, match=path.name):
        read_replay(path, "A", k=1)


def test_an_array_that_a_file_does_not_have_is_refused_with_those_it_has(tmp_path):
    np.savez(tmp_path / "data.npz", counts=COUNTS, rows=ROWS)
    instance = read_replay(tmp_path / "data.npz", "rows", k=1, draw="gaussian", maximize=False)
    np.testing.assert_array_equal(instance.means, replay(ROWS, k=1).means)
    assert (instance.pool.draw, instance.maximize) == ("gaussian", False)
    with pytest.raises(InputError, match=r"did you mean 'counts'.*rows"):
        read_replay(tmp_path / "data.npz", "count", k=1)


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path):
    np.savez(tmp_path / "data.npz", counts=COUNTS, rows=ROWS)
    data = ["--data", str(tmp_path / "data.npz")]
    return ["simulate", "--instance", "replay", *data, "--runs", "3", "--json"]


def test_counts_are_replayed_on_the_command_line(command):
    done = bestk(*command, "--array", "counts", "--k", "2", "--rewards", "ratings")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["instance"], data["arms"], data["k"]) == ("replay", 4, 2)
    assert (data["rewards"], data["sigma"], data["policy"]) == ("ratings", 0.5, "e-lucb")
    assert (data["wrong"], data["unfinished"], data["lower_bound"]) == (0, 0, None)


def test_normal_draws_take_the_pooled_deviation_on_the_command_line(command):
    done = bestk(*command, "--array", "rows", "--k", "1", "--draw", "gaussian", "--minimize")
    data = json.loads(done.stdout)
    assert data["sigma"] == pytest.approx(replay(ROWS, k=1).pool.sigma)
    assert data["wrong"] == 0
    assert data["lower_bound"] > 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--array", "counts"], "--k is missing"),
        (["--k", "1"], "needs --data FILE.npz and --array"),
        (["--array", "rows", "--k", "1", "--rewards", "ratings"], "levels"),
        (["--array", "rows", "--k", "1", "--arms", "3"], "takes its arms from --data"),
        (["--array", "row", "--k", "1"], "did you mean 'rows'"),
        (["--array", "rows", "--k", "1", "--draw", "normal"], "unknown draw"),
        (["--array", "rows", "--k", "1", "--rewards", "bounded", "--high", "0.5"], "lie in"),
    ],
)
def test_replays_that_cannot_run_are_refused_on_the_command_line(command, args, message):
    done = bestk(*command, *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_data_without_replay_are_refused():
    done = bestk("simulate", "--means", "1,2", "--k", "1", "--array", "x")
    assert done.returncode == 2
    assert "go with --instance replay" in done.stderr


# --- the real data --------------------------------------------------------------------------------


@needs_data
def test_captions_are_counts_of_three_levels():
    for name, arms in (("c559", 138), ("c540", 4475)):
        instance = read_replay(DATA / "captions.npz", name, k=5)
        assert (instance.decision.n_arms, instance.pool.levels) == (arms, (0.0, 0.5, 1.0))
        with np.load(DATA / "captions.npz") as file:
            counts = file[name]
        np.testing.assert_allclose(instance.means, counts @ [0, 0.5, 1] / counts.sum(axis=1))
    ranked = np.sort(read_replay(DATA / "captions.npz", "c559", k=5).means)[::-1]
    assert ranked[4] - ranked[5] == pytest.approx(0.003, abs=0.0005)
    assert ranked[9] - ranked[10] == pytest.approx(0.0009, abs=0.0001)


@needs_data
def test_a_caption_contest_is_won_with_slack_and_bets_need_fewer_samples_than_sigma():
    instance = read_replay(DATA / "captions.npz", "c559", k=5)
    settings = {"epsilon": 0.2, "delta": 0.05, "runs": 1}
    bets = simulate(instance, rewards=Ratings((0.0, 0.5, 1.0)), **settings)
    normal = simulate(instance, rewards=SubGaussian(0.5), **settings)
    assert bets.wrong == bets.unfinished == normal.wrong == 0
    assert bets.mean < 0.7 * normal.mean


@needs_data
def test_models_are_rows_of_rewards_and_architectures_are_drawn_normally():
    models = read_replay(DATA / "alpaca_eval.npz", "reward", k=3)
    assert models.decision.n_arms == 119
    models.pool.check(Bounded())
    seeds = read_replay(DATA / "nasbench201_cifar100.npz", "accuracy", k=10, draw="gaussian")
    with np.load(DATA / "nasbench201_cifar100.npz") as file:
        accuracy = file["accuracy"].astype(float)
    assert seeds.decision.n_arms == 15625
    np.testing.assert_allclose(seeds.means, np.nanmean(accuracy, axis=1), rtol=1e-12)
    around = accuracy - np.nanmean(accuracy, axis=1, keepdims=True)
    free = np.sum(~np.isnan(accuracy)) - 15625
    assert seeds.pool.sigma == pytest.approx(np.sqrt(np.nansum(around**2) / free), rel=1e-9)
    assert seeds.pool.sigma < 1.0
