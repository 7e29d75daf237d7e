"""What e-lucb and e-clucb need, against the paper's policies: docs/e-lucb-results.md.

`make tables` rebuilds it; with titles of sections behind the file's name only these. All policies
of a row see the same rewards (one seed), so ratios are of paired runs. Replay needs the data files;
rows without them are left out.
"""

import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import bestk
from bestk.paper.cpe import STRUCTURES
from bestk.paper.panels import NU, PANELS
from bestk.simulation import Comparison, generate, read_replay, structured

SEED = 1
RUNS = {10: 1000, 100: 400, 1000: 100}
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
RAND = "lil-rand-lucb"


def ratio(ours, other):
    """Mean samples of `ours` over those of `other`, and a 95% interval for paired runs."""
    return Comparison((other, ours)).ratio(ours)


def show(triple):
    value, low, high = triple
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def run(instance, policy, variant=None, **settings):
    result = bestk.simulate(instance, policy, variant, seed=SEED, **settings)
    print(result, file=sys.stderr)
    assert result.unfinished == 0
    return result


def panels():
    """One line for each instance of the paper and number of arms."""
    yield "| instance | N | e-lucb | of faithful lil-rand-lucb | of heuristic lil-rand-lucb |"
    yield "|---|---|---|---|---|"
    for panel in (panel for panel in PANELS if panel.variant == "faithful"):
        for n, runs in RUNS.items():
            instance = panel.make(n)
            ours = run(instance, "e-lucb", delta=NU, runs=runs)
            faithful, heuristic = (
                ratio(ours, run(instance, RAND, variant, delta=NU, runs=runs))
                for variant in ("faithful", "heuristic")
            )
            cells = (panel.title, n, f"{ours.mean:,.0f}", show(faithful), show(heuristic))
            yield "| " + " | ".join(map(str, cells)) + " |"


def editions():
    """Against version 0.1, whose rules are the first edition."""

    def normal(text, panel, n, runs):
        return f"{text}, N={n}", panel.make(n), bestk.Gaussian(), NU, runs

    def few(text, means, rewards, nu, runs):
        return text, bestk.make_instance(means=means, k=1), rewards, nu, runs

    coin, gauss = bestk.Bernoulli(), bestk.Gaussian()
    hundred = bestk.make_instance(means=[0.6] * 2 + [0.4] * 98, k=2)
    cases = [
        few("coins .6, .5", [0.6, 0.5], coin, 0.05, 2000),
        few("coins .52, .5", [0.52, 0.5], coin, 0.05, 100),
        few("coins .01, .001", [0.01, 0.001], coin, 0.05, 400),
        few("coins .999, .99", [0.999, 0.99], coin, 0.05, 400),
        few("coins .9, .4", [0.9, 0.4], coin, 0.05, 2000),
        ("coins, two of .6 among .4, N=100", hundred, coin, NU, 400),
        *(
            few(f"two normal arms, gap {gap}", [gap, 0.0], gauss, nu, 2000)
            for gap, nu in ((0.2, 0.1), (0.05, 0.05), (0.2, NU), (0.5, NU))
        ),
        *(
            normal(panel.title, panel, n, runs)
            for n, runs in RUNS.items()
            for panel in PANELS
            if panel.variant == "faithful"
        ),
    ]
    yield "| instance | nu | version 0.1 | e-lucb | ratio |"
    yield "|---|---|---|---|---|"
    for label, instance, rewards, nu, runs in cases:
        settings = {"rewards": rewards, "delta": nu, "runs": runs}
        ours = run(instance, "e-lucb", **settings)
        with patch("bestk.simulation.engine.Problem", partial(bestk.Problem, edition=1)):
            old = run(instance, "e-lucb", **settings)
        cells = (label, nu, f"{old.mean:,.0f}", f"{ours.mean:,.0f}", show(ratio(ours, old)))
        yield "| " + " | ".join(map(str, cells)) + " |"


def ablation():
    """Bounds and stop by row, sampling rule by column, in samples."""
    rules = {"both": "both", "at random by counts": "random", "at random by radius": "radius"}
    rows = {
        "LIL faithful": (RAND, "faithful", {}),
        "LIL heuristic (unproved)": (RAND, "heuristic", {}),
        "evidence, split stop": (RAND, None, {"bound": "evidence"}),
        "evidence, split stop, weighted levels": ("e-lucb", None, {"independent": False}),
        "evidence, hybrid stop": ("e-lucb", None, {}),
    }
    yield "| instance, N=100 | bounds and stop | " + " | ".join(rules) + " |"
    yield "|---|---|---|---|---|"
    for panel in (panel for panel in PANELS if panel.variant == "faithful"):
        instance = panel.make(100)
        for label, (policy, variant, params) in rows.items():
            means = [
                run(instance, policy, variant, delta=NU, runs=400, params={**params, "rule": rule})
                for rule in rules.values()
            ]
            cells = " | ".join(f"{result.mean:,.0f} ± {result.sem:,.0f}" for result in means)
            yield f"| {panel.title} | {label} | {cells} |"


