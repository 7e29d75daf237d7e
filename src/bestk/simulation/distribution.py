"""Who plays the runs: threads of this process, or any executor, block by block."""

from __future__ import annotations

import math
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from bestk.kernels.types import IntArray
from bestk.problem import Problem
from bestk.simulation.batch import Batch, Outcome
from bestk.simulation.instances import Instance

CHUNKS = 8  # pieces of work per job: small enough to share, large enough to amortise
PATIENCE = 5  # seconds that an executor has to cancel what is no longer wanted

Progress = Callable[[int], None]  # called with the number of runs just finished
T = TypeVar("T")


def _blocks(runs: range, jobs: int) -> list[range]:
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
    executor: Executor,
    play: Callable[[range], T],
    blocks: Sequence[range],
    progress: Progress | None,
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
            if progress is not None:
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
    progress: Progress | None,
) -> list[T]:
    """The same in threads (kernels release the GIL); an interrupt stops the kernels too."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            return spread(pool, play, blocks, progress)
        except BaseException:
            cancel[0] = 1
            raise


def play_in_threads(batch: Batch, jobs: int, progress: Progress | None) -> Outcome:
    """Spread a batch over threads."""
    spread_over_threads(jobs, batch.play, _blocks(batch.runs, jobs), batch.cancel, progress)
    return batch.outcome


def play_block(instance: Instance, problem: Problem, seed: int, cap: int, runs: range) -> Outcome:
    """A block of runs from scratch, wherever this is called: the same numbers as at home."""
    batch = Batch.of(instance, problem, seed, cap, runs)
    batch.play(runs)
    return batch.outcome


def play_on(
    executor: Executor,
    instance: Instance,
    problem: Problem,
    seed: int,
    cap: int,
    runs: int,
    jobs: int,
    progress: Progress | None,
) -> Outcome:
    """Spread the runs over an executor of threads, processes or machines."""
    play = partial(play_block, instance, problem, seed, cap)
    return Outcome.joined(spread(executor, play, _blocks(range(runs), jobs), progress))
