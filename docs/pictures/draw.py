"""Draws the pictures of the README and of these pages: `python docs/pictures/draw.py`."""

import csv
import random
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

import bestk

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "examples" / "data" / "captions_c559.csv"
WORTH = (0.0, 0.5, 1.0)  # unfunny, somewhat funny, funny


def captions() -> None:
    """The two funniest of twelve captions, from ratings that readers really gave."""
    with DATA.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if len(row["caption"]) < 44][::5][:12]
    shares = {
        row["caption"]: [int(row[x]) for x in ("unfunny", "somewhat_funny", "funny")]
        for row in rows
    }
    rng = random.Random(1)
    result = bestk.identify(
        list(shares), lambda text: rng.choices(WORTH, shares[text])[0], k=2,
        rewards=bestk.Ratings(WORTH), seed=1,
    )  # fmt: skip
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(10, 4.2), width_ratios=(3, 1), layout="constrained", sharey=True
    )
    result.plot(ax=left)
    figure.suptitle("The two funniest of twelve captions, found with an error of at most 5%")
    left.set_title("answered captions (in) above the line", loc="left", fontsize="medium")
    left.set_xlabel("mean rating, with its interval")
    pulls = [arm.pulls for arm in sorted(result.ranked, key=lambda a: a.label not in result.top)]
    right.barh(range(len(pulls)), pulls, color="#8a949f", height=0.55)
    right.set_xlabel("ratings asked for")
    right.set_title(f"{result.samples:,} ratings", loc="left", fontsize="medium")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "captions.png", dpi=90)


def intervals() -> None:
    """What how-to/notebooks.md draws."""
    rng = random.Random(5)
    chances = {"Answer briefly.": 0.4, "Think step by step.": 0.7, "Give two examples.": 0.6}
    result = bestk.identify(
        list(chances), lambda arm: rng.random() < chances[arm], k=1, budget=150, seed=1,
        rewards=bestk.Bernoulli(),
    )  # fmt: skip
    axes = result.plot()
    axes.set_xlim(0, 1)
    axes.figure.savefig(HERE / "intervals.png", dpi=90)


captions()
intervals()
