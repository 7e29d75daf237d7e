"""How many decisions a second, and what is one worth in Gaussian draws?

Heuristic lil-rand-lucb on 1-sparse, N=1000, K=2, on one core, simulated rewards included. Wanted:
at least 5 million a second. The reference is one Gaussian draw of the same generator.
"""

import time

import numpy as np

import bestk
from bestk.compiled import programs
from bestk.kernels import rng
from bestk.kernels.types import GAUSSIAN, World
from bestk.policies import CATALOGUE

DRAWS = 5_000_000


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


def main():
    pairs = []
    for _ in range(5):  # alternate, so that a slow moment hits both
        result = bestk.simulate(
            "1-sparse", "lil-rand-lucb", "heuristic", arms=1000, k=2, runs=100, jobs=1
        )
        pairs.append((result.seconds / result.samples.sum(), seconds_per_draw()))
    decision, gaussian = (float(np.median(column)) for column in zip(*pairs, strict=True))
    print(f"lil-rand-lucb, N=1000: {1e-6 / decision:.2f} million decisions a second (wanted: 5)")
    print(f"one decision = {decision / gaussian:.1f} Gaussian draws of {gaussian * 1e9:.1f} ns")
    print("other policies, time per sample relative to that:")
    for name, policy in CATALOGUE.items():
        variant = "heuristic" if policy.variants else None
        k = 1 if policy.single else 2
        result = bestk.simulate("1-sparse", name, variant, arms=1000, k=k, runs=20, jobs=1)
        print(f"  {name:14s} {result.seconds / result.samples.sum() / decision:5.2f}")


main()
