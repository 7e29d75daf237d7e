"""The table of measured error rates in docs/: `make tables` rebuilds it.

At nu = 0.1, how often is a policy wrong on small hard instances? A proved one must stay below 10%.
"""

import sys
from pathlib import Path

import bestk
from bestk.paper.statistics import proportion
from bestk.policies import CATALOGUE

RUNS, NU, SEED, CAP = 20_000, 0.1, 7, 10**6
INSTANCES = {
    "two arms, gap 0.2": ([0.2, 0.0], 1, None),
    "ten arms, K=3, gap 0.3": ([0.3] * 3 + [0.0] * 7, 3, None),
    "eight arms, K=4, gap 0.3": ([0.3] * 4 + [0.0] * 4, 4, None),
    "coins 0.05, 0.05, 0.2 (best last)": ([0.05, 0.05, 0.2], 1, bestk.Bernoulli()),
}


def rows():
    for label, (means, k, rewards) in INSTANCES.items():
        for name, policy in CATALOGUE.items():
            if policy.single and k > 1:
                continue
            for variant in policy.variants or (None,):
                result = bestk.simulate(
                    means,
                    name,
                    variant,
                    k=k,
                    delta=NU,
                    rewards=rewards,
                    runs=RUNS,
                    seed=SEED,
                    max_samples=CAP,
                )
                print(result, file=sys.stderr)
                yield label, name, variant or "", result


def main():
    lines = [
        "# Measured error rates",
        "",
        f"Error level nu = {NU}, {RUNS:,} runs each, seed {SEED}, at most {CAP:,} samples a run.",
        "Rebuilt by `make tables`. Intervals are Clopper-Pearson, 95%.",
        "",
        "| instance | policy | variant | proved | wrong | 95% interval | unfinished | samples |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for label, name, variant, result in rows():
        interval = proportion(result.wrong, result.runs)
        proved = "-" if result.guarantee is None else f"{result.guarantee:g}"
        lines.append(
            f"| {label} | `{name}` | {variant} | {proved} | {interval.value:.5f} |"
            f" [{interval.low:.5f}, {interval.high:.5f}] | {result.unfinished} |"
            f" {result.mean:,.0f} |"
        )
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
