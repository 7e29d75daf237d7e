"""How often is e-lucb wrong on hard instances? `make tables` rebuilds docs/error-rates-e-lucb.md.

At nu = 0.1, on instances chosen to hurt: few arms (where a union bound wastes little), many arms
with one gap, rewards near the ends of their range, variances that differ, slack.
"""

import sys
from pathlib import Path

import numpy as np

import bestk
from bestk.paper.statistics import proportion
from bestk.simulation import generate, structured

RUNS, NU, SEED, CAP = 20_000, 0.1, 7, 10**8


def table(*arms):
    """Replayed arms, each a list of rewards; shorter ones are filled up with nothing."""
    rows = np.full((len(arms), max(map(len, arms))), np.nan)
    for row, values in zip(rows, arms, strict=True):
        row[: len(values)] = values
    return rows


def coins(*means):
    return bestk.make_instance(means=means, k=1), bestk.Bernoulli(), 0.0


def normal(means, k, epsilon=0.0):
    return bestk.make_instance(means=means, k=k), bestk.Gaussian(), epsilon


STARS = np.array([[60, 25, 15], [60, 25, 15], [55, 25, 20], [70, 20, 10], [40, 20, 40]])
# means 0.5, 0.5, 0.62 with standard deviations 0.5, 0.05 and 0.3
UNLIKE = table([0, 1], [0.45, 0.55], [0.32, 0.92])
INSTANCES = {
    "two arms, gap 0.2": normal([0.2, 0.0], 1),
    "ten arms, K=3, equal gaps of 0.1": normal([0.1 * i for i in range(10)], 3),
    "ten arms, K=3, one gap of 0.3": normal([0.3] * 3 + [0.0] * 7, 3),
    "eight arms, K=4, one gap of 0.3": normal([0.3] * 4 + [0.0] * 4, 4),
    "coins near 0: 0.01, 0.01, 0.08": coins(0.01, 0.01, 0.08),
    "coins near 1: 0.92, 0.92, 0.99": coins(0.92, 0.92, 0.99),
    "ratings of three levels, K=1": (
        bestk.replay(STARS, k=1), bestk.Ratings((0, 0.5, 1)), 0.0,
    ),
    "bounded, standard deviations 0.5, 0.05, 0.3": (
        bestk.replay(UNLIKE, k=1), bestk.Bounded(), 0.0,
    ),
    "N=200, K=1, one gap of 0.5": normal([0.5] + [0.0] * 199, 1),
    "slack 0.1: 0.4, 0.25, 0.25, 0": normal([0.4, 0.25, 0.25, 0.0], 1, 0.1),
    "slack 0.1, a tie at the boundary": normal([0.5, 0.3, 0.3, 0.0], 2, 0.1),
}  # fmt: skip
TREE = bestk.SpanningTree([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)])
GROUPS = bestk.PartitionMatroid(list("aaabbbb"), {"a": 1, "b": 2})
SHAPES = (("path", "layered:2x2"), ("path", "grid:3x3"), ("matching", "bipartite:3x3"))
SETS = bestk.ExplicitSets([[0], [1, 2], [3, 4, 5]], 6)
ORACLE = bestk.Oracle(4, lambda weights: np.arange(4) == weights.argmax())
CLASSES = {
    "spanning tree of five edges": structured(TREE, [0.5, 0.5, 0.2, 0.5, 0.2]),
    "partition into three and four arms": structured(GROUPS, [0.3, 0, 0, 0.3, 0.3, 0, 0]),
    **{
        f"{decision} {text}, gap 0.5": structured(found.decision, found.means)
        for decision, text in SHAPES
        for found in [generate(text, decision, 0.5, True)]
    },
    "three explicit sets of sizes 1 to 3": structured(SETS, [0.9, 0.2, 0.2, 0.1, 0.1, 0.1]),
    "an oracle for the best of four arms": structured(ORACLE, [0.5, 0.2, 0.0, 0.0]),
}


def results():
    for label, (instance, rewards, epsilon) in INSTANCES.items():
        yield label, bestk.simulate(
            instance, "e-lucb", delta=NU, epsilon=epsilon, rewards=rewards, runs=RUNS, seed=SEED,
            max_samples=CAP,
        )  # fmt: skip
    for label, instance in CLASSES.items():
        yield (
            label,
            bestk.simulate(instance, "e-clucb", delta=NU, runs=RUNS, seed=SEED, max_samples=CAP),
        )


def main():
    lines = [
        "# Measured error rates of e-lucb and e-clucb",
        "",
        f"Error level nu = {NU}, {RUNS:,} runs each, seed {SEED}, at most {CAP:,} samples a run.",
        "Rebuilt by `make tables`. The margin is nu minus the upper end of the Clopper-Pearson 95%",
        "interval; it is positive where the runs show, not only the proof, that the error is below",
        "nu.",
        "",
        "| instance | policy | wrong | 95% interval | margin | unfinished | mean samples | most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for label, result in results():
        print(result, file=sys.stderr)
        interval = proportion(result.wrong, result.runs)
        lines.append(
            f"| {label} | `{result.problem.policy}` | {interval.value:.5f} |"
            f" [{interval.low:.5f}, {interval.high:.5f}] | {NU - interval.high:+.4f} |"
            f" {result.unfinished} | {result.mean:,.0f} | {result.samples.max():,} |"
        )
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
