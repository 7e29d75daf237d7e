"""Observations count in the order asked: what that promises, and what becomes of lost ones."""

import random

import pytest

import bestk
from bestk.errors import InputError, StorageError
from bestk.policies.stepper import Stepper
from bestk.storage import MemoryStorage
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import Study
from bestk.study.fold import Fold
from bestk.study.order import Order
from reference import naive_order

COINS = {"better": 0.52, "worse": 0.5}
RUNS, MOST_WRONG = 100, 18  # at delta = 0.05: P(Binomial(100, 0.05) > 18) < 1e-6


class Log(MemoryStorage):
    """A storage that a test can look into; studies on it write their specification."""


def is_quick(arm, reward):
    """The adversary: what speaks for the worse arm comes back at once."""
    return reward == (0.0 if arm == "better" else 1.0)


def run_against(study, dice, lose=None, most=150):
    """Eight pulls open; the adversary answers those it likes, and the others when it has to."""
    slow = []
    while study._fold.handed < most and not study.is_stopped:
        pulls = study.ask()
        for pull in pulls:
            reward = float(dice.random() < COINS[pull.arm])
            if is_quick(pull.arm, reward):
                study.tell(pull, reward)
            elif lose is not None:
                lose(study, pull)
            else:
                slow.append((pull, reward))
        if slow and (len(slow) >= 8 or not pulls):
            study.tell(*slow.pop(0))
    return study.result


def count_wrong(runs, rewards, lose=None, **settings):
    dice, wrong = random.Random(5), 0
    for run in range(runs):
        arms = tuple(COINS) if run % 2 else tuple(COINS)[::-1]
        study = Study("s", arms, k=1, delta=0.05, rewards=rewards, seed=run, **settings)
        result = run_against(study, dice, lose)
        wrong += result.certified and result.top == ("worse",)
    return wrong


@pytest.mark.compiled
@pytest.mark.parametrize("rewards", [bestk.Bernoulli(), bestk.Ratings((0, 1))])
def test_delays_that_depend_on_rewards_do_no_harm(rewards):
    assert count_wrong(RUNS, rewards) <= MOST_WRONG


@pytest.mark.compiled
def test_counted_as_they_arrive_they_did(monkeypatch):
    monkeypatch.setattr(Order, "settle", lambda *given: [(given[1], given[3])])
    assert count_wrong(40, bestk.Ratings((0, 1))) > 8  # all that are certified; 2 would be normal


@pytest.mark.compiled
def test_losses_that_depend_on_rewards_do_no_harm_if_they_count_as_the_worst():
    """Half of all pulls are lost, by failing or being given up: those that the adversary hates."""

    def lose(study, pull):
        study.fail(pull) if pull.index % 2 else study.forget(pull)

    rewards = bestk.Ratings((0, 1))
    assert count_wrong(RUNS, rewards, lose, lost="worst") <= MOST_WRONG
    assert count_wrong(40, rewards, lose, lost="skip") > 20  # what is assumed there matters


# --- the prefix -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by_arm", [False, True])
@pytest.mark.parametrize(
    "rewards", [pytest.param(bestk.Bounded(), marks=pytest.mark.compiled), bestk.Gaussian()]
)
def test_the_state_that_counts_is_told_of_the_longest_prefix_asked(rewards, by_arm):
    """Random answers, losses and observations from elsewhere, against a list made anew."""
    dice = random.Random(3)
    for lost in ("skip", "worst") if isinstance(rewards, bestk.Bounded) else ("skip",):
        storage = Log()
        study = Study("s", "abcd", k=2, rewards=rewards, storage=storage, seed=2, lost=lost,
                      max_arms=4 if by_arm else None)  # fmt: skip
        out = []
        for turn in range(120):
            out += study.ask(dice.randint(1, 3))
            dice.shuffle(out)
            while len(out) > dice.randint(0, 6):
                pull, fate = out.pop(), dice.random()
                if fate < 0.1:
                    study.forget(pull)
                elif fate < 0.2:
                    study.fail(pull, "no luck")
                else:
                    study.tell(pull, round(dice.random(), 3))
            if turn % 5 == 0:
                study.add("abcd"[turn % 4], 0.5, str(turn))
            events = list(storage.read("s"))
            expected = naive_order.counted(events, by_arm)
            check_state(study, expected, lost)
            resumed = Fold(study.specification)
            resumed.apply(events)
            for fold in (resumed, study._fold):
                fold.machine.settle()
            assert resumed.state.keys.tobytes() == study._fold.state.keys.tobytes()
            assert resumed.plan() == study._fold.plan()


def check_state(study, expected, lost):
    """As if only what counts had been told, one after the other."""
    fold = study._fold
    stepper = Stepper(fold.stepper.decision, fold.configured)
    stepper.reset(0)
    holes = [0] * 4
    for arm, reward in expected:
        if reward is None:
            holes[arm] += 1
        else:
            stepper.tell(arm, reward)
    assert fold.holes == holes
    for name in ("counts", "sums", "means"):
        assert getattr(stepper.state, name).tobytes() == getattr(fold.state, name).tobytes()
    if len(fold.state.levels) > 1:
        seen = fold.state.levels
        assert (stepper.state.levels[:, :-1] == seen[:, :-1]).all()
        assert seen[:, -1].tolist() == (holes if lost == "worst" else [0] * 4)


