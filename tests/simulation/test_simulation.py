"""The engine: reproducible, independent of threads, honest about what it did not finish."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import bestk
from bestk.errors import InputError, TiedMeansWarning
from bestk.policies import CATALOGUE

pytestmark = pytest.mark.compiled  # threads share the work of compiled kernels only

ANY = [
    (name, variant)
    for name, policy in CATALOGUE.items()
    if not policy.is_python
    for variant in policy.variants or (None,)
]


def run(policy="lil-rand-lucb", variant="heuristic", **more):
    settings = {"k": 2, "arms": 20, "runs": 12, "seed": 3} | more
    return bestk.simulate("1-sparse", policy, variant, **settings)


@pytest.mark.parametrize(("policy", "variant"), ANY)
def test_the_number_of_jobs_and_a_second_call_change_nothing(policy, variant):
    k = 1 if CATALOGUE[policy].single else 3
    one, two, again = (run(policy, variant, k=k, jobs=jobs) for jobs in (1, 2, 1))
    for name in ("samples", "top_samples", "finished", "right"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert one.unfinished == 0


def test_another_seed_gives_other_numbers():
    assert list(run(seed=3).samples) != list(run(seed=4).samples)


def test_more_runs_begin_with_the_same_runs():
    np.testing.assert_array_equal(run(runs=12).samples, run(runs=40).samples[:12])


@pytest.mark.parametrize("arms", [10, 60])
@pytest.mark.parametrize("instance", [("1-sparse", None), ("exponential", 0.3)])
def test_lucb_plus_plus_and_lil_lucb_coincide_at_half(arms, instance):
    # the same delta for both: the heuristic one; levels delta/(2 N/2) and delta/N are then equal
    name, alpha = instance
    one, two = (
        bestk.simulate(name, policy, "heuristic", arms=arms, k="N/2", alpha=alpha, runs=50)
        for policy in ("lucb++", "lil-lucb")
    )
    np.testing.assert_array_equal(one.samples, two.samples)
    np.testing.assert_array_equal(one.top_samples, two.top_samples)


def test_the_rule_both_with_split_levels_is_lucb_plus_plus():
    np.testing.assert_array_equal(
        run("lil-rand-lucb", params={"rule": "both"}).samples, run("lucb++").samples
    )
    both = {"rule": "both", "levels": "uniform"}
    np.testing.assert_array_equal(
        run("lil-rand-lucb", params=both).samples, run("lil-lucb").samples
    )


def test_policies_see_the_same_rewards():
    # of two arms both policies sample each once a round, so equal rewards give equal stops
    two = bestk.make_instance(k=1, means=[0.1, 0.0])
    a = bestk.simulate(two, "uniform", "heuristic", runs=20)
    b = bestk.simulate(two, "lil-lucb", "heuristic", runs=20)
    np.testing.assert_array_equal(a.samples, b.samples)


def test_a_run_that_reaches_the_cap_is_unfinished_and_never_right():
    result = run(max_samples=100)
    assert result.unfinished == result.runs
    assert not result.right.any()
    assert result.wrong == 0
    assert set(result.samples) == {100}
    early = run(max_samples=7)  # not even every arm once
    assert set(early.samples) == {7}
    assert early.unfinished == early.runs


def test_a_cap_beyond_the_need_changes_nothing():
    free = run()
    capped = run(max_samples=int(free.samples.max()) + 1)
    np.testing.assert_array_equal(capped.samples, free.samples)
    assert capped.unfinished == 0
    assert run(max_samples=int(free.samples.max())).unfinished == 1  # reached by one


def test_slack_saves_samples_and_answers_within_it():
    means = [0.5, 0.48, 0.46, 0.0]
    exact = bestk.simulate(means, "lil-rand-lucb", "heuristic", k=1, runs=20)
    slack = bestk.simulate(means, "lil-rand-lucb", "heuristic", k=1, runs=20, epsilon=0.1)
    assert slack.mean < exact.mean / 3
    assert slack.wrong == 0
    assert slack.lower_bound is None


def test_an_answer_within_the_slack_of_the_kth_mean_is_right_despite_rounding():
    # 0.9 - 0.2 is a little more than 0.7 in doubles
    result = bestk.simulate([0.9, 0.7], k=1, epsilon=0.2, runs=50, delta=0.4)
    assert result.wrong == 0


def test_bernoulli_rewards_are_simulated():
    result = bestk.simulate([0.9, 0.5, 0.4], k=1, rewards=bestk.Bernoulli(), runs=30)
    assert result.wrong == 0
    hard = bestk.difficulty([0.9, 0.5, 0.4], 1, delta=0.01, rewards=bestk.Bernoulli())
    assert result.lower_bound == pytest.approx(hard.lower_bound)
    losses = bestk.simulate(
        [0.1, 0.5, 0.6], k=1, rewards=bestk.Bernoulli(), runs=30, maximize=False
    )
    assert losses.wrong == 0
    assert losses.lower_bound == pytest.approx(hard.lower_bound)
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        bestk.simulate([1.2, 0.5], k=1, rewards=bestk.Bernoulli())


def test_a_tie_is_refused_without_a_cap_and_warned_of_with_one():
    tied = [1.0, 1.0, 0.0]
    with pytest.raises(InputError, match="no run can end"):
        bestk.simulate(tied, k=1)
    with pytest.warns(TiedMeansWarning):
        result = bestk.simulate(tied, k=1, max_samples=5000, runs=5)
    assert result.unfinished == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bestk.simulate(tied, k=1, epsilon=0.2, runs=5)
        bestk.simulate(tied, k=2, runs=5)
        assert bestk.simulate(tied, "sar", k=1, budget=100, runs=5).unfinished == 0


def test_the_json_record_has_every_field_and_only_finite_numbers():
    result = run(runs=1)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert ",".join(data) == (
        "policy,variant,params,instance,alpha,arms,items,k,decision,rewards,sigma,delta,epsilon,runs,"
        "seed,max_samples,samples,wrong,wrong_ci,unfinished,guarantee,claim,budget,lower_bound,"
        "seconds,steps_per_second"
    )
    assert ",".join(data["samples"]) == "mean,sem,median,p95,min,max"
    assert data["guarantee"] is None
    assert run(variant="faithful").to_dict()["guarantee"] == 0.01


def test_the_lower_bound_is_the_closed_form_on_1_sparse():
    # T* = (2 sigma^2 / gap^2) (sqrt K + sqrt(N-K))^2, times kl(0.01, 0.99)
    expected = 0.98 * np.log(99) * 2.0 * (2**0.5 + 18**0.5) ** 2
    assert run().lower_bound == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"delta": 0.0}, r"\(0, 1\)"),
        ({"delta": 1.0}, r"\(0, 1\)"),
        ({"delta": float("nan")}, r"\(0, 1\)"),
        ({"epsilon": -0.1}, "slack"),
        ({"policy": "lil-rand-lucp"}, "did you mean 'lil-rand-lucb'"),
        ({"policy": "lil-ucb"}, "K must be 1"),
        ({"policy": "lil-ucb", "k": 1, "epsilon": 0.1}, "cannot use a slack"),
        ({"policy": "lucb"}, "no variants"),
        ({"variant": "heuristics"}, "did you mean 'heuristic'"),
        ({"params": {"weights": 1}}, "it has levels, rule, eps"),
        ({"params": {"rule": "randomly"}}, "did you mean 'random'"),
        ({"params": {"eps": 0.1}}, "heuristic variant is eps = 0"),
        ({"variant": "faithful", "params": {"eps": "x"}}, "expects a number"),
        ({"rewards": bestk.Bounded()}, "how to draw"),
        ({"runs": 0}, "at least 1"),
        ({"jobs": 0}, "at least 1"),
        ({"max_samples": 0}, "at least 1"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"runs": 2.5}, "integer"),
        ({"delta": "a"}, "delta"),
        ({"epsilon": float("inf")}, "slack"),
        ({"alpha": 0.3}, "has none"),
    ],
)
def test_bad_settings_are_refused_with_the_reason(wrong, message):
    with pytest.raises(InputError, match=message):
        run(**wrong)


def test_bad_means_are_refused():
    with pytest.raises(InputError, match="not finite"):
        bestk.simulate([0.1, float("nan")], k=1)
    with pytest.raises(InputError, match="numbers"):
        bestk.simulate([0.1, "x"], k=1)
    with pytest.raises(InputError, match="at least 2"):
        bestk.simulate([0.1], k=1)
    with pytest.raises(InputError, match="k is missing"):
        bestk.simulate([0.1, 0.2])


def test_progress_counts_every_run():
    seen = []
    run(runs=37, jobs=2, progress=seen.append)
    assert sum(seen) == 37


def test_an_error_in_the_progress_callback_stops_the_kernels():
    def fail(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(runs=1000, progress=fail)


INTERRUPTED = """
import random, signal, time
from concurrent.futures import ThreadPoolExecutor
from bestk.simulation.spreading import spread

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
with ThreadPoolExecutor(2) as pool:
    for _ in range(1000):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 5e-4))
            spread(pool, lambda block: time.sleep(1e-3), [range(1)] * 16, id)
        except KeyboardInterrupt:
            pass
    print(spread(pool, len, [range(2), range(3)], id))
"""


def test_interrupts_at_any_moment_leave_no_lock_behind():
    """The executor of a Dask cluster, and this pool at its end, wait for a lock forever."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[2, 3]\n", "")
