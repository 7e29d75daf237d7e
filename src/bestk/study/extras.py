"""What a pull returns beside its reward: kept with the answer in the log, never looked at by it.

An answer's data is empty, or a JSON object: `extra` is what was returned, `failed` says why the
pull counts as the worst reward there is. No policy, bound or check reads either.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from typing import Any, TypeGuard

COST = "cost"  # the name of the extra that a budget counts
UNIT = "unit"  # that of the extra that names the unit of rewards, for people
PROCESS = "process"  # that of the extra about a process, which is not summed up
INTERRUPTED = "interrupted"  # true there: nobody saw the end, and the reward stands for that
ENDLESS = "endless"  # that of the extra that is true where a reward stands for all larger ones
NAMES, LONGEST = 1000, 100  # of totals, and characters of each and of a unit; arbitrary
LARGEST = sys.float_info.max  # of totals


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
    """Sums of the numbers that answers carry, by name, and how many answers count as failures.

    Only of the first names: who fills answers with others all the time, on a server anybody who
    may rate, does not fill memory and every result with them.
    """

    def __init__(self) -> None:
        self.totals: defaultdict[str, float] = defaultdict(int)
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
        if self.unit is None and is_name(unit := extra.get(UNIT)):
            self.unit = unit
        if is_interrupted(extra):
            self.interrupted.add(key)
        if extra.get(ENDLESS) is True:
            self.endless = min(self.endless, reward)
        add_numbers(self.totals, extra)


def add_numbers(totals: defaultdict[str, float], extra: Any) -> None:
    """Add the numbers of an extra to the sums by name."""
    for name, value in extra.items() if isinstance(extra, dict) else ():
        is_known = name in totals or (len(totals) < NAMES and is_name(name))
        if is_known and is_number(value):
            totals[name] = within(totals[name] + value)


def is_name(value: object) -> TypeGuard[str]:
    """Whether it is a text that is short enough to be shown with every result."""
    return isinstance(value, str) and len(value) <= LONGEST


def is_number(value: object) -> bool:
    """Whether it is a number that a float can hold, so a finite one, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST <= value <= LARGEST


def within(total: float) -> float:
    """A sum that would be infinite as the largest number there is: JSON has no infinity."""
    return max(-LARGEST, min(LARGEST, total))
