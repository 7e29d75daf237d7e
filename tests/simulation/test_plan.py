"""A plan: what it simulates, whom it blames, what slack saves."""

import json
import threading
import time

import numpy as np
import pytest

import bestk
from bestk.kernels import loop, rng
from bestk.report.figures import plan as plan_figure
from bestk.report.figures.drawing import STYLES
from bestk.simulation import planning, replay

MEANS = [0.3, 0.9, 0.6, 0.0, 0.7]  # of the best 2, arms 4 and 2 are at the boundary
QUIET = bestk.Gaussian(0.25)  # few samples: interpreted kernels do
pytestmark = pytest.mark.compiled
SMALL = {"k": 2, "delta": 0.1, "runs": 20, "policies": ["e-lucb"], "rewards": QUIET}


@pytest.fixture(scope="module")
def swept():
    """Two policies and the automatic sweep."""
    two = SMALL | {"policies": ["e-lucb", "lil-rand-lucb:heuristic"]}
    return bestk.plan(MEANS, **two, epsilons="auto")


def test_costs_are_those_that_simulate_finds(swept):
    heuristic = bestk.simulate(
        MEANS, "lil-rand-lucb", "heuristic", k=2, delta=0.1, rewards=QUIET, runs=20
    )
    assert swept.results[1].samples.tolist() == heuristic.samples.tolist()
    low, median, high = planning.spread(heuristic)
    assert (low, high) == (
        np.percentile(heuristic.samples, 5),
        np.percentile(heuristic.samples, 95),
    )
    assert median == np.median(heuristic.samples)


def test_shares_are_the_counts_of_the_same_runs(swept):
    # the reference: the same runs an observation at a time, from the world's own draws
    problem = bestk.Problem(bestk.TopK(5, 2), QUIET, delta=0.1)
    spec, world = problem.configure(1).spec, swept.instance.world(problem.rewards)
    counts = np.zeros(5)
    for run in range(20):
        stepper = problem.stepper(1)
        stepper.reset(run)
        own = np.zeros(5, np.int64)
        while asked := list(stepper.ask()):
            for arm in asked:
                stepper.tell(arm, rng.draw(world, spec.seed, run, arm, own[arm]))
                own[arm] += 1
        assert own.sum() == swept.results[0].samples[run]
        counts += own
    np.testing.assert_allclose(swept.shares, counts / counts.sum(), rtol=1e-12)


def test_the_arms_at_the_boundary_drive_the_cost(swept):
    assert set(swept.by_share[:2]) == {4, 2}
    assert swept.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(swept.gaps, [0.4, 0.3, 0.1, 0.7, 0.1])
    assert swept.gap == pytest.approx(0.1)
    assert swept.ranks.tolist() == [4, 1, 3, 5, 2]


def test_a_plan_depends_on_the_seed_alone(swept):
    def numbers(**more):
        return bestk.plan(MEANS, **SMALL, **more).to_dict()

    one = numbers(jobs=1)
    assert one == numbers(jobs=3)
    assert one["shares"] == swept.to_dict()["shares"]
    assert one["policies"][0]["samples"] != numbers(seed=2)["policies"][0]["samples"]


def test_slack_makes_it_cheaper(swept):
    assert [at.epsilon for at in swept.sweep] == [0, 0.025, 0.05, 0.1, 0.2, 0.4]
    medians = np.array([[planning.spread(r)[1] for r in at.results] for at in swept.sweep])
    assert (medians[-1] < medians[0] / 4).all()  # 25 times cheaper by the gaps, less by the logs
    assert swept.sweep[0] is swept.cost  # not simulated twice
    assert [at.lower_bound is None for at in swept.sweep] == [False] + 5 * [True]


def test_the_lower_bound_is_that_of_the_difficulty(swept):
    hard = bestk.difficulty(MEANS, 2, delta=0.1, rewards=QUIET)
    assert swept.lower_bound == pytest.approx(hard.lower_bound)
    assert swept.t_star == pytest.approx(hard.t_star)
    ratio = swept.cost.policies()[0]["ratio_to_lower_bound"]
    assert ratio == pytest.approx(swept.results[0].mean / hard.lower_bound)


