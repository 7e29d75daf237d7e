"""The figure of policies with a fixed budget: how often the answer is wrong after so many samples.

As in Bubeck, Wang and Viswanathan (2013) and Karnin, Koren and Somekh (2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bestk.report.figures.drawing import load_matplotlib, save_figure, style_of
from bestk.simulation import Comparison
from bestk.simulation.planning import full_name
from bestk.simulation.shares import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROW = 0.3  # its length, of the height that it hangs from; arbitrary
BESIDE = 1.03  # between policies at one budget; arbitrary


def draw(axes: Axes, budgets: Sequence[int], wrong: Mapping[str, Sequence[int]], runs: int) -> None:
    """Shares of wrong answers with 95% intervals, a line for each policy, side by side.

    A share of 0 is a hollow mark with an arrow at the upper end of its interval, off the line.
    """
    for number, (name, counts) in enumerate(wrong.items()):
        xs = np.array(budgets) * BESIDE ** (number - (len(wrong) - 1) / 2.0)
        shares, (low, high) = np.array(counts) / runs, np.array([wilson(n, runs) for n in counts]).T
        some, none = shares > 0.0, shares == 0.0
        colour, marker = style_of(name.split(" ", maxsplit=1)[0])
        look: dict[str, Any] = {"color": colour, "marker": marker}
        look |= {"markersize": 4, "linewidth": 1.2}
        bars = (shares - low)[some], (high - shares)[some]
        axes.errorbar(xs[some], shares[some], bars, capsize=2, label=name, **look)
        look |= {"linestyle": "", "markerfacecolor": "white", "elinewidth": 1.0}
        axes.errorbar(xs[none], high[none], ARROW * high[none], uplims=True, **look)
    axes.set(xscale="log", yscale="log", xlabel="samples in all", ylim=(0.5 / runs, 1.3))
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets], fontsize="small")
    axes.minorticks_off()
    axes.grid(visible=True, color="#e3e3e3", linewidth=0.6)


def save(found: Sequence[Comparison], path: Path) -> None:
    """Write the figure of one instance, a comparison for each budget."""
    first = found[0].results[0]
    sizes = [int(each.results[0].budget or 0) for each in found]
    names = [full_name(result) for result in found[0].results]
    wrong = {name: [each.results[at].wrong for each in found] for at, name in enumerate(names)}
    drawing, axes = load_matplotlib().subplots(figsize=(7.0, 4.4), layout="constrained")
    draw(axes, sizes, wrong, first.runs)
    axes.set(
        ylabel=f"share of {first.runs} runs with a wrong answer",
        title=f"{first.instance.name}, N = {first.instance.decision.n_arms}",
    )
    axes.legend(frameon=False, fontsize=8)
    save_figure(drawing, path)
