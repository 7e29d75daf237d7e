"""How many evaluations does the best K of N on M items take, and what does each cost us?

Wanted with delta 0.05, mean of 50 seeds: on AlpacaEval (119 models, 804 questions; skipped where
the data are not) 5,400 at K = 5, epsilon = 0.02, 12,700 at K = 10, epsilon = 0, and 2,200 at K = 1,
epsilon = 0. Tables of a two-parameter model of item response are made here, one for each seed.
With replacement the same e-lucb runs on the same scores. At N = M = 1000 an evaluation takes at
most 60 microseconds compiled, 2 ms interpreted; a stored one of 200 x 2,000 opens in 2 s.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bestk

DATA = Path(__file__).parents[2] / "shared" / "data" / "alpaca_eval.npz"
DELTA, SEEDS = 0.05, 50
ALPACA = ((1, 0.0, 2_200), (5, 0.0, None), (5, 0.02, 5_400), (10, 0.0, 12_700), (10, 0.02, None))
IRT = ((50, 500), (100, 1000), (200, 2000))


def item_response(n_arms, n_items, seed=1):
    """Scores 0 and 1 of a two-parameter model: items are hard, and tell abilities apart."""
    generator = np.random.default_rng(seed)
    ability, hardness = generator.normal(size=(n_arms, 1)), generator.normal(size=n_items)
    slope = np.exp(0.3 * generator.normal(size=n_items))
    chance = 1.0 / (1.0 + np.exp(slope * (hardness - ability)))
    return (generator.random((n_arms, n_items)) < chance).astype(float)


def drawn(n_arms, n_items):
    """A row of the table of docs/evaluation.md: a new table of item response for every run."""
    samples, drawn_again, wrong = [], [], 0
    for seed in range(1, SEEDS + 1):
        table = item_response(n_arms, n_items, seed)
        instance = bestk.replay(table, k=5, without_replacement=True)
        found = bestk.simulate(instance, delta=DELTA, epsilon=0.02, runs=1, jobs=1)
        samples.append(found.mean)
        wrong += found.wrong
        if seed <= 10:
            again = bestk.simulate(
                bestk.replay(table, k=5), delta=DELTA, epsilon=0.02, rewards=bestk.Bernoulli(),
                runs=1, jobs=1,
            )  # fmt: skip
            drawn_again.append(again.mean)
    mean, sem = np.mean(samples), np.std(samples, ddof=1) / len(samples) ** 0.5
    print(
        f"| item response {n_arms} x {n_items} | 5, 0.02 | {np.mean(drawn_again):,.0f} |"
        f" {mean:,.0f} ± {sem:,.0f} | {100 * mean / n_arms / n_items:.1f}% | {wrong} | |",
        flush=True,
    )


def line(name, table, k, epsilon, wanted):
    """A row of the table of docs/evaluation.md."""
    instance = bestk.replay(table, k=k, without_replacement=True)
    found = bestk.simulate(instance, delta=DELTA, epsilon=epsilon, runs=SEEDS)
    drawn = bestk.replay(table, k=k)
    cost = bestk.simulate(drawn, delta=DELTA, epsilon=epsilon, rewards=bestk.Bounded(), runs=10)
    share, target = found.mean / table.size, "" if wanted is None else f"{wanted:,}"
    print(
        f"| {name} | {k}, {epsilon:g} | {cost.mean:,.0f} | {found.mean:,.0f} ± {found.sem:,.0f} |"
        f" {100 * share:.1f}% | {found.wrong} | {target} |",
        flush=True,
    )


def costs(data):
    """Evaluations against what is wanted, and against sampling with replacement."""
    print("| data | K, epsilon | with replacement | evaluations | of the table | wrong | wanted |")
    print("|---|---|---|---|---|---|---|")
    if data.is_file():
        table = np.load(data)["reward"].astype(float)
        for k, epsilon, wanted in ALPACA:
            line(f"AlpacaEval {len(table)} x {table.shape[1]}", table, k, epsilon, wanted)
    else:
        print(f"no AlpacaEval: {data} is not there", file=sys.stderr)
    for size in IRT:
        drawn(*size)


def one_evaluation(mode, most):
    """Processor seconds of an evaluation at N = M = 1000, K = 10."""
    before = os.environ.get("BESTK_COMPILE")
    os.environ["BESTK_COMPILE"] = mode
    instance = bestk.replay(item_response(1000, 1000), k=10, without_replacement=True)
    try:
        if mode != "never":  # load the program
            bestk.simulate(instance, runs=1, max_samples=10, jobs=1)
        started = time.process_time()
        with np.errstate(all="ignore"):
            found = bestk.simulate(
                instance, delta=DELTA, epsilon=0.02, runs=1, max_samples=most, jobs=1
            )
        return (time.process_time() - started) / found.mean, int(found.mean)
    finally:
        os.environ.pop("BESTK_COMPILE")
        if before is not None:
            os.environ["BESTK_COMPILE"] = before


def opening(n_scores=20_000):
    """Processor seconds to resume a stored evaluation of 200 x 2,000 up to its next pull."""
    table = item_response(200, 2000)
    arms, items = [f"arm {i}" for i in range(200)], [f"item {j}" for j in range(2000)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "evaluation.db")

        def study():
            return bestk.Study("e", arms, k=10, epsilon=0.0, items=items, storage=path, seed=1)

        written = study()
        rows, done = {name: i for i, name in enumerate(arms)}, 0
        while done < n_scores:
            pulls = written.ask(min(200, n_scores - done))
            if not pulls:
                break
            written.tell_many([(pull, table[rows[pull.arm], pull.position]) for pull in pulls])
            done += len(pulls)
        started, wall = time.process_time(), time.perf_counter()
        study().ask()
        return done, time.process_time() - started, time.perf_counter() - wall


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("costs", "speed"), help="only one of both")
    parser.add_argument("--data", type=Path, default=DATA, help="AlpacaEval, array reward")
    what, data = vars(parser.parse_args()).values()
    if what != "costs":
        for mode, most, unit, scale in (("now", 60_000, "us", 1e6), ("never", 4_000, "ms", 1e3)):
            seconds, samples = one_evaluation(mode, most)
            print(f"{mode}: {scale * seconds:.1f} {unit} an evaluation, mean of {samples:,}")
        scores, cpu, wall = opening()
        print(f"opening {scores:,} scores of 200 x 2,000: {cpu:.1f} s ({wall:.1f} s by the clock)")
    if what != "speed":
        costs(data)
