"""What users give: every kind of number is read, everything else is refused by name.

A refusal is an error of bestk's, and leaves the study as it was with the pull open.
"""

import math
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import bestk
from bestk import arguments
from bestk.errors import ArmFailedError, InputError
from bestk.storage import MemoryStorage
from bestk.study import Runner, Study

HUGE = 10**400
UNPRINTABLE = 10**5000  # more digits than Python prints
HALVES = [
    0.5, np.float16(0.5), np.float32(0.5), np.float64(0.5), np.longdouble(0.5), Decimal("0.5"),
    Fraction(1, 2), np.array(0.5),
]  # fmt: skip
WHOLES = [1, True, np.uint8(1), np.int64(1), np.bool_(True), 1.0, np.longdouble(1), Decimal(1)]
NO_NUMBERS = [
    None, "0.5", b"1", math.nan, np.float32("nan"), np.longdouble("nan"), Decimal("nan"),
    Decimal("snan"), 0.5j, 0.5 + 0j, np.complex64(0.5), np.clongdouble(0.5), [0.5], (1,), {},
    np.array([0.5]), np.array("0.5"),
    np.array("0.5", object), np.datetime64(1, "s"), np.timedelta64(1, "s"), object(), int,
]  # fmt: skip
TOO_LARGE = [math.inf, -math.inf, np.float32("inf"), np.longdouble("1e4000"), HUGE, -HUGE,
             UNPRINTABLE, Fraction(HUGE), Decimal("-1e400"), Decimal("inf")]  # fmt: skip


def begun(**settings):
    return Study("study", "abc", **{"k": 1, "seed": 1, **settings})


def state(study):
    return study.samples, [pull.id for pull in study.open], study.result.to_dict()


def shown(value):
    return arguments.shown(value)[:40]


