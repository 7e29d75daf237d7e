"""`identify`: calls until the answer is certain, whatever the calls do."""

import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bestk
from bestk.errors import ArmFailedError, ExecutorError, InputError, PullError
from bestk.kernels import rng
from bestk.kernels.types import BERNOULLI, World
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study


def coin(arm, told={}):  # noqa: B006 - counts calls on purpose
    told[arm] = told.get(arm, 0) + 1
    return rng.draw(World(BERNOULLI, np.array([0.9, 0.2, 0.1]), 0.5), 3, 0, arm, told[arm])


def test_identify_calls_until_it_is_certain():
    result = bestk.identify(range(3), coin, k=1, rewards=bestk.Bernoulli(), seed=1)
    assert (result.top, result.certified, result.stopped) == ((0,), True, "rule")


def test_identify_takes_coroutines_and_runs_in_parallel():
    async def pull(arm):
        return coin(arm)

    result = bestk.identify(range(3), pull, k=1, rewards=bestk.Bernoulli(), parallel=3, seed=1)
    assert result.top == (0,)


def test_a_budget_ends_the_run():
    result = bestk.identify(range(3), coin, k=1, rewards=bestk.Bernoulli(), budget=5, parallel=2)
    assert (result.samples, result.stopped, result.certified) == (5, "budget", False)


def test_an_arm_that_fails_too_often_ends_the_run_and_can_be_resumed(tmp_path):
    healthy = []

    def pull(arm):
        if arm == 2 and not healthy:
            raise ValueError("broken")
        return "text" if arm == 1 and not healthy else coin(arm)

    settings = {"k": 1, "rewards": bestk.Bernoulli(), "storage": tmp_path / "s.db", "retries": 1,
                "backoff": 0}  # fmt: skip
    with pytest.raises(ArmFailedError, match="1 failed 2 times in a row"):
        bestk.identify(range(3), pull, **settings)
    healthy.append(True)
    result = bestk.identify(range(3), pull, **settings)
    assert result.certified
    assert [arm.failed for arm in result.arms] == [0, 2, 0]


def test_a_hung_pull_times_out_and_its_late_value_is_not_counted():
    import threading

    release, calls = threading.Event(), []

    def pull(arm):
        calls.append(arm)
        if len(calls) == 1:
            release.wait(60)
        return coin(arm)

    result = bestk.identify(
        range(3), pull, k=1, rewards=bestk.Bernoulli(), timeout=3.0, retries=1, backoff=0, seed=1
    )
    release.set()
    assert result.certified
    assert sum(arm.failed for arm in result.arms) == 1
    assert result.samples == len(calls) - 1


def test_the_forecast_is_of_the_right_size_though_rewards_vary_little():
    """It is an estimate; by the width of the range alone it would be ten times too high."""
    study = Study("s", range(5), k=1, seed=1)
    dice = np.random.default_rng(1)
    forecasts = {}
    while pulls := study.ask():
        study.tell(pulls[0], float(np.clip(dice.normal(0.3 + 0.05 * pulls[0].arm, 0.03), 0, 1)))
        if study.samples in (100, 200):
            forecasts[study.samples] = study.result
    for taken, result in forecasts.items():
        remaining = study.samples - taken
        assert remaining / 4 < result.forecast < 4 * remaining
        low, high = result.forecast_interval
        assert low <= remaining <= high
        assert low < result.forecast < high
        assert result.to_dict()["forecast_interval"] == [low, high]
        assert f"usually {low:,} to {high:,}" in result.usually
    assert (study.result.forecast, study.result.forecast_interval) == (None, None)


def test_no_more_can_remain_of_an_evaluation_than_its_table():
    study = Study("s", range(4), k=1, items=range(30), seed=1)
    while study.samples < 60:
        (pull,) = study.ask()
        study.tell(pull, pull.position % 2)  # a tie, up to the last item
    low, high = study.result.forecast_interval
    assert low <= study.result.forecast <= high <= 60


def test_a_pull_that_exits_has_failed():
    with pytest.raises(ArmFailedError, match="SystemExit: 3"):
        bestk.identify("ab", lambda _: sys.exit(3), k=1, retries=0)


def test_an_executor_that_is_gone_ends_the_run_and_it_can_be_resumed(tmp_path):
    pool, calls = ThreadPoolExecutor(1), []

    def pull(arm):
        calls.append(arm)
        if len(calls) == 3:
            pool.shutdown(wait=False)
        return {"a": 0.1, "b": 0.9}[arm]

    file = tmp_path / "s.db"
    with pytest.raises(ExecutorError, match="can be resumed"):
        bestk.identify("ab", pull, k=1, executor=pool, storage=file)
    assert Study("identify", storage=file).samples == 3
    assert bestk.identify("ab", pull, k=1, storage=file).top == ("b",)


