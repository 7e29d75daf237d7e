"""Blocks of runs spread over an executor, such that an interrupt ends it whenever it comes."""

from __future__ import annotations

import math
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from bestk.kernels.types import IntArray

T = TypeVar("T")

CHUNKS = 8  # pieces of work per job: small enough to share, large enough to amortise
PATIENCE = 5  # seconds that an executor has to cancel what is no longer wanted

Progress = Callable[[int], None]  # called with the number of runs just finished


def ignore(*_: object) -> None:
    """Nobody is watching."""


def blocks_of(runs: range, jobs: int) -> list[range]:
    """Pieces of work for so many jobs."""
    size = max(1, math.ceil(len(runs) / (CHUNKS * jobs)))
    return [runs[start : start + size] for start in range(0, len(runs), size)]


def _deal(
    executor: Executor,
    play: Callable[[range], T],
    blocks: Sequence[range],
    finished: SimpleQueue[Future[T] | None],
    news: SimpleQueue[tuple[int, T] | BaseException],
    gone: SimpleQueue[None],
) -> None:
    """Have blocks played and pass on their results; after an error, or None, cancel the rest."""
    numbers: dict[Future[T], int] = {}
    try:
        for number, block in enumerate(blocks):
            future = executor.submit(play, block)
            numbers[future] = number
            future.add_done_callback(finished.put)
        while numbers and (one := finished.get()) is not None:
            news.put((numbers.pop(one), one.result()))
    except BaseException as error:
        news.put(error)
    for future in numbers:
        future.cancel()
    gone.put(None)


def spread(
    executor: Executor, play: Callable[[range], T], blocks: Sequence[range], progress: Progress
) -> list[T]:
    """What an executor makes of blocks of runs, in their order; an interrupt cancels the rest.

    A thread of its own deals with the executor. Python raises an interrupt in the main thread,
    wherever that is: among the locks of futures it would leave some of them held, and whoever has
    to finish or to cancel these futures would wait forever. The main thread just reads queues that
    are safe to interrupt, and starts the other without the lock that `threading` waits for.
    """
    finished: SimpleQueue[Future[T] | None] = SimpleQueue()
    news: SimpleQueue[tuple[int, T] | BaseException] = SimpleQueue()
    gone: SimpleQueue[None] = SimpleQueue()
    results: dict[int, T] = {}
    try:
        start_new_thread(_deal, (executor, play, blocks, finished, news, gone))
        while len(results) < len(blocks):
            one = news.get()
            if isinstance(one, BaseException):
                raise one
            number, results[number] = one
            progress(len(blocks[number]))
    except BaseException:
        finished.put(None)
        with suppress(Empty):
            gone.get(timeout=PATIENCE)
        raise
    return [results[number] for number in range(len(blocks))]


def spread_over_threads(
    jobs: int,
    play: Callable[[range], T],
    blocks: Sequence[range],
    cancel: IntArray,
    progress: Progress,
) -> list[T]:
    """The same in threads (kernels release the GIL); an interrupt stops the kernels too."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            return spread(pool, play, blocks, progress)
        except BaseException:
            cancel[0] = 1
            raise
