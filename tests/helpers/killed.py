"""A process that forks workers on one study file and kills them; `test_crashes.py` starts it.

Forking from a process that has imported everything makes fifty deaths a matter of seconds. Prints
one JSON object: what the workers acknowledged, and how often they were killed.
"""

import json
import os
import random
import signal
import sys
import time

import numpy as np

import bestk
from bestk.study import Study

ARMS = ("a", "b", "c", "d", "e")
MEANS = dict(zip(ARMS, (0.50, 0.58, 0.20, 0.45, 0.40), strict=True))
SETTINGS = {"k": 1, "delta": 0.05, "rewards": bestk.Gaussian(0.5), "seed": 11}


def reward(arm, index):
    """Of the index-th pull, whoever makes it."""
    return float(np.random.default_rng([ord(arm), index]).normal(MEANS[arm], 0.5))


def work(study, acknowledge=lambda *_: None):
    """To the end, telling what was durably told."""
    while pulls := study.ask():
        for pull in pulls:
            value = reward(pull.arm, pull.index)
            study.tell(pull, value)
            acknowledge(pull.id, value)


def fork(file):
    """A worker: its process, and the pipe of its acknowledgements."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, os.fdopen(reading)
    try:
        os.close(reading)
        study = Study("s", ARMS, storage=file, **SETTINGS)
        work(study, lambda *what: os.write(writing, (json.dumps(what) + "\n").encode()))
    finally:
        os._exit(0)


def kill_many(file, kills, seed):
    """Kill workers at random moments, then let one finish."""
    dice, acknowledged, killed = random.Random(seed), [], 0
    while killed < kills:
        child, pipe = fork(file)
        if dice.random() < 0.3:  # while it opens the file and reads the log
            time.sleep(dice.random() * 0.02)
        else:
            for _, line in zip(range(dice.randint(1, 40)), pipe, strict=False):
                acknowledged.append(json.loads(line))
            end = time.perf_counter() + dice.random() * 3e-4
            while time.perf_counter() < end:
                pass
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        acknowledged += [json.loads(line) for line in pipe if line.endswith("\n")]
    child, pipe = fork(file)
    acknowledged += map(json.loads, pipe)
    os.waitpid(child, 0)
    return {"acknowledged": acknowledged, "killed": killed}


def work_together(file, workers):
    """Several workers at once, to the end."""
    Study("s", ARMS, storage=file, **SETTINGS)
    started = [fork(file) for _ in range(workers)]
    acknowledged = [list(map(json.loads, pipe)) for _, pipe in started]
    codes = [os.waitpid(child, 0)[1] for child, _ in started]
    return {"acknowledged": acknowledged, "codes": codes}


if __name__ == "__main__":
    work(Study("warm", ARMS, **SETTINGS | {"epsilon": 0.5}))  # everything is imported before a fork
    task, file, number, *rest = sys.argv[1:]
    if task == "kill":
        print(json.dumps(kill_many(file, int(number), int(rest[0]))))
    else:
        print(json.dumps(work_together(file, int(number))))
