"""Compile ahead: for images that are deployed, and for measurements.

Nobody needs to. Live work starts interpreted and simulations compile what they run; what is
compiled here they find on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from os import cpu_count
from typing import TypeVar

import numpy as np

from bestk.compiled.live import is_python
from bestk.compiled.programs import AROUND, LIVE, PLAY, SEQUENCE, TURN, Axes, Program
from bestk.decisions import (
    DecisionClass,
    ExplicitSets,
    Oracle,
    PartitionMatroid,
    Path,
    SpanningTree,
    TopK,
)
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import QUANTILE
from bestk.policies import CATALOGUE
from bestk.problem import Problem
from bestk.rewards import Bernoulli, Bounded, Gaussian, Quantile, Rewards

# One of each that is compiled apart; subgaussian is compiled as gaussian, ratings as bounded.
REWARDS: dict[str, Rewards] = {
    "gaussian": Gaussian(),
    "bernoulli": Bernoulli(),
    "bounded": Bounded(),
    "quantile": Quantile(),
}
TRIANGLE = (("a", "b"), ("b", "c"), ("a", "c"))
CLASSES: dict[str, DecisionClass] = {
    "top-k": TopK(3, 1),
    "partition": PartitionMatroid([0, 0, 1, 1], {0: 1, 1: 1}),
    "spanning-tree": SpanningTree(TRIANGLE),
    "acyclic-path": Path(TRIANGLE, "a", "c"),
    "cyclic-path": Path(TRIANGLE, "a", "c", directed=False),
    "explicit": ExplicitSets([[0], [1]], 2),
    "oracle": Oracle(2, lambda weights: np.arange(2) == weights.argmax()),
}

T = TypeVar("T")
Finished = Callable[[str, float], None]  # called with the name of a program and its seconds


def programs_for(
    policies: Iterable[str] | None = None,
    rewards: Iterable[str] | None = None,
    classes: Iterable[str] | None = ("top-k",),
) -> list[Program]:
    """The programs of all combinations that there are; None stands for all of a kind."""
    names = _chosen(
        "policy", {name: name for name, each in CATALOGUE.items() if not each.is_python}, policies
    )
    families = _chosen("rewards", REWARDS, rewards)
    found: dict[Program, None] = {}
    for name, family, decision in product(names, families, _chosen("class", CLASSES, classes)):
        try:
            made = Problem(decision, family, policy=name, maximize=not decision.minimise_only)
        except InputError:  # a policy of the K best on another class
            continue
        configured = made.configure(0)
        pair = (AROUND, TURN) if is_python(configured.spec) else (LIVE, PLAY)
        found |= dict.fromkeys(Program(kind, configured.axes) for kind in pair)
    if policies is None:
        kinds_of_evidence = {family.evidence().kind for family in families} - {QUANTILE}
        found |= dict.fromkeys(Program(SEQUENCE, Axes(kind=kind)) for kind in kinds_of_evidence)
    return list(found)


def _chosen(what: str, known: dict[str, T], names: Iterable[str] | None) -> list[T]:
    names = list(known if names is None else names)
    for name in names:
        if name not in known:
            raise UnknownName(what, name, known)
    return [known[name] for name in names]


def compile(
    policies: Iterable[str] | None = None,
    *,
    rewards: Iterable[str] | None = None,
    classes: Iterable[str] | None = ("top-k",),
    jobs: int | None = None,
    finished: Finished | None = None,
) -> list[str]:
    """Compile kernels into the cache folder, before anything needs them; returns their names.

    Of all policies unless some are named, all `rewards` (gaussian, bernoulli, bounded, quantile)
    and the decision `classes` named (None: all seven). What is there already takes no time.
    """
    wanted = programs_for(policies, rewards, classes)
    missing = [program for program in wanted if not program.is_ready()]
    with ProcessPoolExecutor(jobs or cpu_count(), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(program.compile): program for program in missing}
        for future in as_completed(running):
            future.result()
            if finished is not None:
                finished(running[future].name, running[future].last_took() or 0.0)
    return [program.name for program in wanted]
