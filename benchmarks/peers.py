"""Other packages on the same coins: samples, decisions per second and wrong answers.

    pip install 'bestk[peers]'; python benchmarks/peers.py [--runs 20] [--passes 3]

The best of ten coins, delta 0.05. A package that is not installed, or cannot be imported, is
skipped with a line. The table seen is in docs/peers.md. A decision is a sample asked for: packages
that sample two arms at a time make two. All are run in turns, and the fastest pass of each counts.
"""

import argparse
import contextlib
import importlib
import io
import time
from functools import partial

import numpy as np

import bestk

CHANCES, DELTA, SEED = np.array([0.8, *[0.5] * 9]), 0.05, 1
GAP = 0.3  # between the best coin and the others; only PyPRS is told
MOST = 200_000  # samples of a run, of packages that can be stopped


class Coins:
    """The ten coins, counted; what best-arm calls an environment."""

    num_arms = len(CHANCES)
    probs = CHANCES.tolist()

    def __init__(self, seed):
        self.rng, self.samples = np.random.default_rng(seed), 0

    def sample(self, arm):
        self.samples += 1
        return float(self.rng.random() < CHANCES[arm])


def best_arm(name, **options):
    def play(seed):
        package = importlib.import_module("best_arm.algorithms." + name[0])
        stops = importlib.import_module("best_arm.stopping_conditions")
        coins = Coins(seed)
        stop = stops.ChernoffStoppingCondition(mode="theory")
        np.random.seed(seed)
        algorithm = getattr(package, name[1])(
            env=coins, confidence=DELTA, stopping_condition=stop, **options
        )
        return coins.samples, lambda: (int(algorithm.run()[0]), coins.samples)

    return play


def pymab(seed):
    policies = importlib.import_module("pymab.policies.pure_exploration")
    coins, policy = Coins(seed), policies.SuccessiveEliminationPolicy(n_arms=10, delta=DELTA)

    def run():
        rng = np.random.default_rng(seed)
        while np.sum(policy.active) > 1 and coins.samples < MOST:
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=coins.sample(arm))
        return int(policy.best_arm), coins.samples

    return 0, run


def anchor(seed):
    beam = importlib.import_module("anchor.anchor_base").AnchorBaseBeam
    coins = Coins(seed)
    arms = [lambda n, a=a: sum(coins.sample(a) for _ in range(n)) for a in range(10)]
    seen = {"n_samples": [0] * 10, "positives": [0] * 10}

    def run():
        return int(beam.lucb(arms, seen, 0.0, DELTA, 1, 1)[0]), coins.samples

    return 0, run


class Flip:
    """A coin as PyPRS calls it, in a process of ray: with arguments and a seed."""

    def __init__(self, seed, arm):
        self.rng, self.chance = np.random.default_rng([seed, arm]), CHANCES[arm]

    def __call__(self, *_):
        return float(self.rng.random() < self.chance)


def pyprs(seed):
    """Knockout tournament on one core; it is told the gap, as the zone of indifference."""
    procedure = importlib.import_module("PyPRS.Procedures.KT").KT
    alternative = importlib.import_module("PyPRS.SampleGen.SampleGenerate").SampleGenerate
    settings = {"alpha": DELTA, "delta": GAP, "n0": 20, "g": len(CHANCES)}
    settings |= {"Number of Processors": 1, "Reference Seed": [seed, 1, 1], "CRNs": False}

    def run(seed=seed):
        arms = [alternative(Flip(seed, arm)) for arm in range(len(CHANCES))]
        for number, arm in enumerate(arms):
            arm.set_args([number])
        found = procedure(arms, settings, 1)[-1]
        return found["Best Alternative"][0], found["Total Sample Size"]

    ray = importlib.import_module("ray")
    if not ray.is_initialized():
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        run(0)  # starts the process of ray, which is not to be measured
    return 0, run


PEERS = {
    "best-arm, LUCB1": best_arm(("lucb1", "LUCB1")),
    "best-arm, top two (EB, TC)": best_arm(
        ("top_two", "TopTwoBAI"), beta=0.5, leader_type="EB", challenger_type="TC"
    ),
    "pymab, successive elimination": pymab,
    "anchor-exp, KL-LUCB": anchor,
    "PyPRS, knockout tournament (KN)": pyprs,
}
OURS = ("e-lucb", "lucb", "kl-lucb", "eb-tc", "kl-racing", "successive-elimination")


def measured(play, runs):
    samples, wrong, seconds = [], 0, 0.0
    for seed in range(SEED, SEED + runs):
        _, run = play(seed)
        started = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            answer, many = run()
        seconds += time.perf_counter() - started
        samples.append(many)
        wrong += answer != 0
    return np.array(samples), wrong, seconds


def ours(name):
    def measure(runs):
        found = bestk.simulate(
            CHANCES, name, k=1, delta=DELTA, runs=runs, rewards=bestk.Bernoulli(), jobs=1
        )
        return found.samples, found.wrong, found.seconds

    return measure


def line(name, samples, wrong, seconds, runs):
    sem = samples.std(ddof=1) / np.sqrt(runs)
    rate = samples.sum() / seconds
    return f"| {name} | {samples.mean():,.0f} ± {sem:,.0f} | {wrong} of {runs} | {rate:,.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--passes", type=int, default=3)
    given = parser.parse_args()
    todo = {f"bestk, {name}": ours(name) for name in OURS}
    todo |= {name: partial(measured, play) for name, play in PEERS.items()}
    seen, skipped = {}, {}
    for _ in range(given.passes):  # in turns: a slow moment of the machine is nobody's
        for name in [name for name in todo if name not in skipped]:
            try:
                found = todo[name](given.runs)
            except Exception as error:  # whatever somebody else's package raises
                skipped[name] = f"| {name} | skipped: {type(error).__name__}: {error} | | |"
                continue
            seen[name] = min(seen.get(name, found), found, key=lambda each: each[2])
    print("| | samples | wrong | decisions per second |\n|---|---|---|---|")
    for name in todo:
        print(skipped.get(name) or line(name, *seen[name], given.runs))


if __name__ == "__main__":
    main()
