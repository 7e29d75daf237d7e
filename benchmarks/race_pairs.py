"""Does it take fewer runs to compare commands within blocks (`bestk race --by pairs`)? What does
drift that all commands share do to either rule?

Two commands, log-normal times, standard deviation 10% of the mean, delta 0.05. Drift multiplies the
times of a block: `wave`, by up to 30% either way with a period of 40 blocks; `walk`, a random walk
of 5% a block; `warming`, 50% more in the end, half of it within 20 blocks. Without drift also heavy
tails (one run in twenty takes ten times as long) and a slow first run (of the faster command, five
times as long, and no warm-up). Races by medians run one command after the other as e-lucb asks,
half a block each. A race that has not ended after MOST runs of each is cut off. Writes the table of
docs/race.md; `race_pairs.py RACES` takes fewer races."""

import math
import sys

import numpy as np

import bestk
from bestk.commands.pairs import Pairs

SLOWER = (1.02, 1.05, 1.10, 1.20, 2.0)
SPREAD, DELTA = 0.1, 0.05
SIGMA = math.sqrt(math.log(1 + SPREAD**2))
RACES = {1.02: 40}  # of the long ones
MOST = 4000


def no_drift(_rng):
    return lambda _block: 0.0


def wave(rng):
    phase = rng.random()
    return lambda block: math.log1p(0.3 * math.sin(2 * math.pi * (block / 40 + phase)))


def walk(rng):
    steps = np.cumsum(0.05 * rng.standard_normal(2 * MOST))
    return lambda block: steps[int(block)]


def warming(_rng):
    return lambda block: math.log1p(0.5 * (1 - 2 ** (-block / 20)))


DRIFTS = {
    "none": no_drift, "heavy tails": no_drift, "slow first run": no_drift,
    "wave": wave, "walk": walk, "warming": warming,
}  # fmt: skip


class Times:
    """Logarithms of the times of two commands."""

    def __init__(self, slower, drift, seed):
        self.rng, self.medians = np.random.default_rng(seed), (0.0, math.log(slower))
        self.level, self.has_tails = DRIFTS[drift](self.rng), drift == "heavy tails"
        self.is_slow = drift == "slow first run"

    def __call__(self, arm, block):
        time = self.medians[arm] + self.level(block) + SIGMA * self.rng.standard_normal()
        if self.has_tails and self.rng.random() < 0.05:
            time += math.log(10.0)
        if self.is_slow and arm == 0:
            time, self.is_slow = time + math.log(5.0), False
        return time


def by_medians(slower, drift, seed):
    """Runs of each, and whether the answer is wrong; None if there is none."""
    times, done = Times(slower, drift, seed), 0
    problem = bestk.Problem(bestk.TopK(2, 1), bestk.Quantile(), delta=DELTA, maximize=False)
    stepper = problem.stepper(seed)
    while done < 2 * MOST:
        arms = stepper.ask()
        if not arms:
            return done / 2, list(stepper.answer()) != [0]
        for arm in arms:
            done += 1
            stepper.tell(arm, math.exp(times(arm, done / 2)))
    return MOST, None


def by_pairs(slower, drift, seed):
    times, rule = Times(slower, drift, seed), Pairs(2, 1, DELTA)
    for block in range(MOST):
        rule.tell({arm: times(arm, block) for arm in (0, 1)})
        if rule.is_over:
            return block + 1, rule.inside != {0}
    return MOST, None


def cell(rule, slower, drift, races):
    found = [rule(slower, drift, seed) for seed in range(races)]
    runs = np.array([many for many, _ in found])
    low, high = np.percentile(runs, [5, 95])
    wrong, unfinished = sum(w is True for _, w in found), sum(w is None for _, w in found)
    said = [f"{wrong} wrong"] * bool(wrong) + [f"{unfinished} cut off"] * bool(unfinished)
    return "; ".join([f"{runs.mean():,.0f} ({low:,.0f} to {high:,.0f})", *said])


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| drift | slower by | medians | pairs |\n|---|---|---|---|")
    for drift in DRIFTS:
        for slower in SLOWER:
            races = min(most, RACES.get(slower, most))
            name = "a factor of 2" if slower == 2.0 else f"{slower - 1:.0%}"
            cells = [cell(rule, slower, drift, races) for rule in (by_medians, by_pairs)]
            print(f"| {drift} | {name} | {' | '.join(cells)} |", flush=True)


main()
