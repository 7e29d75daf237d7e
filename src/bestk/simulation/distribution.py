"""Who plays the runs: threads of this process, or any executor, block by block."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed

from bestk.compiled.modes import NEVER, mode
from bestk.compiled.programs import wait
from bestk.compiled.rent import RENT, loaded_at_once
from bestk.kernels.types import IntArray
from bestk.policies.stepper import is_python
from bestk.problem import Problem
from bestk.simulation.batch import Batch, Outcome
from bestk.simulation.instances import Instance

CHUNKS = 8  # pieces of work per job: small enough to share, large enough to amortise

Progress = Callable[[int], None]  # called with the number of runs just finished


def _blocks(runs: range, jobs: int) -> list[range]:
    size = max(1, math.ceil(len(runs) / (CHUNKS * jobs)))
    return [runs[start : start + size] for start in range(0, len(runs), size)]


def play_here(batch: Batch, jobs: int, progress: Progress) -> Outcome:
    """Play a batch in this process.

    Without compiled kernels on disk it begins interpreted, which is all that a small simulation
    needs; a larger one is compiled after a while, and spread over threads from its first run.
    """
    if is_python(batch.configured.spec):
        for run in batch.runs:  # threads gain nothing, and a user's oracle need not be safe in them
            progress(batch.play(range(run, run + 1), None))
        return batch.outcome
    loaded = loaded_at_once(batch.program)
    if loaded is None and _is_played_interpreted(batch):
        progress(len(batch.runs))
        return batch.outcome
    code, blocks = loaded or batch.program.acquire(), _blocks(batch.runs, jobs)
    play_in_threads(lambda part: batch.play(part, code), blocks, jobs, batch.cancel, progress)
    return batch.outcome


def _is_played_interpreted(batch: Batch) -> bool:
    """Play all runs, or none: False if that took too long and must be done again."""
    started = time.perf_counter()
    alarm = threading.Timer(RENT, batch.cancel.__setitem__, (0, 1))
    alarm.daemon = True
    if mode() != NEVER:
        alarm.start()
    try:
        for run in batch.runs:
            batch.play(range(run, run + 1), None)
            if batch.cancel[0]:
                batch.outcome.clear()
                wait(time.perf_counter() - started)
                return False
    finally:
        alarm.cancel()
        batch.cancel[0] = 0
    return True


def play_in_threads(
    play: Callable[[range], int],
    parts: list[range],
    jobs: int,
    cancel: IntArray,
    progress: Progress,
) -> None:
    """Spread parts over threads (kernels release the GIL); an interrupt stops the kernels too."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(play, part) for part in parts]
        try:
            for future in as_completed(futures):
                progress(future.result())
        except BaseException:
            cancel[0] = 1
            pool.shutdown(cancel_futures=True)
            raise


def play_block(instance: Instance, problem: Problem, seed: int, cap: int, runs: range) -> Outcome:
    """A block of runs from scratch, wherever this is called: the same numbers as at home."""
    return play_here(Batch.of(instance, problem, seed, cap, runs), 1, ignore)


def ignore(done: int) -> None:
    """Nobody is watching."""


def play_on(
    executor: Executor,
    instance: Instance,
    problem: Problem,
    seed: int,
    cap: int,
    runs: int,
    jobs: int,
    progress: Progress,
) -> Outcome:
    """Spread the runs over an executor of threads, processes or machines."""
    blocks = _blocks(range(runs), jobs)
    futures = [executor.submit(play_block, instance, problem, seed, cap, block) for block in blocks]
    try:
        for future in as_completed(futures):
            done = future.result()
            progress(len(done.samples))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return Outcome.joined([future.result() for future in futures])
