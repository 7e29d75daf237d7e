"""The one module that imports numba: how the functions of a program are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])

_CONFIG: Any = numba.config
_TYPE_OF: Any = numba.typeof

# Kernels allocate nothing, so arrays need no reference counts (_nrt), and a State is many arrays
# wide, so that a call costs more than its work (forceinline): together 6 times as fast.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Nobody but other kernels calls these: ways in from Python would take a third of the compiler's time
_INNER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inlined(function: F) -> F:
    """A function that goes into its callers."""
    compiled: F = numba.njit(forceinline=True, **_INNER)(function)
    return compiled


def outlined(function: F) -> F:
    """A function whose callers gain nothing from inlining it."""
    compiled: F = numba.njit(**_INNER)(function)
    return compiled


def entry(function: F) -> F:
    """A function that Python calls: its machine code is kept beside the program's source."""
    # Numba reads its cache directory when it decorates; a user's own setting is for other functions
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = ""
    try:
        compiled: F = numba.njit(cache=True, **_OPTIONS)(function)
        return compiled
    finally:
        _CONFIG.CACHE_DIR = before


def code_for(function: F, arguments: tuple[object, ...]) -> F:
    """The machine code of an entry for arguments of these types, which it does not check.

    Looking up the types of a State at every call costs several times as much as a decision.
    """
    code: F = function.compile(tuple(_TYPE_OF(argument) for argument in arguments))  # type: ignore[attr-defined]
    return code


def versions() -> str:
    """What compiles."""
    return str(numba.__version__)
