"""What do ask and tell cost, in memory, one observation at a time? Wanted: at most 20 microseconds
for lil-rand-lucb at N = 1000. Ratios are to one look for the largest of 1000 indices with numpy."""

import statistics
import time

import numpy as np

import bestk
from bestk.study import Study

ARMS, PULLS, ROUNDS = 1000, 5000, 7


def reference():
    """Seconds of `argmax(means + radii)`."""
    means, radii = np.random.default_rng(1).random((2, ARMS))
    begun = time.perf_counter()
    for _ in range(PULLS):
        int(np.argmax(means + radii))
    return (time.perf_counter() - begun) / PULLS


def drive(study, rewards):
    begun = time.perf_counter()
    for reward in rewards:
        (pull,) = study.ask()
        study.tell(pull, reward + pull.arm / (2 * ARMS))
    return (time.perf_counter() - begun) / len(rewards)


def main():
    dice = np.random.default_rng(2)
    scan = statistics.median(reference() for _ in range(ROUNDS))
    for policy, rewards in (
        ("lil-rand-lucb", bestk.Bounded()),
        ("lucb", bestk.Bounded()),
        ("e-lucb", bestk.SubGaussian()),
        ("e-lucb", bestk.Bounded()),
    ):
        study = Study("s", range(ARMS), k=10, policy=policy, rewards=rewards, seed=1)
        drive(study, (dice.random(3 * ARMS) / 2).tolist())
        times = [drive(study, (dice.random(PULLS) / 2).tolist()) for _ in range(ROUNDS)]
        took = statistics.median(times)
        print(
            f"{policy}, {rewards.name}: {took * 1e6:.1f} microseconds an observation"
            f" (least {min(times) * 1e6:.1f}), {took / scan:.1f} numpy scans"
        )


main()
