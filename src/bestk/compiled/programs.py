"""Programs: what is compiled together, from which kernels, and how it is called.

A program is a Python file in the cache folder (`specialise.py` writes it) with its machine code
beside it, `NAME.PROCESSOR.o`. A file `NAME.PROCESSOR.done` says that both are there: how long
that took, which fields of structures the code reads and what its entries return.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestk.compiled import cache
from bestk.compiled.layout import Block, Layout, kind_of
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
    "pairs": ("", "pairs"),
    "glr": ("", "glr"),
    "kind": ("normal", "beta", "betting", "bernstein", "coins", "finite", "quantile"),
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
    pairs: bool = False
    glr: bool = False
    kind: int = 0

    @classmethod
    def of(cls, spec: types.Spec, e: types.Evidence) -> Axes:
        """Those of a policy with that evidence."""
        kind = e.kind if spec.radius == types.EVIDENCE else 0
        axes = spec.family, spec.radius, spec.structure, spec.hybrid, spec.pairs, spec.glr
        return cls(*axes, kind)


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

    def _beside(self, suffix: str) -> Path:
        """A file of the machine code, which is for one kind of processor."""
        from bestk.compiled.machine import processor

        return self.path.with_suffix(f".{processor()}.{suffix}")

    def is_ready(self) -> bool:
        """Whether it is compiled."""
        return self._beside("done").exists()

    def last_took(self) -> float | None:
        """Seconds that a compilation took last time, of this or an earlier version."""
        found = list(cache.folder().parent.glob(f"programs-*/{self.name}.*.done"))
        try:
            newest = max(found, key=lambda path: path.stat().st_mtime)
            return float(json.loads(newest.read_text(encoding="utf-8"))["seconds"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def compile(self) -> None:
        """Write and compile what is not there yet; another process that is at it is waited for."""
        from bestk.compiled.machine import compiled

        with cache.locked(self.path.with_suffix(".lock")):
            if self.is_ready():
                return
            started = time.perf_counter()
            source, fields = self._written()
            cache.publish(self.path, source.encode())
            code, returns = compiled(source, self._kinds(fields))
            cache.publish(self._beside("o"), code)
            seconds = round(time.perf_counter() - started, 1)
            done = {"seconds": seconds, "fields": fields, "returns": returns}
            cache.publish(self._beside("done"), json.dumps(done).encode())

    def _written(self) -> tuple[str, dict[str, list[str]]]:
        """Its source, and the fields of structures that it reads."""
        from bestk.compiled.specialise import Specialisation

        written = Specialisation(self.axes._asdict(), KINDS[self.kind])
        return written.source(self.name), written.fields()

    def _kinds(self, fields: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
        """What the entries take."""
        return {
            f"{kernel.__module__.rpartition('.')[2]}_{kernel.__name__}": [
                kind_of(argument, fields) for argument in _arguments(kernel, self.axes)
            ]
            for kernel in KINDS[self.kind]
        }

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
        """The program as the disk has it."""
        from bestk.compiled.machine import loaded

        done = json.loads(self._beside("done").read_text(encoding="utf-8"))
        kinds = self._kinds(done["fields"])
        code = loaded(self._beside("o").read_bytes(), kinds, done["returns"])
        names = (kernel.__name__ for kernel in KINDS[self.kind])
        return Loaded(dict(zip(names, code.values(), strict=True)), kinds)


class Loaded:
    """The machine code of a program, and the structures that it takes."""

    def __init__(self, code: dict[str, Kernel], kinds: Mapping[str, Iterable[Any]]) -> None:
        self.code = code
        every = (kind for several in kinds.values() for kind in several)
        self._layouts = {kind.name: kind for kind in every if isinstance(kind, Layout)}

    def lean(self, value: Any) -> Any:
        """A structure as the words that the program reads; anything else as it is."""
        layout = self._layouts.get(type(value).__name__) if isinstance(value, tuple) else None
        return value if layout is None else Block(value, layout)


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
