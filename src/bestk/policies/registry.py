"""Finding a policy by its name, and giving names to policies in plain Python.

Packages offer theirs as entry points of the group `bestk.policies`: a class, or anything whose
import registers one of that name. They are loaded when they are asked for, or listed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn, TypeVar

from bestk.arguments import flag, require_name, shown, string
from bestk.decisions import DecisionClass, TopK
from bestk.errors import InputError, PolicyError, UnknownName
from bestk.kernels import types as t
from bestk.policies.catalogue import (
    BOUNDS,
    BUDGET,
    CATALOGUE,
    COMBINATORIAL_DEFAULT,
    DEFAULT,
    INDEPENDENT,
    STOP,
    Parameter,
    Policy,
)
from bestk.policies.protocol import METHODS

GROUP = "bestk.policies"
RESERVED = (BUDGET.name, INDEPENDENT.name, STOP)  # names that bestk's own parameters have

OWN = "; a policy of your own needs --load FILE (in Python: import what registers it)"

C = TypeVar("C", bound=type)


def find(name: str) -> Policy:
    """The catalogue entry of that name; an installed policy is loaded if need be."""
    if name not in CATALOGUE:
        for point in entry_points(group=GROUP):
            if point.name == name:
                _load(point)
    if name not in CATALOGUE:
        installed = (point.name for point in entry_points(group=GROUP))
        raise UnknownName("policy", name, tuple(dict.fromkeys((*CATALOGUE, *installed))), OWN)
    return CATALOGUE[name]


def find_or_absent(name: str) -> Policy:
    """The same; of one that is not here, or cannot be loaded, an entry that says so when run."""
    try:
        return find(name)
    except UnknownName:
        return _absent(name, "it is not registered here")
    except PolicyError as error:
        return _absent(name, str(error))


def load_installed() -> dict[str, Policy]:
    """The whole catalogue, installed policies included; one that cannot be loaded is warned of."""
    for point in entry_points(group=GROUP):
        if point.name not in CATALOGUE:
            try:
                _load(point)
            except PolicyError as error:
                warnings.warn(str(error), stacklevel=2)
    return CATALOGUE


def _load(point: EntryPoint) -> None:
    try:
        found = point.load()
        if point.name not in CATALOGUE:  # the module did not register it when it was imported
            register(point.name, found)
    except Exception as error:  # whatever somebody else's package raises
        raise PolicyError(
            f"policy {point.name} ({GROUP}: {point.value}) cannot be loaded:"
            f" {type(error).__name__}: {error}"
        ) from error


def register(
    name: str,
    cls: C | None = None,
    *,
    title: str | None = None,
    source: str | None = None,
    about: str | None = None,
    parameters: Sequence[Parameter] = (),
    budget: bool = False,
    combinatorial: bool = False,
    single: bool = False,
    slack: bool = True,
) -> Any:
    """Give a policy in plain Python a name, by which everything in bestk knows it.

    `cls` has `start(problem, rng)`, `ask()`, `tell(arm, reward)` and `answer()`
    (`bestk.policies.PythonPolicy`); left out, this is a decorator. What its attribute `guarantee`
    says is shown as the author's claim. `title`, `source` (a paper) and `about` (a line) are for
    `bestk policies`; `parameters` are its own, which `start` finds in `problem.params`. A policy
    with a fixed `budget` has a parameter of that name, and may not ask for more pulls. It is
    `combinatorial` if it answers any decision class, `single` if K must be 1, and without `slack`
    epsilon must be 0. Registering a class again under its name replaces it.
    """
    if cls is None:
        return partial(
            register, name, title=title, source=source, about=about, parameters=parameters,
            budget=budget, combinatorial=combinatorial, single=single, slack=slack,
        )  # fmt: skip
    _check(name, cls, parameters)
    claim = getattr(cls, "guarantee", None)
    if claim is not None:
        string(claim, f"guarantee of {name}")
    words = (cls.__doc__ or "").strip().splitlines()
    own = (BUDGET,) if flag(budget, "budget") else ()
    CATALOGUE[name] = Policy(
        name=name,
        title=title or name,
        source=source or f"{cls.__module__}.{cls.__qualname__}",
        theorem="none by bestk: see its claim",
        about=about or (words[0] if words else "a policy in plain Python"),
        family=t.PAIR,
        radius=t.EVIDENCE,
        proved=False,
        slack=flag(slack, "slack"),
        single=flag(single, "single"),
        combinatorial=flag(combinatorial, "combinatorial"),
        parameters=(*own, *parameters, INDEPENDENT),
        python=cls,
        claim=claim or None,
    )
    return cls


def _check(name: str, cls: object, parameters: Sequence[Parameter]) -> None:
    require_name(name, "policy")
    known = CATALOGUE.get(name)
    if known is not None and not isinstance(known.python, type):
        raise InputError(f"policy {name} was refused: that is the name of one of bestk's own")
    missing = [each for each in METHODS if not callable(getattr(cls, each, None))]
    if not isinstance(cls, type) or missing:
        what = f"without {', '.join(missing)}" if isinstance(cls, type) else "that is no class"
        raise InputError(
            f"policy {name} was refused: {shown(cls)}, {what}; a class with start, ask, tell and"
            " answer is needed"
        )
    for parameter in parameters:
        if not isinstance(parameter, Parameter) or parameter.name in RESERVED:
            raise InputError(
                f"parameter {shown(parameter)} of {name} was refused: it must be a"
                f" bestk.policies.Parameter, called other than {', '.join(RESERVED)}"
            )


# --- policies that a study was begun with, and that are not here ----------------------------------


class Absent:
    """In place of a policy that is not here: its study can be read, but not asked."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why

    def start(self, *_: object) -> NoReturn:
        """Say what is missing."""
        raise PolicyError(
            f"policy {self.name} was refused: {self.why}, so it can neither be asked"
            " nor told; import what registers it (bestk --load FILE), or install its package. What"
            " the study knows can be read"
        )

    ask = tell = answer = start


def _absent(name: str, why: str) -> Policy:
    """The entry of a policy that is not registered here, or cannot be loaded."""
    return Policy(
        name, name, "unknown", "unknown", "not registered here", t.PAIR, radius=t.EVIDENCE,
        proved=False, combinatorial=True, parameters=(), python=partial(Absent, name, why),
    )  # fmt: skip


# --- what runs by default, and what went without saying -------------------------------------------


def default_policy(decision: DecisionClass) -> str:
    """What runs when no policy is named."""
    return DEFAULT if isinstance(decision, TopK) else COMBINATORIAL_DEFAULT


def as_recorded(name: str, decision: DecisionClass, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters that a log holds, with what went without saying in version 0.1."""
    shape = decision.structure
    compares_sets = name == COMBINATORIAL_DEFAULT and (shape is None or shape.rank is None)
    if compares_sets and isinstance(params, Mapping) and STOP not in params:
        return {**params, STOP: BOUNDS}
    return params
