"""The figure of a plan: samples against slack."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from bestk.errors import InputError
from bestk.report.figures.drawing import (
    LIMIT,
    label_decades,
    load_matplotlib,
    save_figure,
    style_of,
)
from bestk.simulation import Plan
from bestk.simulation.planning import full_name, spread


def save(plan: Plan, path: Path) -> None:
    """Write median samples against slack, with the range of 90% of the runs."""
    if plan.sweep is None:
        raise InputError("there is nothing to draw: the plan has no sweep over slacks")
    pyplot = load_matplotlib()
    from matplotlib.ticker import NullLocator

    slacks = [at.epsilon for at in plan.sweep]
    drawing, axes = pyplot.subplots(figsize=(7.0, 4.4))
    for index, first in enumerate(plan.sweep[0].results):
        ranges = np.array([spread(at.results[index]) for at in plan.sweep])
        colour, marker = style_of(first.problem.policy)
        heuristic = first.guarantee is None
        axes.fill_between(slacks, ranges[:, 0], ranges[:, 2], color=colour, alpha=0.18, linewidth=0)
        label = full_name(first) + (", nothing proved" if heuristic else "")
        style = ":" if heuristic else "-"
        axes.plot(slacks, ranges[:, 1], color=colour, marker=marker, linestyle=style, label=label)
    positive = [slack for slack in slacks if slack > 0]
    if positive:  # logarithmic, with room for 0 on the left
        axes.set_xscale("symlog", base=2, linthresh=positive[0], linscale=0.7)
    if slacks[0] <= plan.gap <= slacks[-1] and plan.gap > 0:
        axes.axvline(plan.gap, color=LIMIT, linestyle="--", linewidth=1)
        left = plan.gap > 0.6 * slacks[-1]  # no room on the right
        axes.annotate(
            "gap between the K-th\nand the next mean", (plan.gap, 1.0), color=LIMIT, fontsize=8,
            xycoords=("data", "axes fraction"), textcoords="offset points",
            xytext=(-4 if left else 4, -4), ha="right" if left else "left", va="top",
        )  # fmt: skip
    axes.set_yscale("log")
    label_decades(axes, ".0f")
    axes.yaxis.set_minor_locator(NullLocator())
    crowded = any(low > 0 and high < 1.4 * low for low, high in pairwise(slacks))
    axes.set_xticks(slacks, [f"{slack:.3g}" for slack in slacks], rotation=45 if crowded else 0)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color="#e3e3e3", linewidth=0.6)
    axes.set(
        xlabel="slack ε: arms this close to the K-th best may be answered",
        ylabel="samples",
        title=f"Cost against slack: {plan.instance.name}, N = {len(plan.shares)},"
        f" K = {plan.instance.k}, error ≤ {plan.problem.delta:g}\n"
        f"median and 90% of {plan.results[0].runs} runs, simulated from guessed means",
    )
    axes.legend(frameon=False)
    drawing.tight_layout()
    save_figure(drawing, path)
