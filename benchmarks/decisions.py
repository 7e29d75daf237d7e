"""How many decisions a second, what is one worth in Gaussian draws, and is it more than before?

Heuristic lil-rand-lucb on 1-sparse, N=1000, K=2, on one core, simulated rewards included. Wanted:
at least 5 million a second. The reference is one Gaussian draw of the same generator.

`--against FOLDER` compares every policy with another version of bestk, whose `src` folder that is:
both run the same simulations in turns. Its kernels are kept in a cache of their own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("BESTK_COMPILE", "now")  # or short simulations run interpreted in part

import bestk
from bestk.compiled import programs
from bestk.kernels import rng
from bestk.kernels.types import GAUSSIAN, World
from bestk.policies import CATALOGUE

DRAWS = 5_000_000
TURNS = 5
SLOW = ("e-lucb", "e-clucb")  # of which fewer runs are played
WORKER = """
import sys, bestk
from bestk.policies import CATALOGUE
for line in sys.stdin:
    name, variant, k, runs = line.split()
    if name not in CATALOGUE:
        print(0.0, 1, flush=True)
        continue
    result = bestk.simulate("1-sparse", name, None if variant == "-" else variant,
                            arms=1000, k=int(k), runs=int(runs), jobs=1)
    print(result.seconds, int(result.samples.sum()), flush=True)
"""


def draws(world, values):
    for i in range(values.shape[0]):
        values[i] = rng.draw(world, 1, 0, i & 1023, i)


def seconds_per_draw():
    programs.KINDS["draws"] = (draws,)
    loaded = programs.Program("draws", programs.Axes()).acquire()
    world, values = World(GAUSSIAN, np.zeros(1024), 0.5), np.zeros(DRAWS)
    start = time.perf_counter()
    loaded.code["draws"](loaded.lean(world), values)
    return (time.perf_counter() - start) / DRAWS


def simulations():
    """What is simulated: a policy, its variant, K and the number of runs."""
    for name, policy in CATALOGUE.items():
        if policy.is_python:
            continue
        variant = "heuristic" if policy.variants else "-"
        yield name, variant, 1 if policy.single else 2, 2 if name in SLOW else 20


def alone():
    pairs = []
    for _ in range(TURNS):  # alternate, so that a slow moment hits both
        result = bestk.simulate(
            "1-sparse", "lil-rand-lucb", "heuristic", arms=1000, k=2, runs=100, jobs=1
        )
        pairs.append((result.seconds / result.samples.sum(), seconds_per_draw()))
    decision, gaussian = (float(np.median(column)) for column in zip(*pairs, strict=True))
    print(f"lil-rand-lucb, N=1000: {1e-6 / decision:.2f} million decisions a second (wanted: 5)")
    print(f"one decision = {decision / gaussian:.1f} Gaussian draws of {gaussian * 1e9:.1f} ns")
    print("other policies, time per sample relative to that:")
    for name, variant, k, runs in simulations():
        chosen = None if variant == "-" else variant
        result = bestk.simulate("1-sparse", name, chosen, arms=1000, k=k, runs=runs, jobs=1)
        print(f"  {name:14s} {result.seconds / result.samples.sum() / decision:5.2f}")


def started(source, cache):
    """A process that simulates with the bestk of that folder."""
    environment = {**os.environ, "PYTHONPATH": source, "BESTK_CACHE_DIR": cache}
    return subprocess.Popen(
        [sys.executable, "-c", WORKER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


def measured(worker, simulation):
    """Seconds per sample."""
    worker.stdin.write(" ".join(map(str, simulation)) + "\n")
    worker.stdin.flush()
    seconds, samples = worker.stdout.readline().split()
    return float(seconds) / int(samples), int(samples)


def against(folder, cache):
    workers = started(str(Path(bestk.__file__).parents[1]), cache), started(folder, cache)
    for simulation in simulations():
        first = [measured(worker, (*simulation[:3], 1)) for worker in workers]  # compiles
        if first[1][0] == 0.0:
            print(f"  {simulation[0]:14s} not there before")
            continue
        turns = [[measured(worker, simulation) for worker in workers] for _ in range(TURNS)]
        ours, theirs = (np.median([turn[i][0] for turn in turns]) for i in range(2))
        same = "same samples" if turns[0][0][1] == turns[0][1][1] else "other samples"
        print(f"  {simulation[0]:14s} {1e-6 / ours:6.2f} million a second, {1e-6 / theirs:6.2f}"
              f" before: {theirs / ours:.2f} times as fast, {same}")  # fmt: skip


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--against", metavar="FOLDER", help="the src folder of another version")
    options.add_argument("--cache", help="where to keep the compiled kernels of both")
    given = options.parse_args()
    if given.against is None:
        alone()
        return
    with tempfile.TemporaryDirectory() as empty:
        against(given.against, given.cache or empty)


main()
