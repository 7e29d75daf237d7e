"""What the sections of a study's page share: which arms are shown, in which order and digits."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from bestk.decisions import TopK
from bestk.report import words
from bestk.report.page import charts
from bestk.study import ArmResult, Result, Study
from bestk.study.notebook import shown
from bestk.study.trajectory import Trajectory

ANSWERED, RIVALS = 5, 4  # arms whose intervals are followed through time


def finalists(study: Study, result: Result, arms: Sequence[ArmResult]) -> list[Hashable]:
    """Arms on either side of the boundary: by mean for the K best, else the most sampled."""
    inside, outside = arms[: len(result.top)], list(arms[len(result.top) :])
    if isinstance(study.problem.decision, TopK):
        chosen = [*inside[-ANSWERED:], *outside[:RIVALS]]
    else:
        chosen = sorted(inside, key=lambda arm: -arm.pulls)[:ANSWERED]
        chosen += sorted(outside, key=lambda arm: -arm.pulls)[:RIVALS]
    return [arm.label for arm in chosen if arm.pulls]


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
        seen = [arms[place] for place in self.shown if arms[place].pulls]
        self.scale = charts.around(end for arm in seen for end in (arm.low, arm.mean, arm.high))
        widths = [a.high - a.low for a in seen if a.low is not None and a.high is not None]
        narrow = min((width for width in widths if width > 0.0), default=0.01)
        self.decimals = min(8, max(0, 1 - math.floor(math.log10(narrow))))

    def number(self, value: float | None, missing: str) -> str:
        """A mean or an end of an interval, to two digits of the narrowest interval."""
        return missing if value is None else f"{value:,.{self.decimals}f}"

    def interval(self, arm: ArmResult) -> str:
        """From where to where."""
        return f"{self.number(arm.low, '−∞')} to {self.number(arm.high, '∞')}"
