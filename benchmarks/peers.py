"""Other packages on the same coins: samples, decisions per second and wrong answers.

    pip install 'bestk[peers]'; python benchmarks/peers.py [--runs 20]

The best of ten coins, delta 0.05. A package that is not installed, or cannot be imported, is
skipped with a line. The table seen is in docs/peers.md. A decision is a sample asked for: packages
that sample two arms at a time make two.
"""

import argparse
import contextlib
import importlib
import io
import time

import numpy as np

import bestk

CHANCES, DELTA, SEED = np.array([0.8, *[0.5] * 9]), 0.05, 1
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


def pyprs(_):
    importlib.import_module("PyPRS.Procedures.KT")
    raise ImportError("its procedures run in a cluster of ray and take a sampler from a file")


PEERS = {
    "best-arm, LUCB1": best_arm(("lucb1", "LUCB1")),
    "best-arm, top two (EB, TC)": best_arm(
        ("top_two", "TopTwoBAI"), beta=0.5, leader_type="EB", challenger_type="TC"
    ),
    "pymab, successive elimination": pymab,
    "anchor-exp, KL-LUCB": anchor,
    "PyPRS": pyprs,
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


def line(name, samples, wrong, seconds, runs):
    sem = samples.std(ddof=1) / np.sqrt(runs)
    rate = samples.sum() / seconds
    print(f"| {name} | {samples.mean():,.0f} ± {sem:,.0f} | {wrong} of {runs} | {rate:,.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    print("| | samples | wrong | decisions per second |\n|---|---|---|---|")
    for name in OURS:
        found = bestk.simulate(
            CHANCES, name, k=1, delta=DELTA, runs=runs, rewards=bestk.Bernoulli(), jobs=1
        )
        line(f"bestk, {name}", found.samples, found.wrong, found.seconds, runs)
    for name, play in PEERS.items():
        try:
            line(name, *measured(play, runs), runs)
        except Exception as error:  # whatever somebody else's package raises
            print(f"| {name} | skipped: {type(error).__name__}: {error} | | |")


if __name__ == "__main__":
    main()
