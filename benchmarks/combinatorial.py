"""How fast is combinatorial pure exploration?

Wanted with about 100 arms: compiled classes at least 300,000 decisions a second; with a Python
oracle at most 30 microseconds of our own a decision, and in total at most 1.5 times the oracle's
own time if the oracle takes more than 200 microseconds.
"""

import time

import numpy as np

import bestk
from bestk.simulation import generate, structured


def speed(instance, policy, variant, **more):
    result = bestk.simulate(instance, policy, variant, runs=10, jobs=1, max_samples=10**5, **more)
    return result.samples.sum() / result.seconds


def timed_oracle(n, pause):
    """The single best arm, found in no less than `pause` seconds; and how long it has taken."""
    spent = [0.0]

    def best(weights):
        start = time.perf_counter()
        answer = np.zeros(n, np.bool_)
        answer[weights.argmax()] = True
        while time.perf_counter() - start < pause:
            pass
        spent[0] += time.perf_counter() - start
        return answer

    return bestk.Oracle(n, best), spent


def two_way_grid(rows, columns):
    corners = {(r, c) for r in range(rows) for c in range(columns)}
    return [
        ((r, c), (r + down, c + right))
        for r, c in sorted(corners)
        for down, right in ((0, 1), (1, 0))
        if (r + down, c + right) in corners
    ]


def compiled():
    rng = np.random.default_rng(1)
    for decision, text in (("spanning-tree", "bipartite:10x10"), ("path", "grid:8x7")):
        found = generate(text, decision, 0.5, True)
        yield f"{decision} {text}", structured(found.decision, found.means), 0.0
    groups = bestk.PartitionMatroid([i % 10 for i in range(100)], [3] * 10)
    yield "partition", structured(groups, rng.uniform(0, 1, 100)), 0.5
    sets = [sorted(rng.choice(100, 10, replace=False)) for _ in range(100)]
    yield "explicit", structured(bestk.ExplicitSets(sets, 100), rng.uniform(0, 1, 100)), 0.3
    streets = two_way_grid(7, 8)
    roads = bestk.Path(streets, (0, 0), (6, 7), directed=False)
    costs = rng.uniform(1, 3, len(streets))
    yield "path with cycles", structured(roads, costs, maximize=False), 0.5


def main():
    for name, instance, epsilon in compiled():
        for policy, variant in (("lil-clucb", "heuristic"), ("clucb", None)):
            rate = speed(instance, policy, variant, epsilon=epsilon)
            print(
                f"{name}, {instance.decision.n_arms} arms, {policy}: {rate / 1e3:,.0f} thousand"
                f" decisions a second = {rate / 3e5:.1f} times what is wanted"
            )
    means = np.where(np.arange(100) == 0, 1.0, 0.0)
    for pause in (0.0, 200e-6):
        oracle, spent = timed_oracle(100, pause)
        instance = structured(oracle, means)
        spent[0] = 0.0
        result = bestk.simulate(
            instance, "lil-clucb", "heuristic", runs=2, jobs=1, max_samples=3000
        )
        own = (result.seconds - spent[0]) / result.samples.sum()
        print(
            f"Python oracle, 100 arms, {pause * 1e6:.0f} microseconds a call: {own * 1e6:.0f}"
            f" microseconds of our own a decision (wanted: 30), in total"
            f" {result.seconds / spent[0]:.2f} times the oracle"
        )


main()
