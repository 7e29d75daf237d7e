"""Saying early that a run will not end as hoped: what it would take, and which slack would do.

Estimates, from the present means; what is certified does not depend on them.
"""

from __future__ import annotations

from bestk.study.remote import RemoteStudy
from bestk.study.result import Result
from bestk.study.study import Study

FIRST = 30  # pulls of an arm, on average, before anything is said; arbitrary, as are the next two
FAR = 3.0  # times what is left of a budget
FURTHER = 50.0  # times what was spent, where there is no budget
MORE = 10  # times what was spent: what a slack is named for, where there is no budget


class Adviser:
    """Looks at a run whenever its pulls have doubled, until there is something to say, once."""

    def __init__(self, study: Study | RemoteStudy, budget: int | None) -> None:
        self.study, self.budget = study, budget
        self._next = FIRST * len(study.arms)
        if budget is not None:
            self._next = min(self._next, max(3 * len(study.arms), budget // 4))
        self._is_done = False

    def look(self) -> str | None:
        """What there is to say now."""
        samples = self.study.samples
        if self._is_done or samples < self._next or self.study.is_stopped:
            return None
        self._next = 2 * samples
        said = self._judge(self.study.summary(None))
        self._is_done = said is not None
        return said

    def _judge(self, result: Result) -> str | None:
        if result.certifiable_epsilon is None or not self.study.forecasts:
            return None
        samples, forecast, epsilon = result.samples, result.forecast, self.study.problem.epsilon
        if self.budget is not None:
            left = max(0, self.budget - samples)
            if forecast is not None and forecast <= FAR * left:
                return None
            buys = f"the {left:,} pulls left of the budget"
        else:
            is_far = forecast is None or forecast > FURTHER * samples or result.tied
            if epsilon > 0.0 or self.study.specification.items is not None or not is_far:
                return None
            left, buys = MORE * samples, f"{MORE * samples:,} more pulls"
        needs = f"about {forecast or 0:,} more are needed{result.usually}"
        if forecast is None:
            needs = "no end is in sight"
        elif self.budget is not None and result.is_beyond(left or self.budget):
            needs = "far more than the budget is needed"
        looks = "; the boundary looks tied" if forecast is None or result.tied else ""
        now = result.enough(result.certifiable_epsilon)
        wanted = f"a slack of {result.slack(epsilon)}" if epsilon else "epsilon = 0"
        said = (
            f"after {samples:,} pulls {needs} at {wanted} (an estimate){looks}. With"
            f" {now} the present answer would be certified now"
        )
        if (slack := self.study.slack_for(left)) is not None:
            said += f"; {buys} will reach about {result.enough(slack)}"
        return said