def test_lucb_has_intervals_before_its_first_round():
    study = Study("s", "abc", k=1, policy="lucb", seed=1)
    for pull in study.ask(3):
        study.tell(pull, 0.5)
    json.dumps(study.result.to_dict(), allow_nan=False)
    assert all(arm.low < 0.5 < arm.high for arm in study.result.arms)


def test_lil_ucb_has_one_pull_open_at_a_time():
    study = Study("s", "abc", k=1, policy="lil-ucb", seed=1)
    (pull,) = study.ask(3)
    with pytest.raises(InputError, match="one after the other"):
        study.ask()
    study.tell(pull, 0.5)
    assert len(study.ask()) == 1


def test_a_reward_that_breaks_the_assumption_is_not_drawn_again():
    """Until one fits: that would be a mean of those that do."""
    rewards = iter([0.5, 1.5, 0.5, 0.5])
    with pytest.raises(ArmFailedError, match="void the guarantee"):
        bestk.identify("ab", lambda _: next(rewards), k=1, retries=9)


def test_the_last_answer_of_a_budget_may_settle_it():
    def run(budget):
        return bestk.identify("ab", lambda arm: arm == "b", k=1, rewards=bestk.Bernoulli(),
                              budget=budget, seed=1)  # fmt: skip

    enough = run(None).samples
    assert run(enough).certified
    assert not run(enough - 1).certified


def test_anything_that_can_be_awaited_is():
    class Asker:
        async def __call__(self, arm):
            return arm == "b"

    settings = {"k": 1, "rewards": bestk.Bernoulli(), "seed": 1}
    assert bestk.identify("ab", Asker(), **settings).top == ("b",)


def test_an_exception_that_no_file_can_hold_is_a_failed_pull_like_any_other(tmp_path):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    for i, error in enumerate((OSError("\udcff"), Mute())):

        def pull(_, error=error):
            raise error

        with pytest.raises(ArmFailedError, match=type(error).__name__):
            bestk.identify("ab", pull, k=1, storage=tmp_path / f"{i}.db", retries=0)


def test_an_id_belongs_to_one_arm():
    study = Study("s", "ab", k=1)
    study.add("a", 0.5, "i")
    with pytest.raises(PullError, match=r"it was 0\.5 of 'a'"):
        study.add("b", 0.5, "i")


def test_forked_processes_name_their_pulls_apart(tmp_path):
    study = Study("s", "abcd", k=1, storage=tmp_path / "s.db")
    study.ask()
    child = os.fork()
    if child == 0:
        study.ask()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    study.ask()
    log = list(SQLiteStorage(tmp_path / "s.db").read("s"))
    assert len({event.key for event in log if event.kind == ev.ASKED}) == 3
    taken = next(event for event in log if event.kind == ev.ASKED)
    study._journal.storage.append("s", [taken._replace(arm=3)])  # a name used twice
    study.tell(taken.key, 0.5)
    assert [arm.pulls for arm in study.result.arms] == [1, 0, 0, 0]


def test_what_numpy_gives_is_as_good_as_numbers_of_python(tmp_path):
    settings = {
        "k": 1, "seed": np.int64(5), "delta": np.float32(0.05), "epsilon": np.float64(0.1),
        "lease": np.int64(9), "max_arms": None, "params": {"weights": (0.25, 0.25, 0.5)},
    }  # fmt: skip
    study = Study("s", np.arange(3), storage=tmp_path / "s.db", **settings)
    again = Study("s", np.arange(3), storage=tmp_path / "s.db", **settings)
    assert again.arms == study.arms == (0, 1, 2)
    memory = Study("s", np.arange(3), k=1)
    assert [arm["label"] for arm in memory.result.to_dict()["arms"]] == [0, 1, 2]


@pytest.mark.parametrize(
    "settings",
    [
        {"rewards": "bernoulli"},
        {"lease": "x"},
        {"lease": math.inf},
        {"seed": 1.5},
        {"max_arms": "m"},
    ],
)
def test_settings_that_are_no_settings_are_refused(settings):
    with pytest.raises(InputError, match="refused"):
        Study("s", "abc", k=1, **settings)
    with pytest.raises(InputError, match="refused"):
        bestk.identify("ab", float, k=1, timeout=0)


def test_a_file_takes_no_label_that_json_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="finite"):
        Study("s", [math.inf, 1.0], k=1, storage=tmp_path / "s.db")


def test_seconds_are_those_of_the_study_not_of_the_reader(tmp_path):
    study = Study("s", "ab", k=1, storage=tmp_path / "s.db")
    study._journal.storage.append(
        "s", [ev.Event(ev.ASKED, "x-1", 0, 0.0, "+", study._fold.first + 100)]
    )
    assert Study("s", storage=tmp_path / "s.db").result.seconds == pytest.approx(100)
