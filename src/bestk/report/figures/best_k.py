"""Figures 1 and 2 of the paper, from results.csv."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestk.hardness import kl_of_error, t_star
from bestk.paper.panels import NU, OURS, PANELS, SIGMA, Panel
from bestk.paper.results import Row, Rows
from bestk.policies import find
from bestk.report.figures.drawing import LIMIT, draw_line, label_decades, load_matplotlib, save_as

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def lower_bound(panel: Panel, arms: int) -> float:
    """kl(nu, 1-nu) T* of a panel's instance."""
    instance = panel.make(arms)
    value, _ = t_star(instance.means, instance.size, SIGMA)
    return kl_of_error(NU) * value


def _draw_panel(axes: Axes, panel: Panel, rows: Sequence[Row]) -> None:
    for policy in dict.fromkeys((*panel.policies, *(row.policy for row in rows))):
        own = sorted((row for row in rows if row.policy == policy), key=lambda row: row.arms)
        if not own:
            continue
        # lil-lucb, lucb++ and lil-rand-lucb nearly coincide at K=N/2: keep all of them visible
        size = {"lil-lucb": 10.0, "lucb++": 7.5, OURS: 7.0}.get(policy, 4.0)
        inside = "none" if policy in ("lil-lucb", "lucb++") else None
        width, layer = (2.2, 4) if policy in ("lil-rand-lucb", OURS) else (1.3, 3)
        draw_line(
            axes, policy, [(row.arms, row.mean / row.arms, row.sem / row.arms) for row in own],
            markersize=size, markerfacecolor=inside, linewidth=width, zorder=layer,
            label=find(policy).title,
        )  # fmt: skip
    arms = sorted({row.arms for row in rows})
    least, label = [lower_bound(panel, n) / n for n in arms], "lower bound kl(ν, 1-ν) T*"
    axes.plot(arms, least, color=LIMIT, linestyle="--", linewidth=1.2, label=label)
    axes.set(xscale="log", yscale="log", title=f"({panel.id[4]}) {panel.variant}: {panel.title}")
    axes.set_xticks(arms, [str(n) for n in arms])
    axes.minorticks_off()
    axes.grid(visible=True, which="major", color="#e3e3e3", linewidth=0.6)
    axes.tick_params(length=3)
    label_decades(axes, ".6g")


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
        limits = [end for axes in cells[left : left + 2] for end in axes.get_ylim()]
        for axes in cells[left : left + 2]:
            axes.set_ylim(min(limits), max(limits))
    for axes in grid[:, 0]:
        axes.set_ylabel("samples per arm")
    for axes in grid[-1]:
        axes.set_xlabel("number of arms N")
    entries: dict[str, Any] = {}
    for axes in cells:
        handles, labels = axes.get_legend_handles_labels()
        entries.update(zip(labels, handles, strict=True))
    wide, lines_below = 2 * columns, -(-len(entries) // (2 * columns))
    drawing.legend(
        entries.values(), entries.keys(), loc="lower center", ncols=wide, frameon=False, fontsize=9
    )
    runs = ", ".join(map(str, sorted({row.runs for row in rows.values()})))
    drawing.suptitle(
        f"Figure {figure}: mean samples per arm over {runs} runs,{' ' if columns > 1 else chr(10)}"
        f"with 95% intervals (ν = {NU})",
        fontsize=11,
    )
    drawing.tight_layout(rect=(0, (0.15 + 0.2 * lines_below) / drawing.get_figheight(), 1, 0.995))
    return drawing  # type: ignore[no-any-return]  # pyplot is loaded when first needed


def save(rows: Rows, folder: Path) -> list[Path]:
    """Write every figure of the paper that has a panel."""
    written = []
    for figure in (1, 2):
        drawing = draw(figure, rows)
        if drawing is not None:
            written += save_as(drawing, folder / f"figure{figure}")
    return written
