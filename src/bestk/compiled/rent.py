"""Work that is large or small, one cannot tell: interpreted for a while, then compiled.

A small simulation is done before a compiler would have started; a large one waits for it once, and
so do many small ones.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bestk.compiled.modes import AUTO, NEVER, mode
from bestk.compiled.programs import KINDS, Loaded, Program

RENT = 1.5  # seconds of interpreted work before a compiler is asked; arbitrary

_spent: defaultdict[Program, float] = defaultdict(float)


@contextmanager
def renting(program: Program) -> Iterator[None]:
    """What happens in the block is interpreted work of that program."""
    started = time.perf_counter()
    try:
        yield
    finally:
        _spent[program] += time.perf_counter() - started


def rent_left(program: Program) -> float:
    """For how many seconds this process may still interpret."""
    return max(0.0, RENT - _spent[program])


def loaded_at_once(program: Program) -> Loaded | None:
    """The program, if it is on disk or wanted now; None: begin interpreted."""
    if mode() == NEVER or (mode() == AUTO and rent_left(program) and not program.is_ready()):
        return None
    return program.acquire()


def in_pieces(program: Program, shared: tuple[Any, ...], total: int) -> None:
    """Call the only kernel of a program with ranges of 0, ..., total - 1 as its last arguments."""
    kernel = KINDS[program.kind][0]
    first, size = 0, 16
    while first < total:
        is_small = total <= size and rent_left(program)  # not worth loading what is on disk
        loaded = None if is_small else loaded_at_once(program)
        if loaded is not None:
            loaded.code[kernel.__name__](*map(loaded.lean, shared), first, total)
            return
        last = min(first + size, total)
        with renting(program):
            kernel(*shared, first, last)
        first, size = last, 2 * size
