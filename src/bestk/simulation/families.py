"""Families of instances: the paper's, by name, and those that users and packages register.

Packages offer theirs as entry points of the group `bestk.instances`: a maker, or anything whose
import registers one of that name. They are loaded when they are asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from bestk.arguments import require_function, require_name, shown
from bestk.errors import BestkError, InputError

if TYPE_CHECKING:
    from bestk.simulation.instances import Instance

GROUP = "bestk.instances"
INSTANCES = ("1-sparse", "exponential", "lil-exponential", "means", "replay")
OPTIONS = ("arms", "k", "alpha", "maximize")  # what a maker may take

Maker = TypeVar("Maker", bound="Callable[..., Instance]")
REGISTERED: dict[str, Callable[..., Instance]] = {}


def register_instance(name: str, maker: Maker | None = None) -> Any:
    """Give a family of instances a name, for `simulate`, `plan`, `compare` and the command line.

    `maker` returns an `Instance` (`bestk.make_instance`, `custom`, `structured`, `replay`). It may
    take `arms`, `k`, `alpha` and `maximize` as keywords, and gets those that were given; from the
    command line `k` is a text, as `make_instance` takes it. Left out, this is a decorator.
    Registering a name again replaces it.
    """
    if maker is None:
        return partial(register_instance, name)
    require_name(name, "instance")
    if name in INSTANCES:
        raise InputError(f"instance {name} was refused: that is the name of one of bestk's own")
    require_function(maker, f"the maker of instance {name}")
    REGISTERED[name] = maker
    return maker


def find_maker(name: str) -> Callable[..., Instance] | None:
    """The maker of that name, loaded if it is an installed one; None if there is none."""
    if name in REGISTERED or name in INSTANCES:
        return REGISTERED.get(name)
    for point in entry_points(group=GROUP):
        if point.name == name:
            try:
                found = point.load()
                if name not in REGISTERED:  # the module did not register it when it was imported
                    register_instance(name, found)
            except Exception as error:  # whatever somebody else's package raises
                raise InputError(
                    f"instance {name} ({GROUP}: {point.value}) cannot be loaded:"
                    f" {type(error).__name__}: {error}"
                ) from error
    return REGISTERED.get(name)


def known_instances() -> tuple[str, ...]:
    """The names of all families, installed ones included."""
    installed = [point.name for point in entry_points(group=GROUP)]
    return tuple(dict.fromkeys((*INSTANCES, *REGISTERED, *installed)))


def options_of(name: str) -> tuple[str, ...]:
    """Which of `OPTIONS` a family takes."""
    maker = find_maker(name)
    if maker is None:
        own = {"1-sparse": ("arms", "k"), "means": ("arms", "k")}
        return (*own.get(name, ("arms", "k", "alpha")), "maximize")
    takes = inspect.signature(maker).parameters
    if any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        return OPTIONS
    return tuple(option for option in OPTIONS if option in takes)


def call_maker(name: str, given: Mapping[str, Any]) -> object:
    """What a registered maker makes of the options that were given; others are refused."""
    maker = find_maker(name)
    assert maker is not None
    taken = options_of(name)
    for option, value in given.items():
        if option not in taken:
            what = f"it takes {', '.join(taken)}" if taken else "it takes none"
            raise InputError(f"{option}={shown(value)} was refused for instance '{name}': {what}")
    try:
        return maker(**given)
    except BestkError:
        raise
    except Exception as error:  # whatever somebody else's code raises
        raise InputError(
            f"instance '{name}' was refused: its maker failed with {type(error).__name__}: {error}"
        ) from error
