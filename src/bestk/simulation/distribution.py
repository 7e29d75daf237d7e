"""Who plays the runs: threads of this process, or any executor, block by block."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np

from bestk.compiled.live import is_python
from bestk.compiled.modes import NEVER, mode
from bestk.compiled.programs import wait
from bestk.compiled.rent import loaded_at_once, rent_left, renting
from bestk.policies import CATALOGUE, Policy
from bestk.simulation.batch import Batch, Outcome
from bestk.simulation.spreading import Progress, blocks_of, ignore, spread, spread_over_threads

MOMENT = 1.0  # seconds: what a process takes to start; arbitrary


def play_here(batch: Batch, jobs: int, progress: Progress) -> Outcome:
    """Play a batch in this process.

    Without compiled kernels on disk it begins interpreted, which is all that a small simulation
    needs; a larger one is compiled after a while, and spread over threads from its first run.
    """
    if batch.is_stepped:
        return _play_steps(batch, jobs, progress)
    if is_python(batch.configured.spec):
        for run in batch.runs:  # threads gain nothing, and a user's oracle need not be safe in them
            progress(batch.play(range(run, run + 1), None))
        return batch.outcome
    loaded = loaded_at_once(batch.program)
    if loaded is None and _is_played_interpreted(batch):
        progress(len(batch.runs))
        return batch.outcome
    code, blocks = loaded or batch.program.acquire(), blocks_of(batch.runs, jobs)
    spread_over_threads(jobs, lambda part: batch.play(part, code), blocks, batch.cancel, progress)
    return batch.outcome


def _play_steps(batch: Batch, jobs: int, progress: Progress) -> Outcome:
    """Play a policy in Python here, and what takes longer than a moment in processes.

    Threads gain nothing. A process imports the class by its name, so that one of the program
    itself (`__main__`), and draws that cannot be pickled, are played here to their end.
    """
    entry, started = batch.configured.policy, time.perf_counter()
    alone = jobs == 1 or not _can_travel(batch)
    for run in batch.runs:
        if not alone and time.perf_counter() - started > MOMENT:
            rest = range(run, batch.runs.stop)
            break
        progress(batch.play(range(run, run + 1), None))
    else:
        return batch.outcome
    with ProcessPoolExecutor(min(jobs, len(rest)), mp_context=get_context("spawn")) as pool:
        found = play_on(pool, batch.again, rest, jobs, progress, entry)
    for row, more in zip(batch.outcome, found, strict=True):
        row[rest.start - batch.runs.start :] = more
    return batch.outcome


def _can_travel(batch: Batch) -> bool:
    """Whether another process can be given it."""
    try:
        sent = pickle.dumps((batch.again, batch.configured.policy))
    except Exception:  # whatever the user's objects raise
        return False
    return b"__main__" not in sent  # which names the module of what is imported there


def _is_played_interpreted(batch: Batch) -> bool:
    """Play all runs, or none: False if that took too long and must be done again."""
    started = time.perf_counter()
    alarm = threading.Timer(rent_left(batch.program), batch.cancel.__setitem__, (0, 1))
    alarm.daemon = True
    if mode() != NEVER:
        alarm.start()
    try:
        for run in batch.runs:
            with renting(batch.program):
                batch.play(range(run, run + 1), None)
            if batch.cancel[0]:
                for row in batch.outcome:
                    row[:] = 0
                wait(time.perf_counter() - started)
                return False
    finally:
        alarm.cancel()
        batch.cancel[0] = 0
    return True


def play_block(make: Callable[[range], Batch], entry: Policy | None, runs: range) -> Outcome:
    """A block of runs from scratch, wherever this is called: the same numbers as at home.

    `entry` is that of a policy in Python, which need not be registered there.
    """
    if entry is not None:
        CATALOGUE[entry.name] = entry
    return play_here(make(runs), 1, ignore)


def play_on(
    executor: Executor,
    make: Callable[[range], Batch],
    runs: range,
    jobs: int,
    progress: Progress,
    entry: Policy | None = None,
) -> Outcome:
    """Spread the runs over an executor of threads, processes or machines."""
    play = partial(play_block, make, entry)
    found = spread(executor, play, blocks_of(runs, jobs), progress)
    return Outcome(*map(np.concatenate, zip(*found, strict=True)))
