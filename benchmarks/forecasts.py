"""How good are forecasts of the pulls that remain, and the early warning of a run?

A forecast comes with an interval that is meant to hold what remains in four studies of five. Its
constants (`study/forecast.py`) are quantiles of studies with means drawn at random (`fit`). How
often it covers is measured on studies of other kinds (`cover`), by the part of the study that was
over when the forecast was made. `advice` looks at what is said early (`study/advice.py`): whether
a run that is told that its budget is far off would have needed more. Delta 0.05 throughout.
"""

import argparse
import math
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

os.environ.setdefault("BESTK_COMPILE", "now")

import bestk
from bestk import Bernoulli, Bounded, Gaussian, Problem, TopK
from bestk.kernels import finite
from bestk.kernels.types import SEEN
from bestk.study.advice import Adviser
from bestk.study.forecast import forecast, usual
from bestk.study.intervals import intervals

sys.path.insert(0, str(Path(__file__).parent))
from evaluation import item_response

DELTA, MOST = 0.05, 60_000  # samples of a study that is cut short: it would take too long here
STEP = 1.3  # of the samples at two forecasts in a row
EACH = (10, 30, 100, 300)  # samples of an arm, on average, by which coverage is shown
FAMILIES = (Gaussian(0.5), Gaussian(0.1), Bernoulli(), Bounded())


def rewarded(means, rewards, dice):
    """Draws rewards of arms with these means."""

    def draw(_, arm):
        if isinstance(rewards, Gaussian):
            return dice.normal(means[arm], rewards.sigma)
        if isinstance(rewards, Bernoulli):
            return float(dice.random() < means[arm])
        return dice.beta(6 * means[arm], 6 - 6 * means[arm])

    return draw


