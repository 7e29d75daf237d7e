"""What a pull returns beside its reward: kept with the answer in the log, never looked at by it.

An answer's data is empty, or a JSON object: `extra` is what was returned, `failed` says why the
pull counts as the worst reward there is. No policy, bound or check reads either.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

COST = "cost"  # the name of the extra that a budget counts
UNIT = "unit"  # that of the extra that names the unit of rewards, for people
PROCESS = "process"  # that of the extra about a process, which is not summed up
INTERRUPTED = "interrupted"  # true there: nobody saw the end, and the reward stands for that
ENDLESS = "endless"  # that of the extra that is true where a reward stands for all larger ones


def split(value: Any) -> tuple[Any, Any]:
    """Reward and extra of what a pull returned: a reward, or the two."""
    if isinstance(value, tuple) and len(value) == 2:
        return value
    return value, None


def written(extra: Any = None, failed: str | None = None) -> str:
    """The data of an answer. What JSON cannot hold is kept as a text: no reward is lost by it."""
    if extra is None and failed is None:
        return ""
    data = {"extra": extra} if failed is None else {"failed": failed}
    try:
        return json.dumps(data, allow_nan=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, NaN, a ring
        try:
            return json.dumps({"extra": repr(extra)})
        except Exception:  # whatever a class of the user's raises
            return json.dumps({"extra": f"of type {type(extra).__name__}"})


def read(data: str) -> Any:
    """The extra of an answer; None if it has none."""
    return _object(data).get("extra")


def _object(data: str) -> dict[str, Any]:
    """The data of an answer; nothing where it is none, as in a log that bestk did not write."""
    try:
        found = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_interrupted(extra: Any) -> bool:
    """Whether it is that of an interrupted run, which counts as cut and is not made again."""
    process = extra.get(PROCESS) if isinstance(extra, dict) else None
    return isinstance(process, dict) and process.get(INTERRUPTED) is True


class Extras:
    """Sums of the numbers that answers carry, by name, and how many answers count as failures."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self.kept = 0  # answers with an extra
        self.failed: Counter[int] = Counter()  # by arm
        self.unit: str | None = None  # of rewards, as the first answer that names one has it
        self.interrupted: set[str] = set()  # pulls that were, and count as cut
        self.endless = math.inf  # the least reward that stands for all larger ones

    def add(self, key: str, arm: int, reward: float, data: str) -> None:
        """One more answer, to that pull."""
        found = _object(data)
        self.failed[arm] += "failed" in found
        self.kept += "extra" in found
        extra = found.get("extra")
        if not isinstance(extra, dict):
            return
        if self.unit is None and isinstance(extra.get(UNIT), str):
            self.unit = extra[UNIT]
        if is_interrupted(extra):
            self.interrupted.add(key)
        if extra.get(ENDLESS) is True:
            self.endless = min(self.endless, reward)
        add_numbers(self.totals, extra)


def add_numbers(totals: Counter[str], extra: Any) -> None:
    """Add the numbers of an extra to the sums by name."""
    for name, value in extra.items() if isinstance(extra, dict) else ():
        if is_number(value):
            totals[name] += value


def is_number(value: object) -> bool:
    """Whether it is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
