"""The drawings of a study's page: plain SVG, coloured by the page's style sheet.

Two kinds. Strips have no size of their own: places are percentages of the width they are given, so
that they line up in columns on any screen. Charts are drawn for about 340 points of width, a phone
or a third of a desk, so that their texts can be read at either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.study import ArmResult

WIDTH, HEIGHT = 340, 190  # of a chart
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 8, 36  # its margins
MAX_BARS = 140  # in a chart; more arms share bars


@dataclass(frozen=True)
class Scale:
    """From values to places between 0 and 1."""

    low: float
    high: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place; outside of the range beyond 0 or 1."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)

    def ticks(self, about: int) -> list[float]:
        """Round values in the range."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high / self.low < 200.0 else (1,)
            values = [float(factor) * 10.0**decade for decade in decades for factor in steps]
            return [value for value in values if self.low <= value <= self.high]
        rough = (self.high - self.low) / about
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


def short(value: float) -> str:
    """A number on an axis."""
    for least, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / size:g}{unit}"
    return f"{value:,g}" if abs(value) >= 1e3 else f"{value:g}"


# --- strips: percentages of any width -------------------------------------------------------------


def axis(scale: Scale) -> str:
    """The numbers above or below a column of strips."""
    texts = "".join(
        f'<text x="{100 * scale(tick):.2f}%" y="12">{short(tick)}</text>'
        for tick in scale.ticks(5)
        if 0.02 < scale(tick) < 0.98
    )
    return f'<svg class="strip" height="16" aria-hidden="true">{texts}</svg>'


def strip(scale: Scale, arm: ArmResult, says: str) -> str:
    """One interval with its mean; an end that is missing goes to the edge."""
    inside = ""
    if arm.mean is not None:
        start = 0.0 if arm.low is None else scale(arm.low)
        end = 1.0 if arm.high is None else scale(arm.high)
        inside = (
            f'<rect class="bar {arm.status}" x="{100 * start:.2f}%" y="6" height="8" rx="4"'
            f' width="{max(0.3, 100 * (end - start)):.2f}%"/>'
            f'<circle class="dot {arm.status}" cx="{100 * scale(arm.mean):.2f}%" cy="10" r="4"/>'
        )
    return _strip(scale, 20, inside, says)


def density(scale: Scale, means: Sequence[float], says: str) -> str:
    """Where the means of many arms lie."""
    heights = np.histogram(means, np.linspace(scale.low, scale.high, 61))[0]
    inside = ""
    for place in np.flatnonzero(heights):
        tall = 4.0 + 52.0 * heights[place] / heights.max()
        inside += (
            f'<rect class="bar out" x="{100 * place / 60:.2f}%" y="{60 - tall:.1f}"'
            f' width="1.5%" height="{tall:.1f}"/>'
        )
    return _strip(scale, 60, inside, says)


def _strip(scale: Scale, height: int, inside: str, says: str) -> str:
    places = [f"{100 * scale(tick):.2f}%" for tick in scale.ticks(5) if 0.0 < scale(tick) < 1.0]
    grid = "".join(f'<line x1="{x}" x2="{x}" y1="0" y2="100%"/>' for x in places)
    title = f"<title>{escape(says)}</title>"
    return f'<svg class="strip" height="{height}" role="img">{title}{grid}{inside}</svg>'


