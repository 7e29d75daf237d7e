"""The drawn sections of a study's page: intervals, effort, and how the finalists' shrank."""

from __future__ import annotations

from collections.abc import Hashable
from html import escape

import numpy as np

from bestk.decisions import TopK
from bestk.report import words
from bestk.report.page import charts
from bestk.report.page.view import View


def escaped(label: Hashable) -> str:
    """An arm's label as HTML."""
    return escape(words.name(label))


def key(colour: str, text: str) -> str:
    """An entry of a legend."""
    return f'<span class="entry"><span class="key {colour}"></span> {text}</span>'


def intervals(view: View) -> str:
    """All arms, or the leaders and those around the boundary, with where the others are."""
    most = max((arm.pulls for arm in view.arms), default=0) or 1
    rows, last = [], -1
    for place in view.shown:
        if place > last + 1:
            rows.append(f'<li class="gap">{place - last - 1:,} arms are not drawn here</li>')
        if place == view.answered and place:
            rows.append('<li class="gap end">the answer ends here</li>')
        rows.append(_row(view, place, most))
        last = place
    axis = f'<li class="axis"><div class="plot">{charts.axis(view.scale)}</div></li>'
    rest = ""
    hidden = set(range(len(view.arms))) - set(view.shown)
    if hidden:
        means = [m for place in hidden if (m := view.arms[place].mean) is not None]
        says = f"The means of the {len(hidden):,} other arms"
        scale = charts.around(means)
        rest = (
            f"<h3>{says}</h3>{charts.density(scale, means, says)}{charts.axis(scale)}"
            '<p class="soft">A bar is higher the more arms have a mean there.</p>'
        )
    return (
        "<section><h2>Every arm&rsquo;s interval</h2>"
        f'<p class="soft">A dot is the mean of what was observed, a bar the interval that the'
        f" policy decides by. {_legend(view)}</p>"
        f'<ol class="arms">{axis}{"".join(rows)}{axis}</ol>{rest}</section>'
    )


def _row(view: View, place: int, most: int) -> str:
    arm = view.arms[place]
    numbers = "not observed"
    if arm.mean is not None:
        numbers = f"<b>{view.number(arm.mean, '')}</b>"
        numbers += f' <span class="soft">({view.interval(arm)})</span>'
    says = f"{words.name(arm.label)}: mean {view.number(arm.mean, 'unknown')}, interval"
    says += f" {view.interval(arm)}, {arm.status}"
    strip = charts.strip(view.scale, arm.low, arm.mean, arm.high, arm.status, says)
    return (
        f'<li><span class="rank">{place + 1}</span>'
        f'<span class="name" title="{escaped(arm.label)}">{escaped(arm.label)}</span>'
        f'<div class="plot">{strip}</div><span class="numbers">{numbers}</span>'
        f'<span class="pulls">{words.many(arm.pulls, "pull")}'
        f'<i style="width:{100 * arm.pulls / most:.1f}%"></i></span></li>'
    )


def effort(view: View) -> str:
    """Where the pulls went, in the end and over time."""
    known = view.trajectory
    if len(known.samples) < 2:
        return ""
    top = set(view.result.top)
    rivals = [row for row, label in enumerate(known.arms) if label not in top]
    groups = [
        ("in", known.answer / known.samples),
        ("rival", np.nan_to_num(known.pulls[rivals]).sum(axis=0) / known.samples),
    ]
    groups.append(("out", 1.0 - groups[0][1] - groups[1][1]))
    start = _start(view)
    spread = charts.effort(
        [arm.pulls for arm in view.arms],
        [arm.status for arm in view.arms],
        "Pulls of every arm, best first",
    )
    time = charts.shares(
        known.samples[start:],
        [(name, share[start:]) for name, share in groups],
        "Shares of the pulls over time",
    )
    closest = f"its closest {words.many(len(rivals), 'rival')}"
    return (
        "<section><h2>How pulls were spread</h2><p class=soft>A policy that adapts samples those"
        ' arms most that are hard to tell apart.</p><div class="charts two">'
        "<figure><figcaption>Pulls of each arm</figcaption>"
        f"{spread}</figure><figure><figcaption>Shares of all pulls so far:"
        f" {key('in', 'the answer')}, {key('rival', closest)},"
        f" {key('out', 'all others')}</figcaption>{time}</figure></div></section>"
    )


def _start(view: View) -> int:
    """The first checkpoint that is drawn: before each arm has a value there is little to see.

    All of them where there would be too few left.
    """
    start = int(np.searchsorted(view.trajectory.samples, len(view.arms)))
    return start if start <= len(view.trajectory.samples) - 5 else 0


def shrinking(view: View) -> str:
    """A chart for each finalist."""
    known = view.trajectory
    if len(known.samples) < 2 or not known.arms:
        return ""
    boundary = _boundary(view)
    ends = [*known.low[:, -1], *known.high[:, -1], *known.means[:, -1]]
    scale = charts.around(map(float, ends), margin=0.5)
    start = _start(view)
    samples = known.samples[start:]
    frame = charts.over_time(samples, scale)
    figures = ""
    for row, label in enumerate(known.arms):
        arm = view.by_label[label]
        chart = charts.shrinking(
            frame,
            samples,
            (known.means[row, start:], known.low[row, start:], known.high[row, start:]),
            arm.status,
            boundary,
            f"The interval of {words.name(label)} over time",
            f"At the end: {view.interval(arm)} after {arm.pulls:,} pulls.",
        )
        figures += (
            f"<figure><figcaption><b class={arm.status}>{arm.status}</b> {escaped(label)}"
            f"</figcaption>{chart}</figure>"
        )
    dashed = "" if boundary is None else " Dashed: half way between the answer and the rest."
    return (
        "<section><h2>How the finalists&rsquo; intervals shrank</h2>"
        '<p class="soft">The line is the mean so far, the band its interval; the number of pulls'
        f" grows to the right on a logarithmic scale.{dashed}</p>"
        f'<div class="charts finalists">{figures}</div></section>'
    )


def _boundary(view: View) -> float | None:
    """Half way between the last arm of the answer and the first one that is not in it."""
    if not isinstance(view.study.problem.decision, TopK) or not view.answered:
        return None
    inside, outside = view.arms[view.answered - 1].mean, view.arms[view.answered].mean
    return None if inside is None or outside is None else (inside + outside) / 2.0


def _legend(view: View) -> str:
    texts = {"in": "in the answer", "out": "not in it", "undecided": "undecided"}
    if not view.result.certified:
        texts |= {"in": "in, by its interval", "out": "out, by its interval"}
    present = {arm.status for arm in view.arms}
    return ", ".join(key(status, text) for status, text in texts.items() if status in present)