def named(value):
    """The same in every process: no addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", shown(value))


@pytest.mark.parametrize("reward", HALVES + WHOLES, ids=named)
def test_numbers_of_every_kind_are_rewards(reward):
    study = begun()
    study.tell(study.ask()[0], reward)
    study.tell_many([(pull, reward) for pull in study.ask(2)])
    study.add("a", reward, "elsewhere")
    study.add("a", reward, "elsewhere")  # the same again changes nothing
    assert study.samples == 4
    means = [arm.mean for arm in study.result.arms]
    assert means == [float(reward)] * 3
    assert all(type(mean) is float for mean in means)


@pytest.mark.parametrize("rewards", [bestk.Bounded(-2, 2), bestk.Gaussian(), bestk.Ratings([1, 2])])
@pytest.mark.parametrize("reward", NO_NUMBERS + TOO_LARGE, ids=named)
def test_a_refused_reward_changes_nothing_and_leaves_the_pull_open(reward, rewards):
    study = begun(rewards=rewards)
    pull = study.ask()[0]
    before = state(study)
    for tell in (
        lambda: study.tell(pull, reward),
        lambda: study.tell_many([(pull, 1.0), (pull, reward)]),
        lambda: study.add("a", reward, "elsewhere"),
    ):
        with pytest.raises(InputError, match="refused"):
            tell()
        assert state(study) == before
    study.tell(pull, 1.0)
    assert study.samples == 1


@pytest.mark.parametrize("reward", TOO_LARGE, ids=named)
def test_an_infinite_reward_breaks_the_assumption_and_ends_the_run(reward):
    calls = []

    def pull(arm):
        calls.append(arm)
        return reward

    with pytest.raises(ArmFailedError, match="broke the assumption"):
        bestk.identify("abc", pull, k=1, retries=5, rewards=bestk.Gaussian())
    assert len(calls) == 1  # drawing again until a finite one comes would change the mean


@pytest.mark.parametrize("reward", NO_NUMBERS, ids=named)
def test_what_is_no_number_is_tried_again(reward):
    calls = []

    def pull(arm):
        calls.append(arm)
        return reward if len(calls) == 1 else 0.5

    result = bestk.identify("abc", pull, k=1, retries=1, backoff=0, budget=3)
    assert (len(calls), result.samples) == (4, 3)
    assert sum(arm.failed for arm in result.arms) == 1


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int32])
def test_k_and_counts_are_integers_of_any_width(kind):
    assert begun(k=kind(1), seed=kind(7), max_arms=kind(5), policy="e-lucb").ask(kind(2))
    assert bestk.difficulty([0.5, 0.4, 0.3], kind(1)).H == bestk.difficulty([0.5, 0.4, 0.3], 1).H
    means = [0.9, 0.1, 0.2]
    few = bestk.simulate(means, k=kind(1), runs=kind(3), seed=kind(1), jobs=kind(1))
    assert few.samples.tolist() == bestk.simulate(means, k=1, runs=3, seed=1).samples.tolist()
    assert bestk.make_instance("1-sparse", arms=kind(4), k=kind(2)).k == 2
    result = bestk.identify("abc", "abc".index, k=kind(1), budget=kind(9), parallel=kind(2),
                            retries=kind(0), rewards=bestk.Bounded(0, 2))  # fmt: skip
    assert result.samples == 9


@pytest.mark.parametrize("kind", [float, np.float32, np.longdouble, Decimal, Fraction])
def test_settings_are_numbers_of_any_kind(kind, tmp_path):
    quarter = kind(1) / kind(4)
    settings = {
        "delta": quarter, "epsilon": quarter, "rewards": bestk.Bounded(-quarter, quarter),
        "lease": quarter * 400, "policy": "lil-lucb", "params": {"eps": quarter},
    }  # fmt: skip
    path = tmp_path / "study.db"
    study = begun(storage=path, **settings)
    assert (study.problem.delta, study.problem.rewards.high) == (0.25, 0.25)
    again = begun(storage=path, **settings)
    assert again.specification == study.specification
    assert bestk.Gaussian(quarter) == bestk.Gaussian(0.25)
    found = bestk.confidence_sequence(bestk.Bounded(), [quarter, 1, True], alpha=quarter)
    assert found.mean.tolist() == pytest.approx([0.25, 0.625, 0.75])
    assert bestk.difficulty([quarter, 0, 1], 1, delta=quarter).H > 0


def other(*values):
    return [None, "x", math.nan, 0.5j, HUGE, [0.5j], object(), -1, *values]


REFUSED = {
    "n": (lambda value: begun().ask(value), [*other(0, 0.5, math.inf, True), UNPRINTABLE]),
    "parallel": (lambda value: run(parallel=value), other(0, 1.5, math.inf, UNPRINTABLE)),
    "budget": (lambda value: run(budget=value), other(0.5, math.inf)[1:]),
    "retries": (lambda value: run(retries=value), other(0.5)),
    "timeout": (lambda value: run(timeout=value), [v for v in other(0, True)[1:] if v != HUGE]),
    "seconds": (lambda value: run(seconds=value), [v for v in other(0)[1:] if v != HUGE]),
    "executor": (lambda value: run(executor=value), ["threads", 4, ThreadPoolExecutor]),
    "progress": (lambda value: run(progress=value), ["x", 1]),
    "pull": (lambda value: Runner(begun(), value), [None, "x", 1]),
    "k": (lambda value: begun(k=value), other(0, 3, 1.0, True, UNPRINTABLE)),
    "seed": (lambda value: begun(seed=value), other(0.5)[1:]),
    "lease": (lambda value: begun(lease=value), other(0, math.inf)[1:]),
    "delta": (lambda value: begun(delta=value), other(0, 1, True)[1:]),
    "epsilon": (lambda value: begun(epsilon=value), other(math.inf, True)[1:]),
    "maximize": (lambda value: begun(maximize=value), ["no", 0, 1.0]),
    "rewards": (lambda value: begun(rewards=value), ["bernoulli", bestk.Bernoulli, 1]),
    "storage": (lambda value: begun(storage=value), [5, MemoryStorage, object(), ["x.db"]]),
    "decision": (lambda value: Study("s", "abc", decision=value), ["top-k", bestk.TopK, 5]),
    "policy": (lambda value: begun(policy=value), [5, ["e-lucb"]]),
    "params": (lambda value: begun(params=value), ["eps", 5]),
    "name": (lambda value: Study(value, "abc", k=1), [None, 5, "\udc80"]),
    "arms": (lambda value: Study("s", value, k=1), [5, [["a"], "b"]]),
    "answers": (lambda value: begun().tell_many(value), [5, [5], [(1,)], ["abc"]]),
    "id": (lambda value: begun().add("a", 1, value), [5, None, "\udc80"]),
    "alpha": (lambda value: bestk.confidence_sequence(bestk.Bernoulli(), [1], value), other(0, 1)),
    "data": (lambda value: bestk.confidence_sequence(bestk.Bernoulli(), value), other()),
    "means": (lambda value: bestk.difficulty(value, 1), [[0.5, 0.5j], ["1", "2"], [HUGE, 1], None]),
    "runs": (lambda value: bestk.simulate([1, 0], k=1, runs=value), other(0, 0.5, 1 << 63)),
}


def run(**settings):
    return Runner(begun(), lambda arm: arm == "b", **settings)


@pytest.mark.parametrize(
    ("call", "value"),
    [(call, value) for call, values in REFUSED.values() for value in values],
    ids=[f"{name}={named(value)}" for name, (_, values) in REFUSED.items() for value in values],
)
def test_what_cannot_be_is_refused_by_name(call, value):
    with pytest.raises(InputError, match=r"refused|give either|missing"):
        call(value)


def test_a_timeout_longer_than_any_wait_is_no_timeout():
    for endless in (1e10, 1e300, math.inf, HUGE):
        result = bestk.identify("abc", lambda arm: arm == "b", k=1, timeout=endless, budget=5)
        assert result.samples == 5


def test_a_study_in_memory_knows_how_long_it_took(tmp_path):
    """And not when it was: the first event of a log is the beginning of time."""
    for storage in (None, MemoryStorage(), tmp_path / "study.db"):
        result = bestk.identify("abc", lambda arm: arm == "b", k=1, storage=storage)
        assert 0.0 <= result.seconds < 3600.0


def test_a_class_that_no_message_can_show_is_refused():
    class Odd:
        def __repr__(self):
            raise RuntimeError("no")

        def __float__(self):
            raise RuntimeError("no")

    study = begun()
    with pytest.raises(InputError, match="reward of type Odd was refused"):
        study.tell(study.ask()[0], Odd())
    with pytest.raises(InputError, match="storage=of type Odd was refused"):
        begun(storage=Odd())
