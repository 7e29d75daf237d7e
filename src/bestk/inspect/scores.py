"""The number that counts of a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, value_to_float

from bestk.arguments import as_float, shown
from bestk.errors import InputError

Value = Callable[[Any], float]
WORDS = (CORRECT, INCORRECT, PARTIAL, NOANSWER)  # "C", "I", "P", "N": 1, 0, 0.5, 0
TRUTHS = ("yes", "no", "true", "false")


class Reader:
    """Reads the score of a scorer, or of the only one."""

    def __init__(self, scorer: str | None, value: Value | None) -> None:
        self._scorer, self._value = scorer, value

    def read(self, sample: Any) -> tuple[float | None, str]:
        """The number that counts, or None and why there is none."""
        if sample is None or sample.error is not None:
            return None, "cancelled" if sample is None else str(sample.error.message)
        scores = sample.scores or {}
        names = [self._scorer] if self._scorer is not None else list(scores)
        if len(names) != 1 or names[0] not in scores:
            raise InputError(
                f"scorer={self._scorer!r} was refused: a sample has the scores {sorted(scores)}"
            )
        given = scores[names[0]].value
        if self._value is None and not _is_number(given):
            raise InputError(
                f"the value {shown(given)} of the scorer {names[0]!r} was refused: it is not a"
                " number; say with value= how to convert it"
            )
        score = as_float((self._value or value_to_float())(given))
        return score, f"the score {shown(given)}"


def _is_number(given: Any) -> bool:
    """Whether Inspect makes a number of it, rather than 0 with a warning."""
    if not isinstance(given, str) or given in WORDS:
        return isinstance(given, str | int | float)
    try:
        return given.lower() in TRUTHS or math.isfinite(float(given))
    except ValueError:
        return False
