"""Rewards that users draw themselves, and families of instances that they register."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bestk
from bestk.simulation import families
from helpers.command import bestk as command
from helpers.command import good


class Coin:
    def __init__(self, mean):
        self.mean = mean

    def __call__(self, rng, size):
        return rng.random(size) < self.mean


def coins(*means, **options):
    return bestk.custom([Coin(mean) for mean in means], means, **({"k": 1} | options))


EASY = (0.95, 0.3, 0.1)
SETTING = {"delta": 0.2, "runs": 30, "rewards": bestk.Bernoulli()}


@pytest.fixture
def _families(monkeypatch):
    monkeypatch.setattr(families, "REGISTERED", {})


def test_drawn_coins_cost_what_simulated_coins_cost():
    own, ours = bestk.simulate(coins(*EASY), **SETTING), bestk.simulate(EASY, k=1, **SETTING)
    assert abs(own.mean - ours.mean) < 5 * np.hypot(own.sem, ours.sem)
    assert (own.wrong, own.unfinished, own.lower_bound) == (0, 0, None)


def test_results_do_not_depend_on_who_plays_the_runs():
    setting = {**SETTING, "runs": 4}
    alone = bestk.simulate(coins(*EASY), **setting)
    assert len(set(alone.samples.tolist())) > 1
    with ThreadPoolExecutor(2) as executor:
        spread = bestk.simulate(coins(*EASY), jobs=2, executor=executor, **setting)
    assert spread.samples.tolist() == alone.samples.tolist()


def test_they_minimise_and_answer_any_class():
    found = bestk.simulate(coins(*EASY, maximize=False), **SETTING)
    assert found.wrong == 0
    tree = bestk.SpanningTree([(0, 1), (1, 2), (0, 2)])
    made = coins(*EASY, k=None, decision=tree)
    assert bestk.simulate(made, **{**SETTING, "runs": 3}).wrong == 0


def test_the_assumption_of_the_instance_is_the_default():
    made = coins(*EASY, rewards=bestk.Bernoulli())
    assert bestk.simulate(made, delta=0.2, runs=1).problem.rewards == bestk.Bernoulli()
    other = bestk.simulate(made, delta=0.2, runs=1, rewards=bestk.Bounded())
    assert other.problem.rewards == bestk.Bounded()


@pytest.mark.parametrize(
    ("draw", "mean", "rewards", "message"),
    [
        (Coin(0.5), 0.7, bestk.Bernoulli(), "arm 1 .* too far from 0.7"),
        (lambda rng, n: rng.normal(0.2, 1, n), 0.2, bestk.Gaussian(0.5), "sigma 0.5 .* arm 1"),
        (lambda rng, n: rng.uniform(0, 1.1, n), 0.55, bestk.Bounded(), r"arm 1 .*\[0.0, 1.0\]"),
        (lambda rng, n: rng.random(n), 0.5, bestk.Bernoulli(), "arm 1 .* 0 or 1"),
        (lambda rng, n: rng.random(n + 1), 0.5, bestk.Bounded(), "1000 finite"),
        (lambda rng, n: rng.random(n) / 0, 0.5, bestk.Bounded(), "1000 finite numbers, not inf"),
        (
            lambda rng, n: rng.normal(5, 0.5, n),
            0.0,
            bestk.Quantile(),
            "above it, too many for its m",
        ),
        (lambda rng, n: rng.normal(0, 0.5, n), 0.9, bestk.Quantile(0.9), "its 0.9-quantile"),
        (lambda _, n: ["a"] * n, 0.5, bestk.Bounded(), "1000 finite"),
        (lambda rng, n: rng.nothing(n), 0.5, bestk.Bounded(), "AttributeError"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_draws_that_break_the_assumption_are_refused_before_the_first_run(
    draw, mean, rewards, message
):
    made = bestk.custom([Coin(0.9), draw], [0.9, mean], k=1)
    if isinstance(rewards, bestk.Gaussian | bestk.Quantile):
        made = bestk.custom([lambda rng, n: rng.normal(0.9, 0.5, n), draw], [0.9, mean], k=1)
    with pytest.raises(bestk.InputError, match=message):
        bestk.simulate(made, runs=1, rewards=rewards)


def test_a_reward_that_breaks_the_assumption_later_is_refused_too():
    def late(rng, size):
        return rng.random(size) if size == 1000 else np.full(size, 1.5)

    made = bestk.custom([late, Coin(0.9)], [0.5, 0.9], k=1, rewards=bestk.Bounded())
    with pytest.raises(bestk.InputError, match=r"arm 0 were refused: reward 1.5"):
        bestk.simulate(made, runs=1)


@pytest.mark.parametrize(
    ("draws", "means", "options", "message"),
    [
        ([Coin(0.1)], [0.1, 0.2], {"k": 1}, "1 draws were refused"),
        ([Coin(0.1), 3], [0.1, 0.2], {"k": 1}, "arm 1"),
        (Coin(0.1), [0.1, 0.2], {"k": 1}, "a list"),
        ([Coin(0.1)] * 2, [0.1, 0.2], {}, "either k"),
        ([Coin(0.1)] * 2, [0.1, np.nan], {"k": 1}, "not finite"),
        ([Coin(0.1)] * 2, [0.1, 0.2], {"k": 1, "rewards": "bounded"}, "assumption"),
    ],
)
def test_what_makes_no_instance_is_refused(draws, means, options, message):
    with pytest.raises(bestk.InputError, match=message):
        bestk.custom(draws, means, **options)


def test_what_another_process_cannot_import_stays_here():
    here = type("Here", (Coin,), {"__module__": "__main__"})
    made = bestk.custom([here(0.9), here(0.1)], EASY[::2], k=1)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made)
    assert bestk.simulate(made, jobs=2, delta=0.2, runs=2, max_samples=9).runs == 2


# --- families -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_families")
def test_a_family_is_known_by_its_name_and_given_what_was_named():
    @bestk.register_instance("coins")
    def made(arms=3, k=1):
        return coins(0.95, *[0.2] * (arms - 1), k=k, rewards=bestk.Bernoulli())

    assert bestk.make_instance("coins").means.tolist() == [0.95, 0.2, 0.2]
    assert made(arms=2).name == "custom"
    found = bestk.simulate("coins", arms=4, delta=0.2, runs=2)
    assert (found.instance.name, found.instance.decision.n_arms) == ("coins", 4)
    with pytest.raises(bestk.InputError, match="takes arms, k"):
        bestk.make_instance("coins", alpha=0.3)
    with pytest.raises(bestk.InputError, match="maximize=False was refused"):
        bestk.make_instance("coins", maximize=False)
    with pytest.raises(bestk.InputError, match="did you mean 'coins'"):
        bestk.make_instance("coin", k=1)


@pytest.mark.usefixtures("_families")
def test_a_family_without_a_good_name_or_maker_is_refused():
    for name, maker, message in (
        ("1-sparse", coins, "bestk's own"),
        ("a b", coins, "letters"),
        ("coins", 3, "maker"),
    ):
        with pytest.raises(bestk.InputError, match=message):
            bestk.register_instance(name, maker)
    bestk.register_instance("odd", lambda: 3)
    with pytest.raises(bestk.InputError, match="returned 3"):
        bestk.make_instance("odd")
    bestk.register_instance("odd", lambda k: 1 / (k - 1))
    with pytest.raises(bestk.InputError, match="'odd' was refused: its maker failed with ZeroD"):
        bestk.make_instance("odd", k=1)


@pytest.mark.usefixtures("_families")
def test_an_installed_family_is_loaded_when_it_is_asked_for(monkeypatch):
    class Point:
        name, value = "installed", "package:maker"

        def __init__(self, found):
            self.found = found

        def load(self):
            if self.found is None:
                raise ImportError("gone")
            return self.found

    monkeypatch.setattr(families, "entry_points", lambda **_: [Point(lambda: coins(*EASY))])
    assert bestk.make_instance("installed").means.tolist() == list(EASY)
    families.REGISTERED.clear()
    monkeypatch.setattr(families, "entry_points", lambda **_: [Point(None)])
    with pytest.raises(bestk.InputError, match="cannot be loaded: ImportError: gone"):
        bestk.make_instance("installed")


FILE = """
import bestk

@bestk.register_instance("steep")
def steep(arms=3, k=1):
    draws = [lambda rng, size, top=top: rng.random(size) < top for top in (0.95, 0.2, 0.1)]
    return bestk.custom(draws, [0.95, 0.2, 0.1], k=k, rewards=bestk.Bernoulli())
"""


@pytest.mark.usefixtures("_families")
def test_the_command_line_knows_what_a_file_registers(tmp_path):
    path = tmp_path / "steep_instances.py"
    path.write_text(FILE)
    shown = good("--load", path, "simulate", "--instance", "steep", "--runs", "2", "--delta", "0.2")
    assert "steep, N=3, K=1" in shown
    assert "bernoulli" in shown
    done = command("simulate", "--instance", "stepp", "--k", "1")
    assert "did you mean 'steep'" in done.stderr
