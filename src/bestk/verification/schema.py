"""What a certificate is laid out as, format by format: every field, and what it may hold.

A newer format is an older one with other fields: give it an entry in `FORMATS`, such as
`{**FORMAT_1, "more": TEXT, "arms": Each({**ARM_1, "holes": WHOLE})}`, and one in `WARNINGS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bestk.errors import InputError


@dataclass(frozen=True)
class Value:
    """A single value: what is expected, and the test for it."""

    what: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Each:
    """A list of such values."""

    shape: Shape


@dataclass(frozen=True)
class Maybe:
    """Such a value, or null."""

    shape: Shape


Shape = Value | Mapping[str, Any] | Each | Maybe


# --- single values: types are compared exactly, since to Python True is 1 and 1.0 is 1 ------------


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str for key in value) and all(map(_is_plain, value.values()))
    if type(value) is list:
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, bool) or _is_number(value)


WHOLE = Value("a whole number, not negative", lambda value: type(value) is int and value >= 0)
NUMBER = Value("a finite number with a decimal point", _is_number)
TEXT = Value("a text", lambda value: type(value) is str)
FLAG = Value("true or false", lambda value: type(value) is bool)
PLAIN = Value("a JSON value", _is_plain)
SETTINGS = Value("a JSON object", lambda value: type(value) is dict and _is_plain(value))


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same one: equal, and of the same types."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


# --- formats --------------------------------------------------------------------------------------

PULLS = ("failed", "forgotten", "expired", "dropped", "open")  # that brought no observation
END_1: Mapping[str, Shape] = {"label": PLAIN, "bound": Maybe(NUMBER)}  # null: infinite
ARM_1: Mapping[str, Shape] = {
    "label": PLAIN,
    "present": FLAG,
    "pulls": WHOLE,
    "sum": NUMBER,
    "mean": Maybe(NUMBER),
    "seen_mean": Maybe(NUMBER),
    "levels": Maybe(Each(WHOLE)),
    "low": Maybe(NUMBER),
    "high": Maybe(NUMBER),
    **dict.fromkeys(PULLS, WHOLE),
}
FORMAT_1: Mapping[str, Shape] = {
    "format": WHOLE,
    "bestk": TEXT,
    "made": TEXT,
    "study": TEXT,
    "problem": SETTINGS,
    "seed": WHOLE,
    "max_arms": Maybe(WHOLE),
    "answer": Each(PLAIN),
    "error_bound": NUMBER,
    "theorem": TEXT,
    "samples": WHOLE,
    "levels": Maybe({"lower": NUMBER, "upper": NUMBER, "product": NUMBER}),
    "round": Maybe(WHOLE),
    "stop": {
        "rule": TEXT,
        "statistic": Maybe(NUMBER),  # null: infinite, of quantiles after few samples
        "epsilon": NUMBER,
        "weakest": Maybe(END_1),
        "rival": Maybe(END_1),
    },
    "arms": Each(ARM_1),
    "warning": TEXT,
    "log": {"events": WHOLE, "decided": WHOLE, "sha256": TEXT},
}
# Format 2: observations count in the order asked, and what is lost leaves a hole in it.
PLACES = ("holes", "held")  # of an arm: places without a value, values whose turn had not come
ARM_2: Mapping[str, Shape] = {**ARM_1, **dict.fromkeys(PLACES, WHOLE)}
FORMAT_2: Mapping[str, Shape] = {
    **FORMAT_1,
    "order": TEXT,
    "lost": TEXT,
    "reissued": WHOLE,
    "levels": Maybe({"lower": NUMBER, "upper": NUMBER, "product": NUMBER, "pair": NUMBER}),
    "arms": Each(ARM_2),
}
# Format 3: an evaluation, on so many items with that fingerprint.
HISTORY = {"residuals": Each(NUMBER), "counts": Each(WHOLE)}
ITEMS = {"count": WHOLE, "digest": TEXT, "target": TEXT, "history": Maybe(HISTORY)}
FORMAT_3: Mapping[str, Shape] = {**FORMAT_2, "items": ITEMS}
FORMATS: Mapping[int, Mapping[str, Shape]] = {1: FORMAT_1, 2: FORMAT_2, 3: FORMAT_3}

# The fields of a study's specification, by its own format: another one may mean something else.
SPECIFICATIONS: Mapping[int, set[str]] = {
    1: {"format", "arms", "problem", "seed", "lease", "max_arms"},
    2: {"format", "arms", "problem", "seed", "lease", "max_arms", "lost", "order"},
    3: {"format", "arms", "problem", "seed", "lease", "max_arms", "lost", "order", "items"},
}

# What the guarantee needs of pulls that brought nothing; a certificate that says less is refused.
OLD_WARNING = (  # format 1
    "Pulls that failed, were given up, expired or were still open when the rule stopped brought no"
    " observation. The guarantee holds only if what is lost does not depend on the reward it would"
    " have brought, and, where several pulls were open at once, how long each took neither."
)
WARNINGS: Mapping[str, str] = {  # by what lost pulls count as
    "skip": "Answers count in the order asked, so how long a pull took may depend on its reward."
    " Pulls that failed, were given up or expired before the stop were skipped: the guarantee holds"
    " only if what is lost does not depend on the reward it would have brought, and neither the"
    " death of a process whose pulls were made again.",
    "worst": "Answers count in the order asked, so how long a pull took may depend on its reward."
    " Pulls that failed, were given up or expired before the stop count as the worst that they can"
    " have been. The guarantee holds only if the death of a process whose pulls were made again"
    " does not depend on the rewards they would have brought.",
}
OF_ITEMS = {  # format 3, by whose means are compared
    "items": "The guarantee is about the means over the items of this evaluation. Scores count in"
    " the order asked, so how long one took may depend on its value. Evaluations that failed count"
    " as the worst score.",
    "population": "The guarantee is about the means over the population of which the items are"
    " independent draws. Scores count in the order asked, so how long one took may depend on its"
    " value. Evaluations that failed count as the worst score.",
}


# --- holding a value to its shape -----------------------------------------------------------------


def check(value: Any, shape: Shape, where: str) -> None:
    """Refuse a value that is not of that shape."""
    if isinstance(shape, Maybe):
        if value is not None:
            check(value, shape.shape, where)
    elif isinstance(shape, Each):
        if type(value) is not list:
            raise _refused(where, value, "a list")
        for place, each in enumerate(value):
            check(each, shape.shape, f"{where}[{place}]")
    elif isinstance(shape, Mapping):
        _check_fields(value, shape, where)
    elif not shape.fits(value):
        raise _refused(where, value, shape.what)


def _check_fields(value: Any, fields: Mapping[str, Shape], where: str) -> None:
    what = where or "the certificate"
    if type(value) is not dict:
        raise _refused(what, value, "a JSON object")
    if missing := [name for name in fields if name not in value]:
        raise InputError(f"not a certificate: {what} lacks the fields {', '.join(missing)}")
    if odd := [name for name in value if name not in fields]:
        raise InputError(
            f"not a certificate: {what} has the unknown fields {', '.join(map(str, odd))}"
        )
    for name, shape in fields.items():
        check(value[name], shape, f"{where}.{name}" if where else name)


def _refused(where: str, value: Any, wanted: str) -> InputError:
    shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:77]}..."
    return InputError(f"not a certificate: {where} is {shown}; {wanted} was expected")