def replayed():
    """Real data."""
    cases = (
        ("captions c559", "captions.npz", "c559", 5, 0.02, "table", bestk.Ratings((0, 0.5, 1)), 50),
        ("captions c540", "captions.npz", "c540", 5, 0.02, "table", bestk.Ratings((0, 0.5, 1)), 20),
        ("AlpacaEval", "alpaca_eval.npz", "reward", 5, 0.02, "table", bestk.Bounded(), 40),
        ("NAS-Bench-201, normal draws", "nasbench201_cifar100.npz", "accuracy", 10, 0.002,
         "gaussian", None, 10),
    )  # fmt: skip
    yield (
        "| data | arms | assumed | epsilon | e-lucb | split stop alone | heuristic lil-rand-lucb"
        " | e-lucb / heuristic | wrong |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for label, file, array, k, epsilon, draw, rewards, runs in cases:
        if not (DATA / file).exists():
            continue
        instance = read_replay(DATA / file, array, k=k, draw=draw)
        assumed = rewards if rewards is not None else bestk.Gaussian(instance.pool.sigma)
        settings = {"delta": 0.05, "epsilon": epsilon, "rewards": assumed, "runs": runs}
        ours = run(instance, "e-lucb", **settings)
        split = run(instance, "e-lucb", params={"independent": False}, **settings)
        theirs = run(instance, RAND, "heuristic", **settings)
        cells = (
            label,
            instance.decision.n_arms,
            assumed.name,
            epsilon,
            *(f"{result.mean:,.0f} ± {result.sem:,.0f}" for result in (ours, split, theirs)),
            show(ratio(ours, theirs)),
            f"{ours.wrong} of {runs}",
        )
        yield "| " + " | ".join(map(str, cells)) + " |"


def classes():
    """Combinatorial classes, those of the figures and larger ones."""
    yield "| class | gap | e-clucb | of faithful lil-clucb | of heuristic lil-clucb |"
    yield "|---|---|---|---|---|"
    larger = (
        ("grid:6x6", "spanning-tree"),
        ("bipartite:5x5", "matching"),
        ("bipartite:6x6", "matching"),
        ("layered:4x4", "path"),
        ("layered:5x5", "path"),
    )
    cases = [(s.text, s.decision) for s in STRUCTURES] + list(larger)
    for text, decision in cases:
        for gap in (0.5, 0.2):
            found = generate(text, decision, gap, True)
            instance = structured(found.decision, found.means)
            runs = 400 if decision != "matching" else 30
            ours = run(instance, "e-clucb", delta=NU, runs=runs)
            faithful, heuristic = (
                ratio(ours, run(instance, "lil-clucb", variant, delta=NU, runs=runs))
                for variant in ("faithful", "heuristic")
            )
            cells = (
                f"{decision} {text}",
                gap,
                f"{ours.mean:,.0f}",
                show(faithful),
                show(heuristic),
            )
            yield "| " + " | ".join(map(str, cells)) + " |"


def main():
    sections = (
        (
            "The paper's instances",
            f"nu = {NU}, normal rewards with sigma = 1/2; {RUNS[10]:,} runs at N=10, {RUNS[100]} at"
            f" N=100, {RUNS[1000]} at N=1000. Each instance stands for two panels, faithful and"
            " heuristic. e-lucb is proved; heuristic lil-rand-lucb is not.",
            panels,
        ),
        (
            "Against version 0.1",
            "Mean samples of e-lucb under its first edition, version 0.1's, and now; normal rewards"
            " have sigma = 1/2, runs are 2,000 for two arms (100 and 400 for coins that are hard to"
            " tell apart), otherwise as above.",
            editions,
        ),
        (
            "Real data",
            "nu = 0.05, K=5 (architectures: 10). Heuristic lil-rand-lucb runs with sigma = 1/2 on"
            " rewards in [0, 1], with the pooled standard deviation on normal draws.",
            replayed,
        ),
        (
            "Combinatorial classes",
            f"nu = {NU}, normal rewards with sigma = 1/2; 400 runs, of matchings 30. On trees"
            " e-clucb compares arms that replace each other, elsewhere whole sets"
            " ([docs/e-clucb.md](e-clucb.md)).",
            classes,
        ),
        (
            "What each idea contributes",
            f"Mean samples and standard error of 400 runs, nu = {NU}. The third row is"
            " `lil-rand-lucb` with `bound=evidence`, the fourth `e-lucb` with `independent=false`.",
            ablation,
        ),
    )
    lines = [
        "# e-lucb in samples",
        "",
        f"Rebuilt by `make tables`; seed {SEED}. Ratios are of mean samples over paired runs, with"
        " 95% intervals.",
    ]
    path, wanted = Path(sys.argv[1]), sys.argv[2:]
    old = path.read_text(encoding="utf-8").split("\n## ") if wanted else []
    kept = {part.partition("\n")[0]: part.rstrip("\n") for part in old[1:]}
    for title, text, table in sections:
        if wanted and title not in wanted:
            lines += ["", f"## {kept[title]}"]
        else:
            lines += ["", f"## {title}", "", text, "", *table()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