def test_bernoulli_rewards_have_their_own_lower_bound_in_both_directions():
    coins = SMALL | {"rewards": bestk.Bernoulli(), "runs": 2}
    top = bestk.plan(MEANS, **coins)
    assert top.t_star == pytest.approx(bestk.difficulty(MEANS, 2, rewards=bestk.Bernoulli()).t_star)
    flipped = bestk.plan([1 - mean for mean in MEANS], **coins, maximize=False)
    assert flipped.t_star == pytest.approx(top.t_star)
    np.testing.assert_allclose(flipped.gaps, top.gaps)
    assert flipped.ranks.tolist() == top.ranks.tolist()


COUNTS = np.array([[1, 9], [5, 5], [9, 1]])
UNSOLVED = {
    "slack": (MEANS, {"epsilon": 0.1}, "slack"),
    "ties": ([1.0, 1.0, 0.0], {"k": 1, "max_samples": 100}, "tied"),
    "many arms": (np.r_[1.0, np.zeros(10**4)], {"k": 1, "runs": 1}, "10,000 arms"),
    "ratings": (replay(COUNTS, k=1), {"k": None, "rewards": bestk.Ratings((0, 1))}, "ratings"),
    "data": (replay(COUNTS, k=1), {"k": None, "rewards": bestk.SubGaussian(0.5)}, "drawn from"),
}


@pytest.mark.filterwarnings("ignore::bestk.errors.TiedMeansWarning")
@pytest.mark.parametrize("case", UNSOLVED)
def test_where_no_bound_is_solved_the_plan_says_why(case):
    instance, more, why = UNSOLVED[case]
    plan = bestk.plan(instance, **(SMALL | {"runs": 3} | more))
    assert plan.lower_bound is plan.t_star is None
    assert why in plan.unsolved
    assert why in str(plan)
    assert plan.to_dict()["policies"][0]["ratio_to_lower_bound"] is None


def test_the_dict_is_json_with_every_promised_key(swept):
    data = json.loads(json.dumps(swept.to_dict(), allow_nan=False))
    assert set(data) >= {
        "arms", "k", "delta", "epsilon", "rewards", "sigma", "instance", "lower_bound", "t_star",
        "gap", "policies", "shares", "sweep",
    }  # fmt: skip
    for entry in [*data["policies"], *data["sweep"][3]["policies"]]:
        assert list(entry) == [
            "policy", "variant", "guarantee", "samples", "wrong", "unfinished",
            "ratio_to_lower_bound",
        ]  # fmt: skip
        samples = entry["samples"]
        assert set(samples) == {"median", "p5", "p95", "mean", "sem"}
        assert samples["p5"] <= samples["median"] <= samples["p95"]
    assert [entry["guarantee"] for entry in data["policies"]] == [0.1, None]
    shares = data["shares"]
    assert [entry["share"] for entry in shares] == sorted(
        (entry["share"] for entry in shares), reverse=True
    )
    assert all(entry["mean"] == MEANS[entry["arm"]] for entry in shares)
    assert bestk.plan(MEANS, **SMALL).to_dict()["sweep"] is None


def test_gaps_beyond_all_numbers_are_null_in_json():
    data = bestk.plan([1e308, -1e308], **(SMALL | {"k": 1, "runs": 1})).to_dict()
    assert data["gap"] is None
    json.dumps(data, allow_nan=False)


def test_the_automatic_sweep_never_costs_more_than_was_asked_for():
    close = bestk.make_instance(k=1, means=[0.7000001, 0.7, 0.1])
    assert planning.sweep_slacks(close, 0.04) == [0.01, 0.02, 0.04, 0.08, 0.16]
    tied = bestk.make_instance(k=1, means=[1.0, 1.0, 0.0])
    assert planning.sweep_slacks(tied) == [0, 0.0625, 0.125, 0.25, 0.5, 1]
    with pytest.raises(bestk.InputError, match="name them"):
        planning.sweep_slacks(bestk.make_instance(k=1, means=[1.0, 1.0]))


