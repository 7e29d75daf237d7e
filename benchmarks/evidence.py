"""How fast is e-lucb, and what does its hybrid stop cost?

Whole runs at N=1000 on one core, simulated rewards included. Wanted: 1.5 million decisions a second
for normal rewards, 500,000 for coins, 300,000 for ratings of three levels; and with the hybrid stop
a run takes at most twice as long as with the split stop alone, measured in turns.
"""

import numpy as np

import bestk

N, K, ROUNDS = 1000, 5, 3


def cases():
    means = np.where(np.arange(N) < K, 0.75, 0.5)
    counts = np.where(np.arange(N)[:, None] < K, [25, 30, 45], [50, 30, 20])
    yield "normal", bestk.make_instance(means=means, k=K), bestk.Gaussian(), 10, 1.5e6
    yield "coins", bestk.make_instance(means=means, k=K), bestk.Bernoulli(), 6, 5e5
    yield "ratings", bestk.replay(counts, k=K), bestk.Ratings((0, 0.5, 1)), 4, 3e5


def main():
    for label, instance, rewards, runs, wanted in cases():
        speed, ratio = [], []
        for _ in range(ROUNDS):
            hybrid, split = (
                bestk.simulate(
                    instance, "e-lucb", params={"independent": independent}, rewards=rewards,
                    delta=0.05, runs=runs, jobs=1,
                )
                for independent in (True, False)
            )  # fmt: skip
            speed.append(hybrid.samples.sum() / hybrid.seconds)
            ratio.append(hybrid.seconds / split.seconds)
        print(
            f"{label:8s} {np.median(speed):12,.0f} decisions a second (wanted {wanted:,.0f});"
            f" a run takes {np.median(ratio):.2f} times one with the split stop (wanted: 2)"
        )


main()
