"""The figure of policies with a fixed budget: how often the answer is wrong after so many samples.

As in Bubeck, Wang and Viswanathan (2013) and Karnin, Koren and Somekh (2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bestk.report.figures.drawing import draw_line, load_matplotlib, save_figure
from bestk.simulation import Comparison
from bestk.simulation.planning import full_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(axes: Axes, budgets: Sequence[int], wrong: Mapping[str, Sequence[int]], runs: int) -> None:
    """Shares of wrong answers with 95% intervals, a line for each policy; 0 is not drawn."""
    for name, counts in wrong.items():
        shares = ((budget, count / runs) for budget, count in zip(budgets, counts, strict=True))
        points = [(b, share, (share * (1 - share) / runs) ** 0.5) for b, share in shares if share]
        policy = name.split(" ", maxsplit=1)[0]
        draw_line(axes, policy, points, label=name, linewidth=1.2, markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="samples in all", ylim=(0.5 / runs, 1.3))
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets], fontsize="small")
    axes.minorticks_off()
    axes.grid(visible=True, color="#e3e3e3", linewidth=0.6)


def save(found: Sequence[Comparison], path: Path) -> None:
    """Write the figure of one instance, a comparison for each budget."""
    pyplot = load_matplotlib()
    first = found[0].results[0]
    sizes = [int(each.results[0].budget or 0) for each in found]
    names = [full_name(result) for result in found[0].results]
    wrong = {name: [each.results[at].wrong for each in found] for at, name in enumerate(names)}
    drawing, axes = pyplot.subplots(figsize=(7.0, 4.4), layout="constrained")
    draw(axes, sizes, wrong, first.runs)
    axes.set(
        ylabel=f"share of {first.runs} runs with a wrong answer",
        title=f"{first.instance.name}, N = {first.instance.decision.n_arms}",
    )
    axes.legend(frameon=False, fontsize=8)
    try:
        save_figure(drawing, path)
    finally:
        pyplot.close(drawing)