def test_a_hole_widens_both_bounds():
    wide, narrow = (Study("s", "ab", k=1, seed=1, lost=lost) for lost in ("worst", "skip"))
    for study in (wide, narrow):
        for n in range(20):
            study.add("ab"[n % 2], 0.5, str(n))
        study.forget(study.ask()[0])
    (a, b), (x, y) = wide.result.arms, narrow.result.arms
    lost, kept, whole = (a, b, x) if wide._fold.holes[0] else (b, a, y)
    assert lost.low < whole.low
    assert lost.high > whole.high
    assert (kept.low, kept.high) == (whole.low, whole.high)


def test_worst_needs_rewards_with_a_range_that_are_bet_on():
    refused = [
        {"rewards": bestk.Gaussian()},
        {"rewards": bestk.Bernoulli()},
        {"rewards": bestk.Bounded(), "policy": "lil-rand-lucb"},
    ]
    for settings in refused:
        with pytest.raises(InputError, match="lost='worst' was refused"):
            Study("s", "ab", k=1, lost="worst", **settings)
    with pytest.raises(InputError, match="did you mean 'worst'"):
        Study("s", "ab", k=1, lost="worse")


# --- waiting --------------------------------------------------------------------------------------


def test_nothing_is_asked_while_what_is_told_would_be_enough():
    study = Study("s", "ab", k=1, rewards=bestk.Gaussian(0.1), seed=1)
    first, second = study.ask(2)
    for n in range(50):
        study.add(second.arm, 0.9, f"x{n}")
        study.add(first.arm, 0.1, f"y{n}")
    study.tell(second, 0.9)
    result = study.result
    assert (result.certified, result.held, result.samples) == (False, 101, 101)
    assert [(w.pull, w.arm, w.index) for w in result.waiting] == [(first.id, first.arm, 0)]
    assert first.id in str(result)
    assert result.to_dict()["waiting"] == [{"pull": first.id, "arm": first.arm, "index": 0}]
    assert all(arm.low is None and arm.status == "undecided" for arm in result.arms)
    assert study.ask(3) == []
    assert not study.is_stopped
    assert not study.check()
    study.tell(first, 0.1)
    assert study.ask() == []
    assert study.is_stopped
    assert (study.result.held, study.result.waiting) == (0, ())


def test_identify_waits_for_a_slow_early_pull():
    import threading

    slow, calls = threading.Event(), []

    def pull(arm):
        calls.append(arm)
        if len(calls) == 1:
            slow.wait(60)
        return 0.9 if arm == "a" else 0.1

    seen = []

    def progress(study):
        if study._fold.plan() == []:
            seen.append(study.result)
            slow.set()

    result = bestk.identify("ab", pull, k=1, rewards=bestk.Gaussian(0.1), parallel=3,
                            progress=progress, seed=1)  # fmt: skip
    assert (result.certified, result.top) == (True, ("a",))
    assert seen[0].waiting[0].index == 0
    assert not seen[0].certified
    assert result.samples == len(calls) == seen[-1].samples + 1


# --- stops are looked at again --------------------------------------------------------------------


def finished(storage):
    study = Study("s", "abc", k=1, rewards=bestk.Gaussian(0.1), storage=storage, seed=1)
    while pulls := study.ask():
        study.tell(pulls[0], {"a": 0.9, "b": 0.5, "c": 0.1}[pulls[0].arm])
    return list(storage.read("s"))


def test_a_stop_in_the_log_is_not_just_believed():
    events = finished(Log())
    assert events[-1].kind == ev.STOPPED
    early = Event(ev.STOPPED, "", 0, 0.0, "[0]")
    for forged in (
        [*events[:-1], events[-1]._replace(data="[2]")],  # another answer
        [*events[:9], early, *events[9:-1]],  # too soon
    ):
        storage = Log()
        storage.append("s", forged)
        study = Study("s", storage=storage)
        assert not study.result.certified
        assert study.ask() == []  # it finds out by itself
        assert (study.result.certified, study.result.top) == (True, ("a",))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event(ev.TOLD, "nobody-1", -1, 0.5), "nobody asked for"),
        (Event(ev.FORGOTTEN, "nobody-1"), "nobody asked for"),
        (Event(ev.OBSERVED, "x", 7, 0.5), "no arm number 7"),
        (Event(ev.ASKED, "x", -2, 0.0, "+"), "no arm number -2"),
    ],
)
def test_a_log_that_cannot_be_is_refused(event, message):
    storage = Log()
    storage.append("s", [*finished(storage)[:5], event])
    events = list(storage.read("s"))
    broken = Log()
    broken.append("s", [*events[:5], event])
    with pytest.raises(StorageError, match=message):
        Study("s", storage=broken)
