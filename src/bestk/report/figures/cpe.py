"""The figure of combinatorial pure exploration: policies against each other as the gap shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bestk.paper import cpe
from bestk.paper.results import Row
from bestk.report.figures.drawing import draw_line, load_matplotlib, save_as

LINES = {"faithful": "-", "heuristic": ":", None: "-"}


def save(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write cpe.png and cpe.svg."""
    pyplot = load_matplotlib()
    from matplotlib.ticker import NullFormatter

    count = len(cpe.STRUCTURES)
    drawing, grid = pyplot.subplots(count, 2, figsize=(10.4, 3.1 * count + 0.9), squeeze=False)
    for (left, right), structure in zip(grid, cpe.STRUCTURES, strict=True):
        for policy, variant in cpe.POLICIES:
            which = (structure.name, policy, variant)
            own = [row for row in rows if (row.instance, row.policy, row.variant) == which]
            points = [(row.alpha, row.mean, row.sem) for row in own]
            label = policy + (f", {variant}" if variant else "")
            draw_line(left, policy, points, linestyle=LINES[variant], label=label)
        left.set(xscale="log", yscale="log", title=structure.name, ylabel="samples")
        gaps = sorted({row.alpha or 0.0 for row in rows if row.instance == structure.name})
        left.set_xticks(gaps, [f"{gap:g}" for gap in gaps])
        left.minorticks_off()
        left.invert_xaxis()
        for variant in ("faithful", "heuristic"):
            found = cpe.ratios(rows, structure, variant)
            points = [(at.hardness, at.value, at.value * at.error) for at in found]
            draw_line(right, "lil-clucb", points, linestyle=LINES[variant])
            if found:
                right.annotate(f" {variant}", points[-1][:2], va="center", fontsize=8)
        right.set(xscale="log", title="clucb / lil-clucb", ylabel="ratio of samples")
        right.xaxis.set_minor_formatter(NullFormatter())
        right.margins(x=0.2)
        for axes in (left, right):
            axes.grid(visible=True, which="major", color="#e3e3e3", linewidth=0.6)
    grid[-1, 0].set_xlabel("gap G (shrinking to the right)")
    grid[-1, 1].set_xlabel("H, the sum of Δ⁻² (log axis: a line means growth like log H)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    drawing.suptitle("Combinatorial pure exploration, with 95% intervals (ν = 0.01)", fontsize=11)
    drawing.tight_layout(rect=(0, 0.45 / drawing.get_figheight(), 1, 0.995))
    return save_as(drawing, folder / "cpe")