# --- charts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """The axes of a chart."""

    x: Scale
    y: Scale
    x_title: str

    def place(self, x: float, y: float) -> tuple[float, float]:
        """In points."""
        across = LEFT + self.x(x) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - self.y(y) * (HEIGHT - TOP - BOTTOM)

    def points(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        """Of a line; far outside of the frame is as good as farther."""
        far = self.y.high - self.y.low
        ys = np.clip([*ys], self.y.low - far, self.y.high + far)
        places = (self.place(x, y) for x, y in zip(xs, ys, strict=True))
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)

    def band(self, xs: IntArray, low: FloatArray, high: FloatArray) -> str:
        """For a polygon between two lines."""
        return self.points([*xs, *xs[::-1]], [*high, *low[::-1]])

    def draw(self, inside: str, title: str, description: str, percent: bool = False) -> str:
        """The chart around what is drawn inside."""
        lines = texts = ""
        for tick in self.y.ticks(5):
            y = self.place(self.x.low, tick)[1]
            lines += f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            text = f"{100 * tick:g}%" if percent else short(tick)
            texts += f'<text class="y" x="{LEFT - 6}" y="{y + 4:.1f}">{text}</text>'
        for tick in self.x.ticks(4):
            x = self.place(tick, self.y.low)[0]
            lines += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            texts += f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}">{short(tick)}</text>'
        middle = (LEFT + WIDTH - RIGHT) / 2
        texts += f'<text x="{middle}" y="{HEIGHT - 5}">{escape(self.x_title)}</text>'
        width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{lines}"
            f'<svg x="{LEFT}" y="{TOP}" width="{width}" height="{height}"'
            f' viewBox="{LEFT} {TOP} {width} {height}">{inside}</svg>{texts}</svg>'
        )


def over_time(samples: IntArray, y: Scale) -> Frame:
    """Axes for something that changed with the number of pulls."""
    first, last = float(samples[0]), float(samples[-1])
    return Frame(Scale(first, max(last, first * 2.0), log=True), y, "pulls of all arms")


def shrinking(
    frame: Frame,
    samples: IntArray,
    known: FloatArray,
    status: str,
    boundary: float | None,
    title: str,
    description: str,
) -> str:
    """How an interval closed around its mean: rows of `known` are mean, low and high over time."""
    seen = np.isfinite(known[0])
    xs, (mean, low, high) = samples[seen], (ends[seen] for ends in known)
    bottom, top = np.nan_to_num(low, nan=-math.inf), np.nan_to_num(high, nan=math.inf)
    inside = f'<polygon class="band {status}" points="{frame.band(xs, bottom, top)}"/>'
    inside += f'<polyline class="path {status}" points="{frame.points(xs, mean)}"/>'
    if boundary is not None:
        ends = frame.points([frame.x.low, frame.x.high], [boundary, boundary])
        inside += f'<polyline class="edge" points="{ends}"/>'
    return frame.draw(inside, title, description)


def shares(samples: IntArray, groups: Sequence[tuple[str, FloatArray]], title: str) -> str:
    """Which groups of arms the pulls had gone to, as shares that add up to one."""
    frame = over_time(samples, Scale(0.0, 1.0))
    below, inside = np.zeros(len(samples)), ""
    for name, share in groups:
        area = frame.band(samples, below, below + share)
        inside += f'<polygon class="area {name}" points="{area}"/>'
        below = below + share
    said = ", ".join(f"{name} {100 * share[-1]:.0f}%" for name, share in groups)
    return frame.draw(inside, title, f"At the end: {said}.", percent=True)


def effort(pulls: Sequence[int], statuses: Sequence[str], title: str) -> str:
    """How often each arm was pulled, best first; where there are many, several share a bar."""
    per_bar = math.ceil(len(pulls) / MAX_BARS)
    starts = range(0, len(pulls), per_bar)
    heights = [float(np.mean(pulls[start : start + per_bar])) for start in starts]
    frame = Frame(Scale(0.5, len(pulls) + 0.5), Scale(0.0, max([*heights, 1.0]) * 1.05), "rank")
    inside, bottom = "", frame.place(1, 0.0)[1]
    for start, height in zip(starts, heights, strict=True):
        end = min(start + per_bar, len(pulls))
        (left, top), right = frame.place(start + 0.5, height), frame.place(end + 0.5, 0.0)[0]
        wide = max(0.6, right - left - min(1.5, 0.25 * (right - left)))
        inside += (
            f'<rect class="bar {statuses[start]}" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}"'
            f' height="{bottom - top:.1f}"/>'
        )
    most = int(np.argmax(pulls)) + 1 if pulls else 0
    shared = f" A bar is the mean of {per_bar} arms." if per_bar > 1 else ""
    return frame.draw(inside, title, f"Rank {most} has the most pulls, {max(pulls):,}.{shared}")
