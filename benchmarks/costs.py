"""What does it save to say what pulls cost (`costs=`)? Arms that cost 1 and 10, delta 0.05.

Every run is played twice on the same rewards, with costs and without; the saving is one less the
ratio of mean costs, with a 95% interval over runs (delta method). Prints the table of
docs/e-lucb.md, "Costs", and counts wrong answers. Five minutes.
"""

import argparse
import math
import os
import sys
from pathlib import Path

import numpy as np

os.environ.setdefault("BESTK_COMPILE", "now")

from bestk import Bernoulli, Bounded, Gaussian, Problem, TopK
from bestk.kernels import finite

sys.path.insert(0, str(Path(__file__).parent))
from evaluation import item_response

SEED, DELTA = 7, 0.05
CHEAP, DEAR = 1.0, 10.0


def staircase(n, k):
    """The K best at 0.5 and down in equal steps to 0.1 after a gap of 0.1; ten and more arms."""
    return np.concatenate([np.full(k, 0.5), np.linspace(0.4, 0.1, n - k)])


CASES = (  # name, means, K, rewards, runs
    ("two normal arms", np.array([0.5, 0.4]), 1, Gaussian(0.5), 200),
    ("two coins", np.array([0.5, 0.4]), 1, Bernoulli(), 200),
    ("10 normal arms, K = 1", staircase(10, 1), 1, Gaussian(0.5), 100),
    ("10 coins, K = 3", staircase(10, 3), 3, Bernoulli(), 100),
    ("100 normal arms, K = 5", staircase(100, 5), 5, Gaussian(0.5), 40),
)
TABLES = (  # arms, items, K, epsilon, runs
    (50, 500, 5, 0.02, 20),
    (100, 1000, 5, 0.02, 10),
)
WHO = ("the K best", "the others", "a random half")


def who_is_dear(means, k, who, generator):
    """What a sample of each arm costs, in one run."""
    n = len(means)
    if who == WHO[2]:
        return generator.permutation(np.where(np.arange(n) < n // 2, CHEAP, DEAR))
    top = np.isin(np.arange(n), np.argsort(-means, kind="stable")[:k])
    return np.where(top == (who == WHO[0]), DEAR, CHEAP)


def played(problem, draw, seed):
    """Samples of every arm until it stops, and the answer; draw(stepper, arm) is a reward."""
    stepper = problem.stepper(seed)
    while arms := stepper.ask():
        for arm in arms:
            stepper.tell(arm, draw(stepper, arm))
    return stepper.state.counts.copy(), stepper.tested()


def sampled(means, rewards, run):
    """Rewards by arm and number: the same for every policy."""
    streams = [np.random.default_rng((SEED, run, arm)) for arm in range(len(means))]

    def draw(_, arm):
        if isinstance(rewards, Gaussian):
            return streams[arm].normal(means[arm], rewards.sigma)
        return float(streams[arm].random() < means[arm])

    return draw


def scored(table):
    """Scores of a table, in the orders of the policy's own state."""

    def draw(stepper, arm):
        return table[arm, finite.place(stepper.state, stepper.spec, arm)]

    return draw


def row(name, means, k, epsilon, who, runs, play):
    """A row of the table; play(costs, run) is samples of every arm and the answer."""
    cost, wrong = np.zeros((2, runs)), 0
    generator = np.random.default_rng(SEED)
    for run in range(runs):
        costs = who_is_dear(means, k, who, generator)
        for heed, given in enumerate((None, tuple(costs))):
            counts, answer = play(given, run)
            cost[heed, run] = counts @ costs
            wrong += means[answer].min() < np.sort(means)[-k] - epsilon
    without, with_costs = cost.mean(axis=1)
    ratio = with_costs / without
    spread = np.std(cost[1] - ratio * cost[0], ddof=1) / without / math.sqrt(runs)
    low, high = 100 * (1 - ratio - 1.96 * spread), 100 * (1 - ratio + 1.96 * spread)
    print(
        f"| {name} | {who} | {without:,.0f} | {with_costs:,.0f} | {100 * (1 - ratio):.0f}%"
        f" [{low:.0f}, {high:.0f}] | {wrong} of {2 * runs} |",
        flush=True,
    )


def of_samples(name, means, k, rewards, who, runs):
    """Samples of arms with these means."""

    def play(costs, run):
        problem = Problem(TopK(len(means), k), rewards, DELTA, costs=costs)
        return played(problem, sampled(means, rewards, run), run)

    row(name, means, k, 0.0, who, runs, play)


def of_tables(n_arms, n_items, k, epsilon, runs, who):
    """Evaluations on a table of item response."""
    table = item_response(n_arms, n_items)

    def play(costs, run):
        decision = TopK(n_arms, k)
        problem = Problem(decision, Bounded(), DELTA, epsilon, items=n_items, costs=costs)
        return played(problem, scored(table), run)

    name = f"evaluation, {n_arms} x {n_items}, K = {k}"
    row(name, table.mean(axis=1), k, epsilon, who, runs, play)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the runs")
    share = parser.parse_args().share
    print("| arms | dear | cost without `costs=` | with | saved | wrong |")
    print("|---|---|---|---|---|---|")
    for name, means, k, rewards, runs in CASES:
        for who in WHO[: min(len(means), 3)]:
            of_samples(name, means, k, rewards, who, max(2, round(share * runs)))
    for *table, runs in TABLES:
        for who in WHO:
            of_tables(*table, max(2, round(share * runs)), who)
