"""How arguments lie in memory when machine code is called.

Structures and arrays are rows of words of eight bytes, given by address. A number is one word; an
array the address of its data and its sizes; a structure inside a structure its own words. What kind
of thing each argument is follows from an example of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

INTEGER, UNSIGNED, REAL, TRUTH = "i", "u", "f", "b"  # kinds of numbers

# what machine code calls in the C library, as Python's math module does
LIBRARY = ("log", "exp", "log1p", "erfc", "pow", "frexp", "ldexp", "memmove")

_DTYPES = {np.int64: "int64", np.int32: "int32", np.float64: "float64", np.bool_: "bool"}
_BITS, _DOUBLE = Struct("q"), Struct("d")


class ArrayKind(NamedTuple):
    """Contiguous elements; arrays with different tags do not overlap ("": may overlap others)."""

    dtype: str
    dimensions: int
    tag: str = ""


class Layout(NamedTuple):
    """The fields of a structure, in the order of their words."""

    name: str
    fields: tuple[tuple[str, Any], ...]


Fields = Mapping[str, Sequence[str]]  # of each structure those that are read


def kind_of(example: Any, read: Fields, tag: str = "") -> Any:
    """What the compiler has to know of an argument."""
    if isinstance(example, tuple):
        name = type(example).__name__
        fields = ((f, kind_of(getattr(example, f), read, f"{name}.{f}")) for f in read[name])
        return Layout(name, tuple(fields))
    if isinstance(example, np.ndarray):
        return ArrayKind(_DTYPES[example.dtype.type], example.ndim, tag)
    if isinstance(example, bool | int):
        return INTEGER
    return REAL


def size_of(kind: Any) -> int:
    """How many words."""
    if isinstance(kind, Layout):
        return sum(size_of(field) for _, field in kind.fields)
    return 1 + kind.dimensions if isinstance(kind, ArrayKind) else 1


class Block:
    """Words in memory, by whose address ctypes passes them on; they keep what they point at."""

    __slots__ = ("_as_parameter_", "_kept")

    def __init__(self, value: Any, kind: Any) -> None:
        self._kept = value
        words = _words(value, kind)
        self._as_parameter_ = (ctypes.c_int64 * len(words))(*words)


def _words(value: Any, kind: Any) -> list[int]:
    if isinstance(kind, Layout):
        fields = (_words(getattr(value, name), field) for name, field in kind.fields)
        return [word for words in fields for word in words]
    if isinstance(kind, ArrayKind):
        if not value.flags.c_contiguous or value.dtype != kind.dtype:
            raise TypeError(f"compiled kernels want contiguous arrays of {kind.dtype}")
        return [value.__array_interface__["data"][0], *value.shape]
    if kind == REAL:
        return list(_BITS.unpack(_DOUBLE.pack(value)))
    return [int(value)]
