"""Work that is large or small, one cannot tell: interpreted for a while, then compiled.

A small simulation is done before a compiler would have started; a large one waits for it once.
"""

from __future__ import annotations

import time
from typing import Any

from bestk.compiled.modes import AUTO, NEVER, mode
from bestk.compiled.programs import KINDS, Loaded, Program

RENT = 1.5  # seconds of interpreted work before a compiler is asked; arbitrary


def loaded_at_once(program: Program) -> Loaded | None:
    """The program, if it is on disk or wanted now; None: begin interpreted."""
    if mode() == NEVER or (mode() == AUTO and not program.is_ready()):
        return None
    return program.acquire()


def in_pieces(program: Program, shared: tuple[Any, ...], total: int) -> None:
    """Call the only kernel of a program with ranges of 0, ..., total - 1 as its last arguments."""
    kernel = KINDS[program.kind][0]
    first, size, started = 0, 16, time.perf_counter()
    loaded = loaded_at_once(program) if total > size else None
    while first < total and loaded is None:
        last = min(first + size, total)
        kernel(*shared, first, last)
        first, size = last, 2 * size
        if time.perf_counter() - started > RENT and mode() != NEVER:
            loaded = program.acquire()
    if loaded is not None:
        loaded.code[kernel.__name__](*map(loaded.lean, shared), first, total)
