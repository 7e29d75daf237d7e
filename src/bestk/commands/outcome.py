"""What a race found: the result of its study, what its times are, and what nobody knows of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from bestk.commands.comparing import MEAN
from bestk.commands.relative import Ratio
from bestk.study.result import Result


@dataclass(frozen=True)
class RaceResult:
    """What a race found: the result of its study, and what its times are."""

    result: Result
    cap: float | None  # None: runs were not cut
    cut: dict[str, int]  # how many runs were cut, of the commands that had such runs
    failed: dict[str, str]  # the commands that left the race in warm-up, and why
    by: str = MEAN  # what was compared: mean, median, or which quantile
    relative: dict[str, Ratio] = field(default_factory=dict)  # to the fastest
    at_least: set[str] = field(default_factory=set)  # commands that may be slower than they look
    # of pairs: comparisons within blocks that each command has won, and of how many; ties count
    wins: dict[str, tuple[int, int]] = field(default_factory=dict)
    each: int | None = None  # runs of each command that were asked for, certain or not

    def to_dict(self) -> dict[str, Any]:
        """The result of the study, with a few keys more."""
        more = {"cap": self.cap, "cut": self.cut, "failed": self.failed, "by": self.by}
        relative = {command: ratio.to_dict() for command, ratio in self.relative.items()}
        wins = {command: {"won": won, "of": of} for command, (won, of) in self.wins.items()}
        return self.result.to_dict() | more | {"relative": relative, "wins": wins}


def told_apart(result: Result, at_least: set[str]) -> Result:
    """The same, not certified if an answered command may be as slow as any that is not.

    What is proved is about min(time, limit), and of commands at the limit that says nothing.
    """
    if result.compares == MEAN or not any(str(arm) in at_least for arm in result.top):
        return result
    arms = tuple(
        replace(arm, status="undecided") if str(arm.label) in at_least else arm
        for arm in result.arms
    )
    return replace(
        result, certified=False, error_bound=None, theorem=None, certifiable_epsilon=None, arms=arms
    )
