"""Reading what users give: the one place where a value becomes a float or an int, or is refused.

Numbers come in many kinds: Python's own, NumPy's scalars of any width, Decimal, Fraction, tensors
without dimensions. What only looks like one is refused by name, before anything is changed.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestk.errors import InputError

FEW = 1 << 20  # arbitrary
WIDEST = 128  # bits of an integer: more than anything counts, and few enough to be printed
LONGEST = 120  # characters of a value in a message
NUMERIC = "buif"  # NumPy's kinds of real numbers: bool, unsigned, signed, floating
NO_NUMBERS = "cmMOSU"  # kinds that `float` would take: complex, times, objects, texts


def shown(value: object) -> str:
    """A value as a message shows it: short, and whatever its own `repr` does."""
    try:
        text = repr(value)
    except Exception:  # of a class of the user's, or an integer of more digits than are printed
        return f"of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def as_float(value: Any) -> float | None:
    """A real number as a double, infinite where it is beyond them; None for anything else.

    NaN is no number, and neither is a text, a complex number, or an array with a dimension.
    """
    if type(value) is not float:
        if isinstance(value, str | bytes | bytearray | complex):
            return None
        if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in NO_NUMBERS:
            return None
        try:
            if getattr(value, "ndim", 0):
                return None
            value = float(value)
        except OverflowError:  # an integer or a fraction beyond every double
            return math.inf if value > 0 else -math.inf
        except Exception:  # whatever a class of the user's raises
            return None
    found: float = value
    return None if math.isnan(found) else found


def is_bool(value: object) -> bool:
    """Whether it is true or false, of Python's or NumPy's."""
    return isinstance(value, bool | np.bool_)


def refused(value: object, what: str, why: str) -> InputError:
    """The refusal of a value: which argument, what was given, what it must be."""
    return InputError(f"{what}={shown(value)} was refused: {why}")


def real(value: object, what: str, why: str = "it must be a finite number") -> float:
    """A finite number that is not a truth value, or a refusal that names `what`."""
    found = None if is_bool(value) else as_float(value)
    if found is None or not math.isfinite(found):
        raise refused(value, what, why)
    return found


def portion(value: object, what: str) -> float:
    """A number strictly between 0 and 1: an error probability, a fraction."""
    why = "it must lie in (0, 1)"
    found = real(value, what, why)
    if not 0.0 < found < 1.0:
        raise refused(value, what, why)
    return found


def integer(value: object, what: str) -> int:
    """A whole number, or a refusal that names `what`."""
    try:
        found = operator.index(value)  # type: ignore[arg-type]  # a TypeError is the answer
    except TypeError:
        found = None
    if found is None or is_bool(value):
        raise refused(value, what, "it must be an integer")
    if found.bit_length() > WIDEST:
        raise refused(value, what, "it is too large")
    return found


def count(value: object, what: str, least: int) -> int:
    """A whole number of things, at least `least`; 1e6 is one too."""
    if type(value) is int and least <= value <= FEW:
        return value  # quickly: `ask` counts at every step
    found = as_float(value) if isinstance(value, float | np.floating) else None
    if found is not None and found.is_integer():
        value = int(found)
    try:
        whole = integer(value, what)
    except InputError:
        whole = least - 1
    if whole < least:
        raise refused(value, what, f"it must be an integer of at least {least}")
    return whole


def duration(value: object, what: str) -> float:
    """A positive number of seconds; infinity is as long as there is."""
    found = None if is_bool(value) else as_float(value)
    if found is None or not found > 0.0:
        raise refused(value, what, "it must be a positive number of seconds")
    return found


def flag(value: object, what: str) -> bool:
    """True or False; a text or a number is no truth value."""
    if not is_bool(value):
        raise refused(value, what, "it must be True or False")
    return bool(value)


def string(value: object, what: str) -> str:
    """A text that can be written in UTF-8."""
    if not isinstance(value, str):
        raise refused(value, what, "it must be a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refused(value, what, "it has characters that no file can hold") from None
    return value


def require_name(name: object, what: str) -> None:
    """Refuse what cannot be the name of a `what`, on the command line too."""
    text = string(name, "name")
    if not text or not text.isprintable() or set(text) & set(" :,/\\"):
        raise InputError(
            f"the {what}'s name {shown(name)} was refused: use letters, digits and dashes"
        )


def require(value: object, methods: tuple[str, ...], what: str, wanted: str) -> None:
    """Refuse an object without these methods, or a class in place of one of its objects."""
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in methods):
        raise refused(value, what, f"give {wanted}")


def require_executor(value: object) -> None:
    """Refuse what takes no work, such as the name or the class of an executor."""
    wanted = "a concurrent.futures.Executor, or something with `submit`"
    require(value, ("submit",), "executor", wanted)


def require_function(value: object, what: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise refused(value, what, "it must be a function")


def scalar(value: np.generic) -> Any:
    """A NumPy scalar as Python's own number; a long double, which `item` leaves as it is, too."""
    return float(value) if isinstance(value, np.floating) else value.item()


def array(values: object, what: str) -> NDArray[np.float64]:
    """Real numbers in any arrangement as doubles; what is no real number is refused, NaN is not."""
    try:
        given = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise InputError(f"{what} were refused: {error}") from None
    if given.dtype.kind == "O":
        each = [as_float(value) for value in given.ravel().tolist()]
        if None not in each:
            return np.array(each, np.float64).reshape(given.shape)
    if given.dtype.kind not in NUMERIC:
        raise InputError(f"{what} {shown(values)} were refused: they must all be numbers")
    return given.astype(np.float64)