def at_random(run):
    """A problem to fit by: arms, K, slack and family drawn, means drawn from around 0.5."""
    dice = np.random.default_rng((1, run))
    n = int(2 * 12 ** dice.random())
    k, rewards = int(dice.integers(1, max(2, n // 2))), FAMILIES[dice.integers(len(FAMILIES))]
    spread, epsilon = 0.4 * 4.0 ** -dice.random(), float(dice.choice([0.0, 0.03, 0.1]))
    means = dice.uniform(0.5 - spread, 0.5 + spread, n)
    gap = np.sort(means)[-k] - np.sort(means)[-k - 1]
    if run % 5 == 4:  # an evaluation
        items = int(dice.integers(100, 600))
        table = (dice.random((n, items)) < means[:, None]).astype(float)
        return Problem(TopK(n, k), Bounded(), DELTA, epsilon, items=items), scored(table)
    if gap + epsilon < 0.03:
        means[np.argsort(-means)[:k]] += 0.05
    return Problem(TopK(n, k), rewards, DELTA, epsilon), rewarded(means, rewards, dice)


def scored(table):
    """Scores of a table, in the orders of the policy's own state."""
    return lambda stepper, arm: table[arm, finite.place(stepper.state, stepper.spec, arm)]


KINDS = {  # means, K, slack, rewards: to test by
    "two coins, 0.55 and 0.45": ([0.55, 0.45], 1, 0.0, Bernoulli()),
    "two normal arms, gap 0.1": ([0.5, 0.4], 1, 0.0, Gaussian(0.5)),
    "1-sparse, 30 normal arms": ([0.5] + [0.25] * 29, 1, 0.0, Gaussian(0.5)),
    "staircase of 10 coins, K = 3": (np.linspace(0.75, 0.3, 10), 3, 0.0, Bernoulli()),
    "50 ratings alike but 5": ([0.7] * 5 + [0.55] * 45, 5, 0.0, Bounded()),
    "12 coins, epsilon = 0.1": ([0.6] * 3 + [0.58] * 9, 3, 0.1, Bernoulli()),
    "2 of 6, lil-rand-lucb": ([0.8, 0.7, 0.4, 0.4, 0.3, 0.2], 2, 0.0, Gaussian(0.5)),
    "evaluation, 50 x 500": (None, 5, 0.02, Bounded()),
}


def of_kind(name, run):
    """One study of a kind."""
    means, k, epsilon, rewards = KINDS[name]
    dice = np.random.default_rng((2, run))
    if means is None:
        problem = Problem(TopK(50, k), rewards, DELTA, epsilon, items=500)
        return problem, scored(item_response(50, 500, 100 + run))
    policy = "lil-rand-lucb" if "lil" in name else None
    problem = Problem(TopK(len(means), k), rewards, DELTA, epsilon, policy)
    return problem, rewarded(means, rewards, dice)


def forecasts(problem, draw, seed):
    """Samples, forecast and what remained, at samples that grow by STEP; none if cut short."""
    stepper, due, samples, found = problem.stepper(seed), 0.0, 0, []
    n_arms = problem.decision.n_arms
    while (arms := stepper.ask()) and samples < MOST:
        for arm in arms:
            stepper.tell(arm, draw(stepper, arm))
        samples += len(arms)
        if stepper.state.clock[SEEN] == n_arms and samples >= max(due, 3 * n_arms):
            due = STEP * samples
            ends = intervals(stepper.machine)
            found.append((samples, forecast(stepper.state, stepper.spec, problem, *ends)))
    if samples >= MOST:
        return []
    return [(at, left, samples - at) for at, left in found if left is not None]


def quantiles(values, weights):
    """Of weighted values."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return " ".join(f"{values[order][np.searchsorted(share, q)]:.2f}" for q in (0.1, 0.5, 0.9))


def fit(runs):
    """Quantiles of what remained, by forecast over samples; every study weighs the same."""
    bins = defaultdict(list)
    for run in range(runs):
        found = forecasts(*at_random(run), run)
        for at, left, remained in found:
            place = min(6, max(-3, round(math.log2(max(left, 1) / at))))
            bins[place].append((remained / max(left, 1), remained / at, 1 / len(found)))
    print("| forecast / samples | remained / forecast: 10%, 50%, 90% | remained / samples |")
    print("|---|---|---|")
    for place in sorted(bins):
        of_forecast, of_samples, weights = np.array(bins[place]).T
        found = quantiles(of_forecast, weights), quantiles(of_samples, weights)
        print(f"| {2.0**place:g} | {found[0]} | {found[1]} |")


def cover(runs):
    """How often the interval holds what remained, by the samples that there were."""
    heads = [f"3 to {EACH[0]}", *(f"to {n}" for n in EACH[1:]), "more", "all", "below", "above"]
    print("| studies | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    every = []
    for name in KINDS:
        hits = []
        for run in range(runs):
            problem, draw = of_kind(name, run)
            spec = problem.configure(0).spec
            for at, left, remained in forecasts(problem, draw, run):
                low, high = usual(left, spec, at)
                hits.append((at / spec.n_arms, remained < low, remained > high))
        print(f"| {name} | {by_samples(hits)} |", flush=True)
        every += hits
    print(f"| all | {by_samples(every)} |")


def by_samples(hits):
    """Percentages of (samples of an arm, whether less remained, whether more did)."""
    each, below, above = np.array(hits).T
    place, holds = np.searchsorted(EACH, each), 1 - below - above
    parts = [holds[place == i] for i in range(len(EACH) + 1)]
    return " | ".join(
        f"{100 * one.mean():.0f}%" if one.size > 20 else "-"
        for one in (*parts, holds, below, above)
    )


FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 8)  # of what a study needs: its budgets
TIE = ([0.5, 0.5, 0.3], 1, 0.0, Bernoulli())  # never certain; for so many samples
TIED_FOR = 5_000


def advice(runs):
    """Whether what is said early comes true, with budgets and without."""
    told, early, right = dict.fromkeys(FACTORS, 0), 0, 0
    kinds = {name: kind for name, kind in KINDS.items() if kind[0] is not None}
    for name, kind in kinds.items():
        policy = "lil-rand-lucb" if "lil" in name else None
        for run in range(runs):
            total, _ = followed(kind, policy, run, [], MOST)
            budgets = [round(factor * total) for factor in FACTORS]
            _, said = followed(kind, policy, run, [*budgets, None], MOST)
            *said, unasked = said
            for factor, at in zip(FACTORS, said, strict=True):
                told[factor] += at is not None
            early += unasked is not None
            right += unasked is not None and total > 10 * unasked
    studies = runs * len(kinds)
    print("| budget, of what the study needs | told that it is far off |\n|---|---|")
    for factor, many in told.items():
        print(f"| {factor:g} | {100 * many / studies:.0f}% |")
    print(f"of {studies} studies without a budget {early} were told, {right} of them rightly:")
    print("they needed more than ten times the samples that they had then.")
    ties = [followed(TIE, None, run, [None], TIED_FOR)[1][0] for run in range(runs)]
    when = [at for at in ties if at is not None]
    print(
        f"of {runs} studies with a tie {len(when)} were told, after {np.median(when):,.0f} samples"
    )


def followed(kind, policy, run, budgets, most):
    """Samples of a study, and by budget after how many it was told something (None: never)."""
    means, k, epsilon, rewards = kind
    draw = rewarded(means, rewards, np.random.default_rng((3, run)))
    study = bestk.Study(
        "s", range(len(means)), k=k, delta=DELTA, epsilon=epsilon, rewards=rewards, policy=policy,
        seed=run,
    )  # fmt: skip
    advisers, said = [Adviser(study, budget) for budget in budgets], [None] * len(budgets)
    while study.samples < most and (pulls := study.ask()):
        study.tell(pulls[0], draw(None, pulls[0].arm))
        for i, (budget, adviser) in enumerate(zip(budgets, advisers, strict=True)):
            if (budget is None or study.samples < budget) and adviser.look() is not None:
                said[i] = study.samples
    return study.samples, said


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("fit", "cover", "advice"))
    parser.add_argument("--runs", type=int, help="studies; of every kind for cover and advice")
    given = parser.parse_args()
    {"fit": fit, "cover": cover, "advice": advice}[given.what](
        given.runs or {"fit": 300, "cover": 40, "advice": 10}[given.what]
    )
