"""The drawn sections of a study's page: intervals, effort, and how the finalists' shrank."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from html import escape
from itertools import pairwise

import numpy as np

from bestk.decisions import TopK
from bestk.report import words
from bestk.report.page import charts
from bestk.report.page.charts import Scale
from bestk.study import ArmResult, Result, Study
from bestk.study.notebook import around, ends, shown
from bestk.study.result import SECONDS, size_of
from bestk.study.trajectory import Trajectory

ANSWERED, RIVALS = 5, 4  # arms whose intervals are followed through time


def finalists(study: Study, result: Result, arms: Sequence[ArmResult]) -> list[Hashable]:
    """Arms on either side of the boundary: by mean for the K best, else the most sampled."""
    inside, outside = list(arms[: len(result.top)]), list(arms[len(result.top) :])
    if isinstance(study.problem.decision, TopK):
        inside = inside[-ANSWERED:]
    else:
        for side in (inside, outside):
            side.sort(key=lambda arm: -arm.pulls)
    return [arm.label for arm in (*inside[:ANSWERED], *outside[:RIVALS]) if arm.pulls]


class View:
    """A study, its arms in order, how it went, and how its numbers are written."""

    def __init__(
        self, study: Study, result: Result, arms: list[ArmResult], trajectory: Trajectory
    ) -> None:
        self.study, self.result, self.arms, self.trajectory = study, result, arms, trajectory
        self.specification = study.specification
        self.headline = words.headline(self.specification, len(arms))
        self.answered = len(result.top)
        self.shown = shown(len(arms), self.answered)
        self.by_label = {arm.label: arm for arm in arms}
        seen = [arms[place] for place in self.shown]
        self.scale = Scale(*around(ends(seen)))
        # numbers are shown in one unit; of seconds that of the first arm that has a value
        mean = next((arm.mean for arm in arms if arm.mean is not None), 1.0)
        self.size, self.unit = 1.0, result.unit or ""
        if result.unit == SECONDS:
            self.size, self.unit = size_of(mean)
        widths = [
            (a.high - a.low) / self.size for a in seen if a.low is not None and a.high is not None
        ]
        narrow = min((width for width in widths if width > 0.0), default=0.01)
        self.decimals = min(8, max(0, 1 - math.floor(math.log10(narrow))))
        # before each arm has a value there is little to see; all, where too few would be left
        start = int(np.searchsorted(trajectory.samples, len(arms)))
        self.start = start if start <= len(trajectory.samples) - 5 else 0

    def number(self, value: float | None, missing: str) -> str:
        """A mean or an end of an interval, to two digits of the narrowest interval."""
        if value is None:
            return missing
        unit = f" {escape(words.name(self.unit))}" if self.unit else ""
        return f"{value / self.size:,.{self.decimals}f}{unit}"

    def interval(self, arm: ArmResult) -> str:
        """From where to where."""
        return f"{self.number(arm.low, '−∞')} to {self.number(arm.high, '∞')}"


def escaped(label: Hashable) -> str:
    """An arm's label as HTML."""
    return escape(words.name(label))


def _key(colour: str, text: str) -> str:
    """An entry of a legend."""
    return f'<span class="entry"><span class="key {colour}"></span> {text}</span>'


def intervals(view: View) -> str:
    """All arms, or the leaders and those around the boundary, with where the others are."""
    most = max((arm.pulls for arm in view.arms), default=0) or 1
    axis = f'<li class="axis"><div class="plot">{charts.axis(view.scale)}</div></li>'
    rows = rest = ""
    for last, place in pairwise([-1, *view.shown]):
        if place > last + 1:
            rows += f'<li class="gap">{place - last - 1:,} arms are not drawn here</li>'
        if place == view.answered and place:
            rows += '<li class="gap end">the answer ends here</li>'
        rows += _row(view, place, most)
    if hidden := set(range(len(view.arms))) - set(view.shown):
        means = [m for place in hidden if (m := view.arms[place].mean) is not None]
        says = f"The means of the {len(hidden):,} other arms"
        scale = Scale(*around(means))
        rest = (
            f"<h3>{says}</h3>{charts.density(scale, means, says)}{charts.axis(scale)}"
            '<p class="soft">A bar is higher the more arms have a mean there.</p>'
        )
    texts = {"in": "in the answer", "out": "not in it", "undecided": "undecided"}
    if not view.result.certified:
        texts |= {"in": "in, by its interval", "out": "out, by its interval"}
    present = {arm.status for arm in view.arms}
    legend = ", ".join(_key(status, text) for status, text in texts.items() if status in present)
    return (
        "<section><h2>Every arm&rsquo;s interval</h2>"
        f'<p class="soft">A dot is the {view.result.compares} of what was observed, a bar the'
        f" interval that the policy decides by. {legend}{_axis_of(view)}</p>"
        f'<ol class="arms">{axis}{rows}{axis}</ol>{rest}</section>'
    )


