"""What a study knows: the answer, how far it is proved, and every arm's interval."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

Status = Literal["in", "out", "undecided"]
Stopped = Literal["rule", "budget", "interrupted"]


@dataclass(frozen=True)
class ArmResult:
    """One arm."""

    label: Hashable
    mean: float | None  # of all its observations; None before the first
    low: float | None  # of the interval the policy stops by; None where it has no end
    high: float | None
    pulls: int  # observations; before the stop those that do not count yet included
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
    top: tuple[Hashable, ...]  # the present answer, best mean first
    certified: bool
    error_bound: float | None  # the proved error probability, if certified
    theorem: str | None  # what proves it
    samples: int
    seconds: float
    stopped: Stopped | None
    tied: bool  # whether the boundary looks tied: give a slack, or a budget
    certifiable_epsilon: float | None  # the least slack at which `top` is certified now
    forecast: int | None  # an estimate of the pulls that remain
    arms: tuple[ArmResult, ...]
    held: int = 0  # observations that came back before an earlier pull, and do not count yet
    waiting: tuple[Waiting, ...] = ()  # the pulls that they wait for
    assumptions: tuple[str, ...] = ()  # what the guarantee rests on beside the reward assumption
    warnings: tuple[str, ...] = ()  # what speaks against it
    maximize: bool = field(default=True, repr=False)  # for the order of the table

    @property
    def ranked(self) -> list[ArmResult]:
        """The arms, best mean first, those without a value last."""
        sign = -1.0 if self.maximize else 1.0
        return sorted(self.arms, key=lambda a: math.inf if a.mean is None else sign * a.mean)

    @property
    def remarks(self) -> list[str]:
        """What a reader has to know beside the numbers, a line each."""
        lines = [f"warning: {text}" for text in self.warnings]
        if self.held:
            early = "1 observation" if self.held == 1 else f"{self.held:,} observations"
            if self.stopped == "rule":
                lines.append(f"{early} came back before an earlier pull: not counted")
            elif self.waiting:
                first = self.waiting[0]
                others = f" and {len(self.waiting) - 1:,} more" if len(self.waiting) > 1 else ""
                lines.append(
                    f"{early} held back, waiting for an earlier pull: {first.pull} of"
                    f" {_shown(first.arm)}{others}"
                )
        return lines + [f"assumed: {text}" for text in self.assumptions]

    def to_dict(self) -> dict[str, Any]:
        """Finite numbers, texts and nulls only."""
        data = asdict(self)
        del data["maximize"]  # part of the problem, not of the result
        data["top"] = [_plain(label) for label in self.top]
        data["arms"] = [dict(asdict(arm), label=_plain(arm.label)) for arm in self.arms]
        data["waiting"] = [dict(asdict(pull), arm=_plain(pull.arm)) for pull in self.waiting]
        data["assumptions"], data["warnings"] = list(self.assumptions), list(self.warnings)
        return data

    def __str__(self) -> str:
        """A table for people: rank, arm, mean, interval, pulls, status."""
        lines = [f"{'rank':>4}  {'arm':<24} {'mean':>9}  {'interval':<22} {'pulls':>8}  status"]
        for rank, arm in enumerate(self.ranked, 1):
            lines.append(
                f"{rank:>4}  {_shown(arm.label):<24.24} {number(arm.mean, '-'):>9} "
                f" {interval(arm):<22} {arm.pulls:>8,}  {arm.status}"
            )
        proof = (
            f"certified: error <= {self.error_bound:g} ({self.theorem})"
            if self.certified
            else "not certified"
        )
        lines.append(f"{self.samples:,} samples, {proof}")
        lines += self.remarks
        return "\n".join(lines)


def number(value: float | None, missing: str) -> str:
    """A mean or an end of an interval, for people."""
    return missing if value is None else f"{value:.4g}"


def interval(arm: ArmResult) -> str:
    """An arm's interval, for people."""
    return f"[{number(arm.low, '-inf')}, {number(arm.high, 'inf')}]"


def _shown(label: Hashable) -> str:
    """A label on one line of a terminal, whatever it holds."""
    return str(label) if str(label).isprintable() else repr(label)


def _plain(label: Hashable) -> Any:
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and not math.isfinite(plain):
        return str(plain)
    return plain if isinstance(plain, str | int | float | bool | None) else str(label)
