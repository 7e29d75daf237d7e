"""Error probability against the budget: sar, csar, sequential halving, an even split, e-lucb.

    python benchmarks/budgets.py [--runs 400] [--plot docs/pictures/budgets.png]

The figures of Bubeck, Wang and Viswanathan (2013) and Karnin, Koren and Somekh (2013) show the
same: how often the answer after so many pulls is wrong. All policies see the same rewards. Prints
the tables of docs/budgets.md; ten minutes for 400 runs.
"""

import argparse
import math
import sys

import numpy as np

import bestk
from bestk.report.figures import budgets
from bestk.report.figures.drawing import load_matplotlib

POLICIES = ("sar", "csar", "sequential-halving", "uniform", "e-lucb")
BUDGETS = (500, 1000, 2000, 4000, 8000)
SEED = 1
INSTANCES = {  # means, K; normal rewards, sigma 1/2
    "one gap: 5 of 40 arms at 0.75, the rest at 0.5": (np.repeat([0.75, 0.5], [5, 35]), 5),
    "a line: 40 arms from 0.9 down to 0.1, K = 3": (np.linspace(0.9, 0.1, 40), 3),
    "one best: 0.7, then 39 arms from 0.6 to 0.2": (np.r_[0.7, np.linspace(0.6, 0.2, 39)], 1),
}


def errors(means, k, runs, epsilon=0.0, sizes=BUDGETS):
    """Wrong answers, a row for each policy, a column for each budget."""
    return np.array(
        [
            [
                bestk.simulate(
                    means, policy, k=k, budget=budget, runs=runs, epsilon=epsilon, seed=SEED
                ).wrong
                for budget in sizes
            ]
            for policy in POLICIES
        ]
    )


def table(counts, runs, sizes=BUDGETS):
    print("| pulls |", " | ".join(f"{budget:,}" for budget in sizes), "|")
    print("|---|" + "---|" * len(sizes))
    for policy, row in zip(POLICIES, counts, strict=True):
        print(f"| `{policy}` |", " | ".join(f"{wrong / runs:.3f}" for wrong in row), "|")


def draw(found, runs, path):
    pyplot = load_matplotlib()
    figure, panels = pyplot.subplots(
        1, len(found), figsize=(11, 3.6), layout="constrained", sharey=True
    )
    for axes, (name, counts) in zip(panels, found.items(), strict=True):
        budgets.draw(axes, BUDGETS, dict(zip(POLICIES, counts, strict=True)), runs)
        axes.set_title(name.split(":")[0], loc="left", fontsize="medium")
    panels[0].set_ylabel(f"share of {runs} runs with a wrong answer")
    panels[0].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--plot")
    given = parser.parse_args()
    print(
        f"{given.runs} runs each; half a 95% interval is at most {0.98 / math.sqrt(given.runs):.3f}"
    )
    found = {}
    for name, (means, k) in INSTANCES.items():
        found[name] = errors(means, k, given.runs)
        print(f"\n{name}")
        table(found[name], given.runs)
        sys.stdout.flush()
    means, k = INSTANCES["a line: 40 arms from 0.9 down to 0.1, K = 3"]
    print("\nanswers within 0.05 of the K-th best, 2,000 pulls, the line")
    close = errors(means, k, given.runs, 0.05, (2000,))[:, 0]
    for policy, wrong in zip(POLICIES, close, strict=True):
        print(f"{policy}: {given.runs - wrong} of {given.runs}")
    if given.plot:
        draw(found, given.runs, given.plot)


if __name__ == "__main__":
    main()
