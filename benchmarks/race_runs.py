"""How many runs of each of two commands does a race need: by medians, and by means with a cap?

Log-normal times, standard deviation 10% of the mean, delta 0.05; the same with heavy tails (one run
in twenty takes ten times as long), and with a slow first run of the faster command (five times as
long, and no warm-up). Means have the default cap, three times the slower command. Wanted, by
medians: at most 55, 18 and 10 at 10%, 20% and a factor of 2. Writes the table
of docs/race.md; `race_runs.py RACES` takes fewer races."""

import math
import sys

import numpy as np

import bestk

SLOWER = (1.02, 1.03, 1.05, 1.10, 1.20, 2.0)
SPREAD, DELTA, FACTOR = 0.1, 0.05, 3.0
SIGMA = math.sqrt(math.log(1 + SPREAD**2))
RACES = {1.02: 40, 1.03: 60}  # of the long ones; others have 200
WANTED = {1.10: 55, 1.20: 18, 2.0: 10}


class Times:
    """The times of two commands, in turn of each."""

    def __init__(self, slower, tails, slow_first, seed):
        self.rng, self.medians = np.random.default_rng(seed), (1.0, slower)
        self.tails, self.first = tails, slow_first

    def __call__(self, arm):
        time = self.medians[arm] * math.exp(SIGMA * self.rng.standard_normal())
        if self.tails and self.rng.random() < 0.05:
            time *= 10.0
        if self.first and arm == 0:
            time, self.first = 5.0 * time, False
        return time


def race(rewards, times, seed):
    """Runs of each, and whether the answer is wrong."""
    problem = bestk.Problem(bestk.TopK(2, 1), rewards, delta=DELTA, maximize=False)
    stepper = problem.stepper(seed)
    cap = getattr(rewards, "high", math.inf)
    answer = stepper.run(lambda arm: min(cap, times(arm)))
    return stepper.state.counts.sum() / 2, list(answer) != [0]


def cell(slower, rewards, races, tails=False, slow_first=False):
    found = [race(rewards, Times(slower, tails, slow_first, seed), seed) for seed in range(races)]
    runs = np.array([runs for runs, _ in found])
    low, high = np.percentile(runs, [5, 95])
    wrong = sum(is_wrong for _, is_wrong in found)
    return runs.mean(), f"{runs.mean():,.0f} ({low:,.0f} to {high:,.0f})", wrong


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| slower by | medians | heavy tails | slow first run | means, capped |")
    print("|---|---|---|---|---|")
    missed, wrong, total = [], 0, 0
    for slower in SLOWER:
        races = min(most, RACES.get(slower, most))
        median, mean = bestk.Quantile(0.5), bestk.Bounded(0.0, FACTOR * slower)
        cells = [
            cell(slower, median, races),
            cell(slower, median, races, tails=True),
            cell(slower, median, races, slow_first=True),
            cell(slower, mean, races),
        ]
        missed += [slower for runs, _, _ in cells[:3] if runs > WANTED.get(slower, math.inf)]
        wrong, total = wrong + sum(w for _, _, w in cells), total + 4 * races
        name = "a factor of 2" if slower == 2.0 else f"{slower - 1:.0%}"
        print(f"| {name} | {' | '.join(text for _, text, _ in cells)} |", flush=True)
    print(f"{wrong} of {total:,} races wrong; missed: {missed or 'nothing'}")


main()