def test_progress_counts_every_run():
    done = []
    bestk.plan(
        MEANS, **SMALL, epsilons=[0.2, 0.1, 0.2], progress=lambda *step: done.append(step[0])
    )
    assert sum(done) == planning.total_runs(["e-lucb"], 20, 0.0, [0.2, 0.1, 0.2])
    assert sum(done) == 3 * 20 + 20


def test_repeated_policies_and_slacks_are_simulated_once():
    plan = bestk.plan(MEANS, **(SMALL | {"policies": ["e-lucb", "e-lucb"]}), epsilons=[0.2, 0.2])
    assert len(plan.results) == 1
    assert [at.epsilon for at in plan.sweep] == [0.2]


BAD = {
    "tied": ({"instance": [1, 1, 0], "k": 1}, "give a slack"),
    "tied in the sweep": (
        {"instance": [1, 1, 0], "epsilon": 0.5, "epsilons": [0.0], "k": 1},
        "give a",
    ),
    "no k": ({"k": None}, "k is missing"),
    "no policies": ({"policies": []}, "none to simulate"),
    "fixed budget": ({"policies": ["uniform", "sar"]}, "costs the budget"),
    "unknown variant": ({"policies": ["uniform:wild"]}, "known are faithful"),
    "no slacks": ({"epsilons": []}, "none to sweep"),
    "bad slack": ({"epsilons": [-1.0]}, "epsilon=-1.0"),
    "odd text": ({"epsilons": "automatic"}, "'auto'"),
    "instance with k": ({"instance": bestk.make_instance(k=1, means=MEANS)}, "has its own"),
    "other class": (
        {"instance": bestk.structured(bestk.ExplicitSets([[0], [1]], 2), [1, 0]), "k": None},
        "K best",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_planned_is_refused_before_any_run(case):
    more, message = BAD[case]
    started = []
    with pytest.raises(bestk.InputError, match=message):
        bestk.plan(
            **({"instance": MEANS} | SMALL | more), progress=lambda *done: started.append(done)
        )
    assert not started


def test_an_interrupt_ends_the_share_runs_too(swept, monkeypatch):
    cancelled, begun = [], threading.Event()

    def play(*args):
        run, cancel = args[3], args[-1]
        if run == 0:  # ends by itself, the others when they are told to
            begun.wait()
            return
        begun.set()
        given_up = time.monotonic() + 120.0
        while not cancel[0] and time.monotonic() < given_up:
            time.sleep(0.001)
        cancelled.append(bool(cancel[0]))

    def interrupt(_done):
        raise KeyboardInterrupt

    monkeypatch.setenv("BESTK_COMPILE", "never")
    monkeypatch.setattr(loop, "play_many", play)
    with pytest.raises(KeyboardInterrupt):
        planning._shares(swept.results[0], 8, 2, interrupt)
    assert cancelled
    assert all(cancelled)


def test_the_figure_has_a_line_a_policy_and_marks_the_gap(swept, tmp_path, monkeypatch):
    pyplot = plan_figure.load_matplotlib()
    kept = []
    monkeypatch.setattr(pyplot, "close", kept.append)
    plan_figure.save(swept, tmp_path / "plan.svg")
    monkeypatch.undo()
    (axes,) = kept[0].axes
    first, second, gap = axes.get_lines()
    assert [line.get_label() for line in (first, second)] == [
        "e-lucb", "lil-rand-lucb (heuristic), nothing proved",
    ]  # fmt: skip
    assert first.get_xdata().tolist() == [at.epsilon for at in swept.sweep]
    assert first.get_ydata().tolist() == [planning.spread(at.results[0])[1] for at in swept.sweep]
    assert gap.get_xdata() == [swept.gap, swept.gap]
    assert axes.get_yscale() == "log"
    pyplot.close(kept[0])
    assert (tmp_path / "plan.svg").read_text().rstrip().endswith("</svg>")
    with pytest.raises(bestk.InputError, match="no sweep"):
        plan_figure.save(bestk.plan(MEANS, **(SMALL | {"runs": 1})), tmp_path / "none.png")


def test_every_policy_can_be_drawn():
    assert set(bestk.CATALOGUE) <= set(STYLES)
