"""Programs: what is compiled together, from which kernels, and how it is called.

A program is a Python file in the cache folder (`specialise.py` writes it) with the machine code of
its entries beside it. A file `NAME.done` says that all entries are there, and how many seconds that
took.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestk.compiled import cache
from bestk.kernels import bounds, cpe, evidence, loop, step, types

Kernel = Callable[..., Any]

# What each kind of program holds.
PLAY = "play"  # the simulator's loop
TURN = "turn"  # the same around a Python oracle
LIVE = "live"  # one observation at a time
AROUND = "around"  # the same around a Python oracle
SEQUENCE = "sequence"  # of confidence intervals

_COMMON = (step.tell, step.rebuild, step.recommend, step.slack, bounds.intervals)
_PIECES = (step.ask_means, cpe.means, step.revise, step.choose, step.lead)
KINDS: dict[str, tuple[Kernel, ...]] = {
    PLAY: (loop.play_many,),
    TURN: (loop.turn, loop.score, *_PIECES),
    LIVE: (step.ask, step.is_certified, *_COMMON),
    AROUND: (*_PIECES, *_COMMON),
    SEQUENCE: (evidence.sequence,),
}
CODES = {
    "family": ("pair", "clucb", "ugape", "lil-ucb", "cpe", "exchange", "sets"),
    "radius": ("lil", "rounds", "samples", "evidence"),
    "structure": ("", "partition", "forest", "dag", "roads", "explicit"),
    "hybrid": ("", "hybrid"),
    "kind": ("normal", "beta", "betting", "bernstein"),
}


_loaded: dict[Program, Loaded] = {}
_lock = threading.Lock()
_waited = 0.0


def seconds_waited() -> float:
    """How long this process has waited for machine code so far: no part of anyone's work."""
    return _waited


def wait(seconds: float) -> None:
    """Note that so long was spent on getting machine code."""
    global _waited  # noqa: PLW0603 - the process has one clock
    _waited += seconds


class Axes(NamedTuple):
    """What is fixed in a program."""

    family: int = 0
    radius: int = 0
    structure: int = 0
    hybrid: bool = False
    kind: int = 0

    @classmethod
    def of(cls, spec: types.Spec, e: types.Evidence) -> Axes:
        """Those of a policy with that evidence."""
        kind = e.kind if spec.radius == types.EVIDENCE else 0
        return cls(spec.family, spec.radius, spec.structure, spec.hybrid, kind)


@dataclass(frozen=True)
class Program:
    """One kind of program at one point of the axes."""

    kind: str
    axes: Axes

    @property
    def name(self) -> str:
        """Of its files."""
        words = (CODES[axis][int(value)] for axis, value in self.axes._asdict().items())
        return "-".join([self.kind, *filter(None, words)])

    @property
    def path(self) -> Path:
        """Of its source."""
        return cache.folder() / f"{self.name}.py"

    @property
    def _done(self) -> Path:
        return self.path.with_suffix(".done")

    def is_ready(self) -> bool:
        """Whether it is compiled."""
        return self._done.exists()

    def last_took(self) -> float | None:
        """Seconds that a compilation took last time, of this or an earlier version."""
        found = list(cache.folder().parent.glob(f"programs-*/{self.name}.done"))
        try:
            newest = max(found, key=lambda path: path.stat().st_mtime)
            return float(newest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def compile(self) -> None:
        """Write and compile what is not there yet; another process that is at it is waited for."""
        with cache.locked(self.path.with_suffix(".lock")):
            if self.is_ready():
                return
            started = time.perf_counter()
            if not self.path.exists():
                cache.publish(self.path, self._source())
            self.load()
            cache.publish(self._done, f"{time.perf_counter() - started:.1f}")

    def _source(self) -> str:
        from bestk.compiled.specialise import Specialisation

        return Specialisation(self.axes._asdict(), KINDS[self.kind]).source(self.name)

    def acquire(self) -> Loaded:
        """The program in this process, compiled first if need be; a terminal is told so."""
        with _lock:
            if self not in _loaded:
                started = time.perf_counter()
                if not self.is_ready():
                    self._announce()
                    self.compile()
                _loaded[self] = self.load()
                wait(time.perf_counter() - started)
            return _loaded[self]

    def _announce(self) -> None:
        if sys.stderr.isatty():
            took = self.last_took()
            before = "once" if took is None else f"{took:.0f} s last time"
            print(f"bestk: compiling {self.name} ({before})", file=sys.stderr)

    def load(self) -> Loaded:
        """What the disk has of it; what it lacks is compiled."""
        from bestk.compiled.jit import code_for

        name = f"bestk_{self.path.parent.name}_{self.name}".replace("-", "_")
        module = sys.modules.get(name)
        if module is None:
            spec = importlib.util.spec_from_file_location(name, self.path)
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        loaded = Loaded(module)
        for kernel in KINDS[self.kind]:
            arguments = _arguments(kernel, self.axes)
            lean = tuple(loaded.lean(argument) for argument in arguments)
            function = getattr(module, f"{kernel.__module__.rpartition('.')[2]}_{kernel.__name__}")
            loaded.code[kernel.__name__] = code_for(function, lean)
        return loaded


class Loaded:
    """The machine code of a program, and the structures that it takes."""

    def __init__(self, module: Any) -> None:
        self._classes = {
            full: getattr(module, full.__name__)
            for full in (types.Spec, types.Evidence, types.State, types.World)
        }
        self.code: dict[str, Kernel] = {}

    def lean(self, value: Any) -> Any:
        """A structure with the fields that the program reads; anything else as it is."""
        small = self._classes.get(type(value))
        if small is None:
            return value
        return small(*(self.lean(getattr(value, field)) for field in small._fields))


def _arguments(kernel: Kernel, axes: Axes) -> tuple[Any, ...]:
    """Arguments of the types that a kernel is called with."""
    names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
    policy = axes._asdict()
    e = types.NO_EVIDENCE._replace(kind=policy.pop("kind"))
    spec = types.Spec(n_arms=2, k=1, rule=0, seed=1, **_NUMBERS, **policy)
    floats, counts, flags = np.zeros(2), np.zeros(2, np.int64), np.zeros(2, np.bool_)
    examples = {
        "state": step.new_state(spec, evidence=e),
        "spec": spec,
        "world": types.World(0, floats, 1.0),
        "e": e,
        "counts": np.zeros((1, 2), np.int64),
        **dict.fromkeys(("values", "data", "mean", "low", "high", "carry"), floats),
        **dict.fromkeys(("samples", "top_samples", "out", "cancel", "index"), counts),
        **dict.fromkeys(("acceptable", "finished", "right"), flags),
        **dict.fromkeys(("run", "first_run", "max_samples", "arm", "i", "first", "last"), 0),
        **dict.fromkeys(("reward", "least", "target", "sign", "t", "s", "v", "c", "warm"), 0.0),
    }
    return tuple(examples[name] for name in names)


_NUMBERS: dict[str, Any] = dict.fromkeys(
    ("sigma", "eps", "level_lower", "level_upper", "scale", "nu", "lam", "epsilon"), 1.0
)
