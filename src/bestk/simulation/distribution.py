"""Who plays the runs: threads of this process, or any executor, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed

from bestk.problem import Problem
from bestk.simulation.batch import Batch, Outcome
from bestk.simulation.instances import Instance

CHUNKS = 8  # pieces of work per job: small enough to share, large enough to amortise

Progress = Callable[[int], None]  # called with the number of runs just finished


def _blocks(runs: range, jobs: int) -> list[range]:
    size = max(1, math.ceil(len(runs) / (CHUNKS * jobs)))
    return [runs[start : start + size] for start in range(0, len(runs), size)]


def play_in_threads(batch: Batch, jobs: int, progress: Progress | None) -> Outcome:
    """Spread a batch over threads (kernels release the GIL); an interrupt stops the kernels too."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(batch.play, block) for block in _blocks(batch.runs, jobs)]
        try:
            for future in as_completed(futures):
                done = future.result()
                if progress is not None:
                    progress(done)
        except BaseException:
            batch.cancel[0] = 1
            pool.shutdown(cancel_futures=True)
            raise
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
    blocks = _blocks(range(runs), jobs)
    futures = [executor.submit(play_block, instance, problem, seed, cap, block) for block in blocks]
    try:
        for future in as_completed(futures):
            done = future.result()
            if progress is not None:
                progress(len(done.samples))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return Outcome.joined([future.result() for future in futures])
