"""Counted runs of a race, and what the log keeps of them beside their times."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bestk.commands.process import Finished
from bestk.errors import InputError
from bestk.rewards import Quantile, Rewards
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import extras
from bestk.study.extras import ENDLESS, INTERRUPTED, PROCESS, UNIT, is_number
from bestk.study.result import SECONDS

NEVER = 1e9  # seconds: stands for a run of which only a quantile needs to know that it was long


@dataclass(frozen=True)
class Run:
    """A counted run; if it was cut, it took at least its seconds."""

    command: str
    seq: int  # in the order of the race, from 1
    seconds: float
    cut: bool
    user: float | None = None  # processor time; None where nobody knows
    system: float | None = None
    memory: int | None = None  # the most it held, bytes
    code: int | None = None

    @property
    def is_timed(self) -> bool:
        """Whether its seconds are a time, of the run or of the cap."""
        return self.seconds < NEVER


def kept(done: Finished, limit: float | None) -> dict[str, Any]:
    """What goes into the log beside the time of a run; user and system time are summed up there."""
    process: dict[str, Any] = {"code": done.code, "limit": limit}
    found: dict[str, Any] = {UNIT: SECONDS, PROCESS: process}
    if done.usage is not None:
        process["memory"] = done.usage.memory
        found |= {"user": done.usage.user, "system": done.usage.system}
    return found


def interrupted(limit: float | None) -> dict[str, Any]:
    """What goes there for a run that was interrupted; without a limit its time has no end."""
    process = {INTERRUPTED: True, "limit": limit}
    return {UNIT: SECONDS, ENDLESS: limit is None, PROCESS: process}


def read_runs(
    events: Iterable[Event], labels: Sequence[object], cap: float | None
) -> Iterator[Run]:
    """Every counted run of a log, in the order in which they ended; at the cap they were cut."""
    running: dict[str, int] = {}
    seq = 0
    for event in events:
        if event.kind == ev.ASKED:
            running[event.key] = event.arm
        elif event.kind == ev.TOLD and event.key in running:
            seq += 1
            yield _read(str(labels[running.pop(event.key)]), seq, event, cap)


def at_least(runs: Iterable[Run], rewards: Rewards) -> set[str]:
    """Commands of whose mean or quantile only a least value is known, for what was cut.

    A sample's quantile lies between two of its times: the upper one, or both, may have been cut.
    """
    of_each: defaultdict[str, list[bool]] = defaultdict(list)
    for run in runs:
        of_each[run.command].append(run.cut)
    if not isinstance(rewards, Quantile):
        return {command for command, cut in of_each.items() if any(cut)}
    return {  # runs that were cut are the longest
        command
        for command, cut in of_each.items()
        if math.ceil((len(cut) - 1) * rewards.q) >= len(cut) - sum(cut)
    }


def agreed_limit(events: Iterable[Event], wanted: float | None) -> float | None:
    """The limit of all runs: the one that they had so far, or the one that is wanted.

    min(time, limit) has the quantile min(quantile, limit) only if there is one limit.
    """
    first = next((event for event in events if event.kind == ev.TOLD), None)
    if first is None:
        return wanted
    limit = _number(_process(first).get("limit"))
    if wanted is not None and wanted != limit:
        was = "without one" if limit is None else f"with {limit:g}"
        raise InputError(
            f"max_time={wanted:g} was refused: the race was begun {was}, and one limit goes for"
            " all of its runs"
        )
    return limit


def _process(event: Event) -> dict[str, Any]:
    extra = extras.read(event.data)
    process = extra.get(PROCESS) if isinstance(extra, dict) else None
    return process if isinstance(process, dict) else {}


def _read(command: str, seq: int, event: Event, cap: float | None) -> Run:
    extra, process = extras.read(event.data), _process(event)
    user, system = None, None
    if isinstance(extra, dict):
        user, system = _number(extra.get("user")), _number(extra.get("system"))
    is_cut = event.reward >= (NEVER if cap is None else cap)
    memory, code = process.get("memory"), process.get("code")
    return Run(
        command, seq, event.reward, is_cut, user, system,
        memory if isinstance(memory, int) else None, code if isinstance(code, int) else None,
    )  # fmt: skip


def _number(value: object) -> float | None:
    return float(value) if is_number(value) else None  # type: ignore[arg-type]
