"""The figure of several policies on one instance: how many samples their runs took."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bestk.report.figures.drawing import LIMIT, load_matplotlib, save_figure, style_of
from bestk.simulation import Comparison
from bestk.simulation.planning import full_name


def save(found: Comparison, path: Path) -> None:
    """Write the share of runs that had ended after so many samples, for each policy."""
    pyplot = load_matplotlib()
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    first = found.results[0]
    drawing, axes = pyplot.subplots(figsize=(7.0, 4.4))
    for result in found.results:
        colour, _ = style_of(result.problem.policy)
        ends = np.sort(np.where(result.finished, result.samples, np.inf))
        proved = f"{result.wrong} wrong"
        if result.guarantee is None:
            proved += ", nothing proved" if result.claim is None else ", its author's claim"
        axes.step(
            np.concatenate(([0.0], ends)),
            np.linspace(0.0, 1.0, len(ends) + 1),
            where="post",
            color=colour,
            linestyle="-" if result.guarantee is not None else ":",
            label=f"{full_name(result)}: {result.mean:,.0f}, {proved}",
        )
    if first.lower_bound is not None:
        axes.axvline(
            first.lower_bound, color=LIMIT, linestyle="--", linewidth=1, label="lower bound"
        )
    goal = f"error ≤ {first.problem.delta:g}"
    if found.budget is not None:
        goal = f"budget {found.budget:,}"
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, color="#e3e3e3", linewidth=0.6)
    axes.set(
        xlabel="samples",
        ylabel="share of runs that have ended",
        ylim=(0.0, 1.02),
        title=f"{first.instance.name}, N = {first.instance.decision.n_arms},"
        f" {goal}, {first.runs} runs each",
    )
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2}
    axes.legend(title="mean samples", fontsize=8, title_fontsize=8, frameon=False, **below)
    drawing.tight_layout()
    save_figure(drawing, path)
