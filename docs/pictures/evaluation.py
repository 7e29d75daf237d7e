"""Draw `evaluation.png`: the slack that could be certified, against evaluations made.

    python docs/pictures/evaluation.py

Forty arms on 500 items of a two-parameter model of item response (those of docs/evaluation.md),
K = 3, several seeds. The whole table has 20,000 cells.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot

import bestk

SEEDS, EVERY, K = 6, 100, 3


def table():
    """The scores of docs/evaluation.md."""
    generator = np.random.default_rng(7)
    ability, hardness = generator.normal(size=40), generator.normal(size=500)
    chance = 1 / (1 + np.exp(hardness - ability[:, None]))
    return (generator.random((40, 500)) < chance).astype(float)


def course(scores, seed):
    """Evaluations made, and the epsilon that could be certified then."""
    arms, items = list(range(40)), list(range(500))
    found = []
    study = bestk.Study("e", arms, k=K, epsilon=0.0, items=items, seed=seed)
    while pulls := study.ask():
        study.tell(pulls[0], scores[pulls[0].arm, pulls[0].position])
        if study.samples % EVERY == 0 and study.samples >= 2 * len(arms):
            found.append((study.samples, study.summary(None).certifiable_epsilon))
    return np.array([*found, (study.samples, 0.0)], float)


def draw():
    """Write the picture."""
    scores = table()
    figure, axes = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
    for seed in range(SEEDS):
        made, slack = course(scores, seed).T
        axes.step(made, slack, where="post", color="#2a6f97", alpha=0.7, linewidth=1.2)
        axes.plot(made[-1], 0.0, "o", color="#2a6f97", markersize=5, clip_on=False)
    axes.set(xlabel="evaluations made (the table has 20,000 cells)", xlim=(0, None), ylim=(0, None))
    axes.set_ylabel("epsilon that could be certified")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("evaluation.png"), dpi=144)


if __name__ == "__main__":
    draw()