def _axis_of(view: View) -> str:
    """In which unit axes are."""
    unit = view.result.unit
    return f". Axes are in {escape(words.name(unit))}." if unit else ""


def _row(view: View, place: int, most: int) -> str:
    arm = view.arms[place]
    numbers = "unknown" if arm.pulls else "not observed"
    if arm.mean is not None:
        numbers = f"<b>{view.number(arm.mean, '')}</b>"
        numbers += f' <span class="soft">({view.interval(arm)})</span>'
    mean = f"{view.result.compares} {view.number(arm.mean, 'unknown')}"
    says = f"{words.name(arm.label)}: {mean}, interval {view.interval(arm)}, {arm.status}"
    strip = charts.strip(view.scale, arm, says)
    return (
        f'<li><span class="rank">{place + 1}</span>'
        f'<span class="name" title="{escaped(arm.label)}">{escaped(arm.label)}</span>'
        f'<div class="plot">{strip}</div><span class="numbers">{numbers}</span>'
        f'<span class="pulls">{words.many(arm.pulls, "pull")}'
        f'<i style="width:{100 * arm.pulls / most:.1f}%"></i></span></li>'
    )


def effort(view: View) -> str:
    """Where the pulls went, in the end and over time."""
    known, start = view.trajectory, view.start
    if len(known.samples) < 2:
        return ""
    top = set(view.result.top)
    rivals = [row for row, label in enumerate(known.arms) if label not in top]
    samples = known.samples[start:]
    answer = known.answer[start:] / samples
    close = np.nan_to_num(known.pulls[rivals, start:]).sum(axis=0) / samples
    groups = [("in", answer), ("rival", close), ("out", 1.0 - answer - close)]
    statuses = [arm.status for arm in view.arms]
    pulls = [arm.pulls for arm in view.arms]
    spread = charts.effort(pulls, statuses, "Pulls of every arm, best first")
    time = charts.shares(samples, groups, "Shares of the pulls over time")
    closest = f"its closest {words.many(len(rivals), 'rival')}"
    return (
        "<section><h2>How pulls were spread</h2><p class=soft>A policy that adapts samples those"
        ' arms most that are hard to tell apart.</p><div class="charts two">'
        "<figure><figcaption>Pulls of each arm</figcaption>"
        f"{spread}</figure><figure><figcaption>Shares of all pulls so far:"
        f" {_key('in', 'the answer')}, {_key('rival', closest)},"
        f" {_key('out', 'all others')}</figcaption>{time}</figure></div></section>"
    )


def shrinking(view: View) -> str:
    """A chart for each finalist."""
    known, start = view.trajectory, view.start
    if len(known.samples) < 2 or not known.arms:
        return ""
    boundary = _boundary(view)
    paths = np.stack([known.means, known.low, known.high])
    last = paths[:, :, -1]
    samples = known.samples[start:]
    frame = charts.over_time(samples, Scale(*around(last[np.isfinite(last)].tolist(), margin=0.5)))
    figures = ""
    for row, label in enumerate(known.arms):
        arm = view.by_label[label]
        title = f"The interval of {words.name(label)} over time"
        says = f"At the end: {view.interval(arm)} after {arm.pulls:,} pulls."
        path = paths[:, row, start:]
        chart = charts.shrinking(frame, samples, path, arm.status, boundary, title, says)
        figures += (
            f"<figure><figcaption><b class={arm.status}>{arm.status}</b> {escaped(label)}"
            f"</figcaption>{chart}</figure>"
        )
    dashed = "" if boundary is None else " Dashed: half way between the answer and the rest."
    return (
        "<section><h2>How the finalists&rsquo; intervals shrank</h2>"
        f'<p class="soft">The line is the {view.result.compares} so far, the band its interval; the'
        f" number of pulls grows to the right on a logarithmic scale.{dashed}</p>"
        f'<div class="charts finalists">{figures}</div></section>'
    )


def _boundary(view: View) -> float | None:
    """Half way between the last arm of the answer and the first one that is not in it."""
    if not isinstance(view.study.problem.decision, TopK) or not view.answered:
        return None
    inside, outside = view.arms[view.answered - 1].mean, view.arms[view.answered].mean
    return None if inside is None or outside is None else (inside + outside) / 2.0
