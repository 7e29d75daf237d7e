"""Figures 1 and 2 of the paper, from results.csv."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestk.hardness import kl_of_error, t_star
from bestk.paper.panels import NU, OURS, PANELS, SIGMA, Panel
from bestk.paper.results import Row, Rows
from bestk.policies import CATALOGUE
from bestk.report.figures.drawing import LIMIT, STYLES, Z95, load_matplotlib, save_as

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def lower_bound(panel: Panel, arms: int) -> float:
    """kl(nu, 1-nu) T* of a panel's instance."""
    instance = panel.make(arms)
    value, _ = t_star(instance.means, instance.size, SIGMA)
    return kl_of_error(NU) * value


def _draw_panel(axes: Axes, panel: Panel, rows: Sequence[Row]) -> None:
    for policy in panel.policies:
        own = sorted((row for row in rows if row.policy == policy), key=lambda row: row.arms)
        if not own:
            continue
        colour, marker = STYLES[policy]
        # lil-lucb, lucb++ and lil-rand-lucb nearly coincide at K=N/2: keep all of them visible
        size = {"lil-lucb": 10.0, "lucb++": 7.5, OURS: 7.0}.get(policy, 4.0)
        axes.errorbar(
            [row.arms for row in own],
            [row.mean / row.arms for row in own],
            yerr=[Z95 * row.sem / row.arms for row in own],
            color=colour,
            marker=marker,
            markersize=size,
            markerfacecolor="none" if policy in ("lil-lucb", "lucb++") else colour,
            linewidth=2.2 if policy in ("lil-rand-lucb", OURS) else 1.3,
            zorder=4 if policy in ("lil-rand-lucb", OURS) else 3,
            capsize=2,
            label=CATALOGUE[policy].title,
        )
    arms = sorted({row.arms for row in rows})
    axes.plot(
        arms,
        [lower_bound(panel, n) / n for n in arms],
        color=LIMIT,
        linestyle="--",
        linewidth=1.2,
        label="lower bound kl(ν, 1-ν) T*",
    )
    axes.set(xscale="log", yscale="log", title=f"({panel.id[4]}) {panel.variant}: {panel.title}")
    axes.set_xticks(arms, [str(n) for n in arms])
    axes.minorticks_off()
    axes.grid(visible=True, which="major", color="#e3e3e3", linewidth=0.6)
    axes.tick_params(length=3)
    _label_decades(axes)


def _label_decades(axes: Axes) -> None:
    """Ticks at 1, 2 and 5 of every decade, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def draw(figure: int, rows: Rows) -> Figure | None:
    """One figure of the paper; None if none of its panels was run."""
    run = {row.panel for row in rows.values()}
    panels = [panel for panel in PANELS if panel.figure == figure and panel.id in run]
    if not panels:
        return None
    pyplot = load_matplotlib()
    columns = 1 if len(panels) == 1 else 2
    lines = -(-len(panels) // columns)
    drawing, grid = pyplot.subplots(
        lines, columns, figsize=(5.2 * columns, 3.1 * lines + 0.9), squeeze=False
    )
    cells = list(grid.flat)
    for axes, panel in zip(cells, panels, strict=False):
        _draw_panel(axes, panel, [row for row in rows.values() if row.panel == panel.id])
    for axes in cells[len(panels) :]:
        axes.set_visible(False)
    for left in range(0, len(panels) - 1, 2):  # a row compares faithful with heuristic
        low = min(axes.get_ylim()[0] for axes in cells[left : left + 2])
        high = max(axes.get_ylim()[1] for axes in cells[left : left + 2])
        for axes in cells[left : left + 2]:
            axes.set_ylim(low, high)
    for axes in grid[:, 0]:
        axes.set_ylabel("samples per arm")
    for axes in grid[-1]:
        axes.set_xlabel("number of arms N")
    entries: dict[str, Any] = {}
    for axes in cells:
        entries.update(
            (label, handle) for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        )
    drawing.legend(
        entries.values(), entries.keys(), loc="lower center", ncols=4, frameon=False, fontsize=9
    )
    runs = ", ".join(map(str, sorted({row.runs for row in rows.values()})))
    drawing.suptitle(
        f"Figure {figure}: mean samples per arm over {runs} runs, with 95% intervals (ν = {NU})",
        fontsize=11,
    )
    drawing.tight_layout(rect=(0, 0.55 / drawing.get_figheight(), 1, 0.995))
    return drawing  # type: ignore[no-any-return]  # pyplot is loaded when first needed


def save(rows: Rows, folder: Path) -> list[Path]:
    """Write every figure of the paper that has a panel."""
    written = []
    for figure in (1, 2):
        drawing = draw(figure, rows)
        if drawing is not None:
            written += save_as(drawing, folder / f"figure{figure}")
    return written
