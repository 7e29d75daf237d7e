"""What a proof costs: the tables of docs/limits.md, which `make tables` replaces in place.

Samples as multiples of the lower bound, and how often the unproved rules are wrong. e-lucb and glr
sample alike and see the same rewards, so that a row compares stopping rules.
"""

import re
import sys
from pathlib import Path

import bestk
from bestk.paper.statistics import proportion

SEED, CAP, Z95 = 1, 10**6, 1.959964
RULES = {
    "glr, fixed": ("glr", None, {"threshold": "fixed"}),
    "glr, growing": ("glr", None, {}),
    "glr, fixed, union": ("glr", None, {"threshold": "fixed"}),
    "e-lucb": ("e-lucb", None, {}),
    "lil-rand-lucb, heuristic": ("lil-rand-lucb", "heuristic", {}),
}
LADDER = [0.05 + 0.1 * i for i in range(10)]
NORMAL, COINS = bestk.Gaussian(0.5), bestk.Bernoulli()


def one_gap(n, k, high, low):
    return [high] * k + [low] * (n - k)


INSTANCES = {
    "two arms, gap 0.2": (NORMAL, [0.2, 0.0], 1, 1000),
    "N=10, K=1, gap 0.5": (NORMAL, one_gap(10, 1, 0.5, 0.0), 1, 1000),
    "N=10, K=3, steps of 0.1": (NORMAL, LADDER, 3, 1000),
    "N=100, K=2, gap 0.5": (NORMAL, one_gap(100, 2, 0.5, 0.0), 2, 200),
    "N=100, K=50, gap 0.5": (NORMAL, one_gap(100, 50, 0.5, 0.0), 50, 200),
    "two coins, 0.6 and 0.5": (COINS, [0.6, 0.5], 1, 1000),
    "coins, N=10, K=1, 0.7 and 0.3": (COINS, one_gap(10, 1, 0.7, 0.3), 1, 1000),
    "coins, N=10, K=3, 0.05, 0.15, ...": (COINS, LADDER, 3, 500),
    "coins, N=100, K=2, 0.7 and 0.3": (COINS, one_gap(100, 2, 0.7, 0.3), 2, 200),
    "coins, N=100, K=50, 0.7 and 0.3": (COINS, one_gap(100, 50, 0.7, 0.3), 50, 200),
}
HARD = {
    "two arms, gap 0.5": (NORMAL, [0.5, 0.0], 1),
    "two arms, gap 0.2": (NORMAL, [0.2, 0.0], 1),
    "two arms, gap 0.05": (NORMAL, [0.05, 0.0], 1),
    "two arms, gap 0.02": (NORMAL, [0.02, 0.0], 1),
    "N=10, K=5, gap 0.2": (NORMAL, one_gap(10, 5, 0.2, 0.0), 5),
    "two coins, 0.9 and 0.5": (COINS, [0.9, 0.5], 1),
    "two coins, 0.55 and 0.5": (COINS, [0.55, 0.5], 1),
    "coins, 0.08, 0.01 and 0.01": (COINS, [0.08, 0.01, 0.01], 1),
}
RUNS, NU = 20_000, 0.1


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def run(means, rule, **settings):
    policy, variant, params = RULES[rule]
    settings |= {"params": params, "seed": SEED, "max_samples": CAP}
    result = bestk.simulate(means, policy, variant, **settings)
    print(rule, result, file=sys.stderr)
    assert result.unfinished == 0 or policy == "lil-rand-lucb"
    return result


def samples(delta):
    """Multiples of the lower bound, of runs that ended, and the percentage of wrong answers."""
    yield line("instance", "bound", *RULES)
    yield line(*["---"] * (2 + len(RULES)))
    for label, (rewards, means, k, runs) in INSTANCES.items():
        cells = []
        for rule in RULES:
            shared = k * (len(means) - k) if rule.endswith("union") else 1
            settings = {"k": k, "delta": delta / shared, "rewards": rewards, "runs": runs}
            result = run(means, rule, **settings)
            bound = bestk.difficulty(means, k, delta=delta, rewards=rewards).lower_bound
            ended = result.samples[result.finished] / bound
            error = Z95 * ended.std(ddof=1) / len(ended) ** 0.5
            rest = f", {result.unfinished} endless" if result.unfinished else ""
            wrong = f"{100 * result.wrong / runs:.2g}% wrong{rest}"
            cells.append(f"{ended.mean():.2f} ± {error:.2f}, {wrong}")
        yield line(label, f"{bound:,.0f}", *cells)


def errors():
    """How often glr is wrong."""
    rules = ("glr, fixed", "glr, growing")
    yield line("instance", *(f"{rule}: {what}" for rule in rules for what in ("wrong", "samples")))
    yield line(*["---"] * 5)
    for label, (rewards, means, k) in HARD.items():
        cells = []
        for rule in rules:
            result = run(means, rule, k=k, delta=NU, rewards=rewards, runs=RUNS)
            share = proportion(result.wrong, RUNS)
            cells += [
                f"{share.value:.4f} [{share.low:.4f}, {share.high:.4f}]", f"{result.mean:,.0f}",
            ]  # fmt: skip
        yield line(label, *cells)


def main():
    page = Path(sys.argv[1])
    tables = iter([samples(0.05), samples(0.01), errors()])
    text = re.sub(
        r"(?:^\|.*\n)+",
        lambda _: "\n".join(next(tables)) + "\n",
        page.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    page.write_text(text, encoding="utf-8")


main()
