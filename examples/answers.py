"""Drawings of answers that these examples share: the chosen edges or arms, effort as width."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.report.figures.drawing import load_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHOSEN, OTHER = "#d55e00", "#9aa5b1"
WIDEST, THINNEST = 9.0, 0.6  # points; with many edges the widest is INK / edges
INK = 300.0


def draw_graph(
    edges: Sequence[tuple[Hashable, Hashable]],
    positions: Mapping[Hashable, tuple[float, float]],
    chosen: Sequence[int],
    counts: IntArray | FloatArray,
    path: Path,
    title: str,
) -> Path:
    """Write a PNG: chosen edges in colour, their widths showing how often each was sampled."""
    drawing, axes = load_matplotlib().subplots(figsize=(8, 6))
    share = np.asarray(counts, np.float64) / max(1.0, float(np.max(counts)))
    answer, widest = set(chosen), min(WIDEST, INK / len(edges))
    for arm, (u, v) in sorted(enumerate(edges), key=lambda item: item[0] in answer):
        colour, alpha, zorder = (CHOSEN, 1.0, 2) if arm in answer else (OTHER, 0.6, 1)
        axes.plot(
            *zip(positions[u], positions[v], strict=True), color=colour, alpha=alpha,
            linewidth=THINNEST + (widest - THINNEST) * share[arm], solid_capstyle="round",
            zorder=zorder,
        )  # fmt: skip
    for node, (x, y) in positions.items():
        axes.scatter([x], [y], s=260, color="white", edgecolors="#333333", zorder=3)
        axes.annotate(str(node), (x, y), ha="center", va="center", fontsize=8, zorder=4)
    axes.set_title(title)
    axes.set_axis_off()
    axes.margins(0.08)
    axes.plot([], [], color=CHOSEN, linewidth=4, label="answer")
    axes.plot([], [], color=OTHER, linewidth=4, label="rejected")
    axes.legend(
        loc="lower center", ncols=2, frameon=False, bbox_to_anchor=(0.5, -0.08),
        title="width: how often it was sampled", title_fontsize=9,
    )  # fmt: skip
    return _saved(drawing, path)


def draw_bars(
    names: Sequence[str],
    means: FloatArray,
    chosen: Sequence[int],
    counts: IntArray | FloatArray,
    path: Path,
    title: str,
) -> Path:
    """Write a PNG for a class without a graph: one bar per arm, its height the observed mean."""
    drawing, axes = load_matplotlib().subplots(figsize=(8, 4.5))
    colours = [CHOSEN if arm in set(chosen) else OTHER for arm in range(len(names))]
    share = np.asarray(counts, np.float64) / float(np.max(counts))
    axes.bar(range(len(names)), means, color=colours, width=0.2 + 0.7 * share)
    for arm, count in enumerate(counts):
        axes.annotate(
            f"{int(count):,}", (arm, means[arm]), ha="center", va="bottom", fontsize=8,
            xytext=(0, 2), textcoords="offset points",
        )  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_ylabel("observed mean")
    axes.set_title(f"{title}\n(in colour: the answer; width and number: how often sampled)")
    return _saved(drawing, path)


def _saved(drawing: Figure, path: Path) -> Path:
    drawing.savefig(path, dpi=130, bbox_inches="tight")
    load_matplotlib().close(drawing)
    return path
