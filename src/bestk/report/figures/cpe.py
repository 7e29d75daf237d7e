"""The figure of combinatorial pure exploration: policies against each other as the gap shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bestk.paper import cpe
from bestk.paper.results import Row
from bestk.report.figures.drawing import STYLES, Z95, load_matplotlib, save_as

LINES = {"faithful": "-", "heuristic": ":", None: "-"}


def save(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write cpe.png and cpe.svg."""
    pyplot = load_matplotlib()
    from matplotlib.ticker import NullFormatter

    count = len(cpe.STRUCTURES)
    drawing, grid = pyplot.subplots(count, 2, figsize=(10.4, 3.1 * count + 0.9), squeeze=False)
    for (left, right), structure in zip(grid, cpe.STRUCTURES, strict=True):
        for policy, variant in cpe.POLICIES:
            own = [
                row
                for row in rows
                if (row.instance, row.policy, row.variant) == (structure.name, policy, variant)
            ]
            colour, marker = STYLES[policy]
            left.errorbar(
                [row.alpha for row in own],
                [row.mean for row in own],
                yerr=[Z95 * row.sem for row in own],
                color=colour,
                marker=marker,
                linestyle=LINES[variant],
                capsize=2,
                label=policy + (f", {variant}" if variant else ""),
            )
        left.set(xscale="log", yscale="log", title=structure.name, ylabel="samples")
        gaps = sorted({row.alpha or 0.0 for row in rows if row.instance == structure.name})
        left.set_xticks(gaps, [f"{gap:g}" for gap in gaps])
        left.minorticks_off()
        left.invert_xaxis()
        for variant in ("faithful", "heuristic"):
            found = cpe.ratios(rows, structure, variant)
            colour, marker = STYLES["lil-clucb"]
            right.errorbar(
                [point.hardness for point in found],
                [point.value for point in found],
                yerr=[Z95 * point.value * point.error for point in found],
                color=colour,
                marker=marker,
                linestyle=LINES[variant],
                capsize=2,
            )
            if found:
                right.annotate(
                    f" {variant}", (found[-1].hardness, found[-1].value), va="center", fontsize=8
                )
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
