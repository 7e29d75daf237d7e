"""Simulations by interpreted and by compiled kernels: the same runs, sample by sample.

What is compiled here is what `tests/statistical` needs. Live programs are compared decision by
decision, in `tests/parity`; between them every value of every axis is compared.
"""

import numpy as np
import pytest

import bestk
from bestk.compiled import programs
from bestk.compiled.modes import NEVER, NOW, VARIABLE
from bestk.compiled.programs import CODES, PLAY, SEQUENCE
from bestk.kernels.types import BERNSTEIN, BETA
from bestk.simulation import structured
from bestk.simulation.batch import Batch
from helpers.warm_up import PROGRAMS

QUIET = bestk.Gaussian(0.25)
SMALL = bestk.make_instance(k=1, means=[0.9, 0.3, 0.5, 0.1])
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
CLASSES = {
    "partition": (bestk.PartitionMatroid([0, 0, 1, 1, 1], [1, 2]), [0.9, 0.1, 0.2, 0.8, 0.7]),
    "explicit": (bestk.ExplicitSets([[0, 1], [2, 3], [1, 2]]), [0.9, 0.8, 0.1, 0.2]),
    "forest": (bestk.SpanningTree(EDGES), [0.9, 0.7, 0.8, 0.1, 0.2]),
    "dag": (bestk.Path([(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)], 0, 3), [0.5, 0.9, 0.1, 0.4, 0.8]),
    "roads": (bestk.Path([(0, 1), (1, 2), (0, 2)], 0, 2, directed=False), [0.3, 0.2, 1.1]),
}


def instance_of(name):
    decision, means = CLASSES[name]
    return structured(decision, means, maximize=name != "roads")


TABLE = (np.random.default_rng(1).random((4, 20)) < [[0.9], [0.3], [0.5], [0.1]]).astype(float)
CASES = [
    *((name, SMALL, QUIET) for name, policy in bestk.CATALOGUE.items() if not policy.is_python),
    ("e-lucb", bestk.make_instance("1-sparse", arms=12, k=2), QUIET),  # too many for pairs
    *((policy, SMALL, bestk.Bernoulli()) for policy in ("e-lucb", "glr")),
    ("e-lucb", bestk.replay(TABLE, k=1, without_replacement=True), bestk.Bounded()),
    ("e-lucb", SMALL, bestk.Quantile()),
    *(("e-clucb", instance_of(name), QUIET) for name in ("forest", "dag", "explicit")),
    *(("lil-clucb", instance_of(name), QUIET) for name in CLASSES),
    ("clucb", instance_of("partition"), QUIET),
]


def program_of(policy, instance, rewards):
    problem = bestk.Problem(
        instance.decision, rewards, policy=policy, maximize=instance.maximize, items=instance.items
    )
    return Batch(instance, problem, 1, 10**6, range(1)).program


@pytest.mark.parametrize("case", CASES, ids=lambda case: program_of(*case).name)
def test_compiled_kernels_play_the_same_runs(case, monkeypatch):
    policy, instance, rewards = case
    found = []
    for mode in (NEVER, NOW):
        monkeypatch.setenv(VARIABLE, mode)
        found.append(bestk.simulate(instance, policy, rewards=rewards, delta=0.1, runs=6, seed=9))
    assert program_of(*case) in programs._loaded
    interpreted, compiled = found
    for name in ("samples", "top_samples", "finished", "right"):
        np.testing.assert_array_equal(getattr(interpreted, name), getattr(compiled, name))
    assert interpreted.unfinished == 0


def test_every_value_of_every_axis_is_compared():
    played = {program_of(*case) for case in CASES}
    assert played == {program for program in PROGRAMS if program.kind == PLAY}
    for axis, words in CODES.items():
        values = {int(getattr(program.axes, axis)) for program in PROGRAMS}
        # only of sequences, and of studies of version 0.1
        others = {BERNSTEIN, BETA} if axis == "kind" else set()
        assert values | others == set(range(len(words))), axis
    assert SEQUENCE not in {program.kind for program in PROGRAMS}
