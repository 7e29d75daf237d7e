"""What a study knows: the answer, how far it is proved, and every arm's interval."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

Status = Literal["in", "out", "undecided"]
Stopped = Literal["rule", "budget", "interrupted"]
SECONDS, SIZES = "s", ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
PROVED_ONLY = "the answer is proved by now, but the policy has not stopped"
LEFT_OUT = {  # of what JSON holds, where it is as usual
    "compares": "mean", "unit": None, "relative_slack": False, "claim": None, "proved": False,
}  # fmt: skip
BEYOND = 10  # times what is left of a budget: a number of pulls tells nobody more; arbitrary
NAMES = 60  # letters; longer labels push their own line to the right
NAMED = 20  # arms of the answer listed by name


@dataclass(frozen=True)
class ArmResult:
    """One arm."""

    label: Hashable
    mean: float | None  #: of all its observations, or their quantile; None before the first
    low: float | None  #: of the interval the policy stops by; None where it has no end
    high: float | None
    pulls: int  #: observations; before the stop those that do not count yet included
    failed: int
    status: Status


@dataclass(frozen=True)
class Waiting:
    """An open pull that later answers wait for."""

    pull: str
    arm: Hashable
    index: int


@dataclass(frozen=True)
class Result:
    """The state of a study; `to_dict()` is what every `--json` prints."""

    study: str
    top: tuple[Hashable, ...]  #: the present answer, best mean first
    certified: bool
    error_bound: float | None  #: the proved error probability, if certified
    theorem: str | None  #: what proves it
    samples: int
    seconds: float
    stopped: Stopped | None
    tied: bool  #: whether the boundary looks tied: give a slack, or a budget
    certifiable_epsilon: float | None  #: the least slack at which `top` is certified now
    forecast: int | None  #: an estimate of the pulls that remain
    arms: tuple[ArmResult, ...]
    #: where the pulls that remain lie in four studies of five (docs/studies.md, "Forecasts")
    forecast_interval: tuple[int, int] | None = None
    held: int = 0  #: observations that came back before an earlier pull, and do not count yet
    waiting: tuple[Waiting, ...] = ()  #: the pulls that they wait for
    assumptions: tuple[str, ...] = ()  #: what the guarantee rests on beside the reward assumption
    warnings: tuple[str, ...] = ()  #: what speaks against it, or that its policy failed
    #: sums of the numbers that answers carried beside their rewards, by name
    totals: dict[str, float] = field(default_factory=dict)
    #: what the author of a policy in Python claims of it; none of it is proved here
    claim: str | None = None
    #: whether `top` is proved at the slack that was wanted, while a policy in Python, whose stop
    #: certifies, goes on
    proved: bool = False
    maximize: bool = field(default=True, repr=False)  #: for the order of the table
    #: what arms are compared by, and `ArmResult.mean` holds: "mean", or "median" and the like
    compares: str = "mean"
    #: of rewards, as answers name it (docs/studies.md); "s" is shown as s, ms or us
    unit: str | None = None
    relative_slack: bool = False  #: whether slacks are factors: 0.1 is 10%

    @property
    def ranked(self) -> list[ArmResult]:
        """The arms, best mean first, those without a value last."""
        sign = -1.0 if self.maximize else 1.0
        return sorted(self.arms, key=lambda a: math.inf if a.mean is None else sign * a.mean)

    @property
    def usually(self) -> str:
        """What goes with a forecast, where it usually lies: in four studies of five."""
        if self.forecast_interval is None:
            return ""
        low, high = self.forecast_interval
        return f", usually {low:,} to {high:,}"

    def is_beyond(self, budget: int | None) -> bool:
        """Whether the forecast is far beyond what is left of a budget, or was if it is spent."""
        return budget is not None and (self.forecast or 0) > BEYOND * budget

    @property
    def proof(self) -> str:
        """How far the answer is proved; if it is not, at which slack it would be."""
        if self.certified:
            slack = self.certifiable_epsilon
            up_to = f", slack {self.slack(slack)}" if slack else ""
            return f"certified: error <= {self.error_bound:g}{up_to} ({self.theorem})"
        if self.proved:
            return f"not certified: {PROVED_ONLY}"
        if self.certifiable_epsilon is None:
            return "not certified"
        return f"not certified; with {self.enough(self.certifiable_epsilon)} it would be"

    def enough(self, epsilon: float) -> str:
        """A slack that would do, rounded up: `epsilon = 0.12`, as it may be given, or in words."""
        is_plain = self.unit is None and not self.relative_slack
        return f"{'epsilon =' if is_plain else 'a slack of'} {self.rounded_up(epsilon)}"

    def slack(self, epsilon: float) -> str:
        """A slack that was wanted, for people: in the unit of rewards, or in percent."""
        return self._sized(epsilon, Context(prec=6))

    def rounded_up(self, epsilon: float) -> str:
        """One that was not: in a few digits, and never less than what was proved."""
        return self._sized(epsilon, Context(prec=3, rounding=ROUND_CEILING))

    def _sized(self, epsilon: float, digits: Context) -> str:
        size, name = 1.0, "" if self.unit is None else f" {printed(self.unit)}"
        if not epsilon:
            name = ""
        elif self.relative_slack:
            size, name = 0.01, "%"
        elif self.unit == SECONDS:
            size, name = size_of(epsilon)
            name = f" {name}"
        exact = Decimal(repr(float(epsilon))) / Decimal(repr(size))
        return f"{float(digits.plus(exact)):g}{name}"

    @property
    def answer_line(self) -> str | None:
        """The answer by name, where a table by means would mislead: it is not their first ones.

        Policies of a fixed budget answer what they accepted, on as many pulls as it had then; other
        classes than the K best have answers of their own. What is certified is marked as `in`.
        """
        first = {arm.label for arm in self.ranked[: len(self.top)]}
        if self.certified or set(self.top) == first:
            return None
        more = len(self.top) - NAMED
        names = ", ".join(map(printed, self.top[:NAMED]))
        return f"answer: {names}" + (f" and {more:,} more" if more > 0 else "")

    @property
    def remarks(self) -> list[str]:
        """What a reader has to know beside the numbers, one per line."""
        lines = [f"warning: {text}" for text in self.warnings]
        if self.held:
            early = "1 observation" if self.held == 1 else f"{self.held:,} observations"
            if self.stopped == "rule":
                lines.append(f"{early} came back before an earlier pull: not counted")
            elif self.waiting:
                first = f"{self.waiting[0].pull} of {printed(self.waiting[0].arm)}"
                others = f" and {len(self.waiting) - 1:,} more" if len(self.waiting) > 1 else ""
                lines.append(f"{early} held back, waiting for an earlier pull: {first}{others}")
        if self.claim is not None:
            lines.append(f"the policy's author claims, which bestk has not proved: {self.claim}")
        return lines + [f"assumed: {text}" for text in self.assumptions]

    def to_dict(self) -> dict[str, Any]:
        """Finite numbers, texts and nulls only."""
        data = asdict(self)
        del data["maximize"]  # part of the problem, not of the result
        for name, usual in LEFT_OUT.items():
            if data[name] == usual:
                del data[name]
        data["top"] = [_plain(label) for label in self.top]
        data["arms"] = [dict(asdict(arm), label=_plain(arm.label)) for arm in self.arms]
        data["waiting"] = [dict(asdict(pull), arm=_plain(pull.arm)) for pull in self.waiting]
        if self.forecast_interval is not None:
            data["forecast_interval"] = list(self.forecast_interval)
        data["assumptions"], data["warnings"] = list(self.assumptions), list(self.warnings)
        return data

    def __str__(self) -> str:
        """A table for people: rank, arm, mean, interval, pulls, status."""
        names = [printed(arm.label) for arm in self.ranked]
        wide = max(len(name) for name in [*names, "arm"] if len(name) <= NAMES)
        numbers = max(9, len(self.compares))
        head = f"rank  {'arm':<{wide}} {self.compares:>{numbers}}  {'interval':<22}"
        lines = [f"{head} {'pulls':>8}  status"]
        for rank, (name, arm) in enumerate(zip(names, self.ranked, strict=True), 1):
            lines.append(
                f"{rank:>4}  {name:<{wide}} {number(arm.mean, '-', self.unit):>{numbers}} "
                f" {interval(arm, self.unit):<22} {arm.pulls:>8,}  {arm.status}"
            )
        lines += [self.answer_line] if self.answer_line else []
        lines.append(f"{self.samples:,} samples, {self.proof}")
        lines += self.remarks
        return "\n".join(lines)

    def to_pandas(self) -> DataFrame:
        """A table with a row for each arm, best mean first; needs pandas.

        Columns: `arm` (its place among the arms as they were given), `label`, `pulls`, `failed`,
        `mean` (NaN before the first observation), `lower` and `upper` (infinite where the interval
        has no end), `status` and `in_answer`.
        """
        from bestk.study.notebook import frame

        return frame(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every arm's interval with its mean, the answer first; needs matplotlib.

        Draws on `ax`, or on a figure of its own. Of more than 60 arms the first ones are drawn and
        those around the boundary of the answer.
        """
        from bestk.study.notebook import plot

        return plot(self, ax)

    def _repr_html_(self) -> str:
        from bestk.study.notebook import html

        return html(self, f"{self.samples:,} samples, {self.proof}")


def number(value: float | None, missing: str, unit: str | None = None) -> str:
    """A mean or an end of an interval, for people; seconds in a size that fits."""
    if value is None or unit is None:
        return missing if value is None else f"{value:.4g}"
    if unit != SECONDS:
        return f"{value:.4g} {printed(unit)}"
    size, name = size_of(value)
    return f"{value / size:.4g} {name}"


def size_of(seconds: float) -> tuple[float, str]:
    """The unit that a number of seconds is shown in: its size and its name."""
    return next((s for s in SIZES if abs(seconds) >= s[0]), SIZES[-1] if seconds else SIZES[0])


def interval(arm: ArmResult, unit: str | None = None) -> str:
    """An arm's interval, for people."""
    return f"[{number(arm.low, '-inf', unit)}, {number(arm.high, 'inf', unit)}]"


def printed(label: Hashable) -> str:
    """A label on one line of a terminal, whatever it holds."""
    return str(label) if str(label).isprintable() else repr(label)


def _plain(label: Hashable) -> Any:
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and not math.isfinite(plain):
        return str(plain)
    return plain if isinstance(plain, str | int | float | bool | None) else str(label)
