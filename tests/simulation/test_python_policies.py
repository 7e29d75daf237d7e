"""Policies in Python are simulated on the same rewards as compiled ones, wherever they run."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bestk
from bestk.cli import console
from bestk.kernels import rng
from bestk.policies import Parameter, register
from bestk.policies.driving import policy_generator
from bestk.report.figures import budgets as budget_figures
from bestk.report.figures import comparison as figures
from bestk.simulation import Comparison, batch, distribution
from bestk.simulation.shares import wilson
from bestk.simulation.streams import FIRST, MOST, Stream
from helpers.command import good
from helpers.python_policies import Coins, registered

EASY = (0.9, 0.5, 0.1)


@pytest.fixture(autouse=True)
def _policies():
    with registered():
        yield


@pytest.mark.parametrize("rewards", [bestk.Gaussian(0.3), bestk.Bernoulli()])
@pytest.mark.parametrize("maximize", [True, False])
def test_pseudocode_in_python_takes_the_very_samples_of_the_kernels(rewards, maximize):
    setting = {"k": 1, "delta": 0.1, "runs": 6, "rewards": rewards, "maximize": maximize}
    own = bestk.simulate(EASY, "own-lucb", **setting)
    ours = bestk.simulate(EASY, "lucb", **setting)
    for name in ("samples", "top_samples", "finished", "right"):
        assert getattr(own, name).tolist() == getattr(ours, name).tolist(), name


def test_so_it_does_on_replayed_data():
    counts = np.array([[1, 0, 9], [5, 1, 4], [9, 1, 0]])
    setting = {"delta": 0.1, "runs": 6, "rewards": bestk.Ratings([0, 0.5, 1])}
    instance = bestk.replay(counts, k=1)
    own, ours = (bestk.simulate(instance, name, **setting) for name in ("own-lucb", "lucb"))
    assert own.samples.tolist() == ours.samples.tolist()


@pytest.mark.parametrize("instance", [bestk.make_instance(means=EASY, k=1)])
def test_streams_are_the_draws_of_kernels_across_the_ends_of_blocks(instance):
    world, many = instance.world(bestk.Gaussian()), 2 * MOST + 3
    stream = Stream(world, 5, 3, None)
    for arm in (2, 0):
        drawn = [stream.take(arm) for _ in range(many if arm else 2 * FIRST)]
        for n in (0, FIRST - 1, FIRST, 2 * FIRST - 1, *((MOST, many - 1) if arm else ())):
            assert drawn[n] == rng.draw(world, 5, 3, arm, n)


def test_results_do_not_depend_on_jobs_executors_or_other_runs(monkeypatch):
    setting = {"k": 2, "runs": 5, "params": {"rounds": 6}}
    alone = bestk.simulate(EASY, "coins", **setting)
    assert len(set(alone.top_samples.tolist())) > 1  # its coins differ from run to run
    monkeypatch.setattr(distribution, "MOMENT", -1.0)
    processes = bestk.simulate(EASY, "coins", jobs=2, **setting)
    with ThreadPoolExecutor(2) as executor:
        threads = bestk.simulate(EASY, "coins", jobs=2, executor=executor, **setting)
    fewer = bestk.simulate(EASY, "coins", **{**setting, "runs": 3})
    for other in (processes, threads):
        assert other.top_samples.tolist() == alone.top_samples.tolist()
        assert other.right.tolist() == alone.right.tolist()
    assert fewer.top_samples.tolist() == alone.top_samples.tolist()[:3]


def test_the_generator_of_a_run_is_a_function_of_seed_and_run():
    first = policy_generator(1, 2).random(4).tolist()
    assert policy_generator(1, 2).random(4).tolist() == first
    assert policy_generator(1, 3).random(4).tolist() != first
    assert policy_generator(2, 2).random(4).tolist() != first


def test_its_claim_is_the_authors_and_nothing_is_ours():
    found = bestk.simulate(EASY, "own-lucb", k=1, runs=2)
    data = found.to_dict()
    assert (data["guarantee"], data["claim"]) == (None, found.claim)
    assert "its author claims: error <= delta" in str(found)
    assert "no claim" in str(bestk.simulate(EASY, "coins", k=1, runs=2))
    assert bestk.simulate(EASY, "lucb", k=1, runs=2).to_dict()["claim"] is None


def test_its_claim_is_about_its_own_stop_and_not_about_a_budget():
    cut = bestk.simulate(EASY, "own-lucb", k=1, runs=2, budget=20)
    assert (cut.guarantee, cut.claim) == (None, None)
    assert "nothing proved at a budget" in str(cut)
    assert "nothing proved at a budget" in str(bestk.simulate(EASY, "sar", k=1, runs=2, budget=20))


def test_its_parameters_reach_it_with_their_defaults():
    assert bestk.simulate(EASY, "coins", k=1, runs=2).samples.tolist() == [12, 12]
    more = bestk.simulate(EASY, "coins", k=1, runs=2, params={"rounds": "5"})
    assert more.samples.tolist() == [15, 15]
    assert more.to_dict()["params"]["rounds"] == 5


class CountsDown(Coins):
    """Counts its rounds in the parameters it was given."""

    def ask(self):
        self.rounds = self.problem.params["rounds"]
        self.problem.params["rounds"] -= 1
        return super().ask()


def test_what_it_does_to_its_parameters_is_of_no_consequence_to_other_runs():
    register("counts-down", CountsDown, parameters=[Parameter("rounds", 4, "how many")])
    found = bestk.simulate(EASY, "counts-down", k=1, runs=3)
    assert found.samples.tolist() == [12, 12, 12]
    assert found.to_dict()["params"]["rounds"] == 4
    study = bestk.Study("s", EASY, k=1, policy="counts-down", seed=1)
    while pulls := study.ask():
        study.tell(pulls[0], 0.5)
    assert study.result.samples == 12
    assert study.problem.configure(1).params["rounds"] == 4


def test_it_answers_combinatorial_classes():
    tree = bestk.SpanningTree([(0, 1), (1, 2), (0, 2)])
    setting = {"decision": tree, "runs": 20, "rewards": bestk.Gaussian(0.01)}
    found = bestk.simulate(EASY, "coins", params={"rounds": 9}, **setting)
    assert (found.wrong, found.unfinished) == (0, 0)


def test_a_run_that_is_cut_off_is_unfinished():
    found = bestk.simulate(EASY, "own-lucb", k=1, runs=3, max_samples=4)
    assert found.samples.tolist() == [4, 4, 4]
    assert (found.unfinished, found.wrong) == (3, 0)


class Endless:
    """Samples the first arm and the second in turns, and never stops."""

    def start(self, problem, rng):
        pass

    def ask(self):
        return [0, 1, 2]

    def tell(self, arm, reward):
        pass

    def answer(self):
        return [0]


def test_a_run_that_takes_long_is_warned_of_once_with_the_way_to_cap_it(monkeypatch):
    register("endless", Endless)
    monkeypatch.setattr(batch, "LONG", -1.0)
    with pytest.warns(UserWarning, match=r"endless has not stopped .*max_samples") as noted:
        bestk.simulate(EASY, "endless", k=1, runs=1, max_samples=60)
    assert len(noted) == 1
    monkeypatch.setattr(console, "note", (said := []).append)
    setting = ("--means", "0.9,0.5,0.1", "--k", "1", "--runs", "3", "--max-samples", "60")
    good("simulate", "--policy", "endless", *setting)
    assert len(said) == 1
    assert "warning: policy endless" in said[0]


def test_a_round_without_a_length_is_refused_by_name():
    register("cycle", type("Cycle", (Endless,), {"ask": lambda _: itertools.cycle(range(3))}))
    with pytest.raises(bestk.PolicyError, match=r"policy cycle asked for .*a sequence"):
        bestk.simulate(EASY, "cycle", k=1, runs=1)


def test_plans_take_policies_in_python():
    setting = {"k": 1, "runs": 4, "delta": 0.1, "rewards": bestk.Gaussian(0.2)}
    plan = bestk.plan(EASY, policies=["own-lucb"], **setting)
    assert plan.to_dict()["policies"][0]["policy"] == "own-lucb"


# --- comparisons ----------------------------------------------------------------------------------


def test_a_comparison_mixes_both_kinds_in_one_table_with_paired_ratios(tmp_path):
    figure, runs = tmp_path / "compared.svg", tmp_path / "runs.csv"
    setting = ("--means", "0.9,0.5,0.1", "--k", "1", "--runs", "4", "--sigma", "0.3")
    both = ("--policy", "lucb", "--policy", "own-lucb")
    shown = good("simulate", *both, *setting, "--csv", runs, "--plot", figure)
    assert "1.000 [1.000, 1.000]" in shown  # paired: run by run the same samples
    assert "author's claim" in shown
    assert len(runs.read_text().splitlines()) == 1 + 2 * 4
    assert figure.read_text().startswith("<?xml")


def test_the_figure_names_the_authors_claim_and_counts_wrong_answers(tmp_path, monkeypatch):
    pyplot, kept = figures.load_matplotlib(), []
    monkeypatch.setattr(pyplot, "close", kept.append)
    named = (("e-lucb", None), ("own-lucb", None), ("coins", None), ("lucb++", "heuristic"))
    found = [bestk.simulate([0.9, 0.1], *each, k=1, runs=3) for each in named]
    figures.save(Comparison(tuple(found)), tmp_path / "compared.svg")
    labels = [line.get_label() for line in kept[0].axes[0].get_lines()][:4]
    monkeypatch.undo()
    pyplot.close(kept[0])
    wrong = found[2].wrong
    assert [label.split(", ", 1)[1] for label in labels] == [
        "0 wrong", "0 wrong, its author's claim", f"{wrong} wrong, nothing proved",
        "0 wrong, nothing proved",
    ]  # fmt: skip


# --- budgets --------------------------------------------------------------------------------------


def test_a_run_that_ends_by_its_budget_has_finished_and_its_answer_counts():
    close = (0.52, 0.5, 0.48)
    for name in ("own-lucb", "lucb", "e-lucb", "even-split"):
        found = bestk.simulate(close, name, k=1, runs=40, budget=9)
        assert found.samples.tolist() == [9] * 40, name
        assert (found.unfinished, found.budget, found.guarantee) == (0, 9, None)
        assert 0 < found.wrong < 40, name


def test_shares_of_wrong_answers_have_wilsons_intervals():
    # as scipy.stats.binomtest has them
    assert wilson(0, 100) == (0.0, pytest.approx(0.036993, abs=1e-6))
    assert wilson(16, 100) == pytest.approx((0.100953, 0.244203), abs=1e-6)
    assert wilson(84, 100) == pytest.approx((1 - 0.244203, 1 - 0.100953), abs=1e-6)
    assert wilson(1, 1)[1] == 1.0
    found = bestk.simulate(EASY, "even-split", k=1, runs=10, budget=300)
    assert found.to_dict()["wrong_ci"] == list(wilson(found.wrong, 10))


def test_the_figure_of_budgets_draws_no_wrong_answer_at_the_end_of_its_interval():
    axes = budget_figures.load_matplotlib().figure().subplots()
    budget_figures.draw(axes, [10, 20], {"sar": [30, 0]}, 100)
    drawn, hollow = (bars.lines[0] for bars in axes.containers)
    assert drawn.get_xydata().tolist() == [[10.0, 0.3]]
    assert hollow.get_xydata().tolist() == [[20.0, wilson(0, 100)[1]]]
    assert hollow.get_markerfacecolor() == "white"


def test_a_budget_that_cannot_be_kept_is_refused():
    for name in ("lucb", "own-lucb"):
        with pytest.raises(bestk.InputError, match="each of the 3 arms"):
            bestk.simulate(EASY, name, k=1, runs=2, budget=2)
    with pytest.raises(bestk.InputError, match="max_samples"):
        bestk.simulate(EASY, "lucb", k=1, runs=2, budget=9, max_samples=9)
    with pytest.raises(bestk.InputError, match="another one"):
        bestk.simulate(EASY, "even-split", k=1, budget=9, params={"budget": 6})
