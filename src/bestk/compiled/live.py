"""A state and the kernels that move it: interpreted at first, compiled where that pays.

Interpreted kernels decide in a tenth of a millisecond to a few, which is less than most pulls take;
loading compiled ones takes about a quarter of a second with LLVM, compiling them two or three. So
half a second is spent in interpreted kernels before compiled ones are loaded from disk, and two
before a process in the background is asked to compile: whatever comes, little more is paid than the
best choice in hindsight would have cost (the rule of ski rental; Karlin et al. 1988). Both compute
the same numbers on the same arrays, so that the move can be made between any two calls.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bestk.compiled.background import Compilation
from bestk.compiled.modes import NEVER, NOW, mode
from bestk.compiled.programs import AROUND, KINDS, LIVE, Axes, Loaded, Program
from bestk.kernels import quantile, statistics, step
from bestk.kernels.types import (
    CPE,
    EVIDENCE,
    NO_ORACLE,
    QUANTILE,
    ROOM,
    SEEN,
    SETS,
    FloatArray,
    IntArray,
    Spec,
    State,
)

LOADING = 0.5  # seconds of interpreted kernels after which compiled ones are loaded, if they exist
COMPILING = 2.0  # after which a process is asked to compile them
OF_STATISTICS = ("rebuild", "intervals")  # kernels that look at no tree
LOOK = 0.2  # seconds of interpreted kernels between two looks at that process

_known: dict[Program, Kernels] = {}
_alone = False


@contextmanager
def alone() -> Iterator[None]:
    """While times are measured no other process shall compile."""
    global _alone  # noqa: PLW0603 - of the whole process
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


def is_python(spec: Spec) -> bool:
    """Whether the oracle of a policy has to be called from Python."""
    return spec.family in (CPE, SETS) and spec.structure == NO_ORACLE


class Kernels:
    """The kernels of one program in this process."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.interpreted = {kernel.__name__: kernel for kernel in KINDS[program.kind]}
        self.loaded: Loaded | None = None
        self._spent = 0.0
        self._next = LOADING
        self._compilation: Compilation | None = None

    @classmethod
    def of(cls, kind: str, axes: Axes) -> Kernels:
        """The one object of this process for a program."""
        program = Program(kind, axes)
        found = _known.setdefault(program, cls(program))
        if found.loaded is None and mode() == NOW:
            found.loaded = program.acquire()
        return found

    def spend(self, seconds: float) -> None:
        """So long was spent in interpreted kernels: see whether others pay by now."""
        self._spent += seconds
        if self._spent >= self._next:
            self._next = self._spent + LOOK
            if mode() != NEVER:
                self._consider()

    def _consider(self) -> None:
        if self.program.is_ready():
            if self._compilation is not None:
                self._compilation.end()
            self.loaded = self.program.acquire()
        elif self._compilation is None:
            if self._spent >= COMPILING and not _alone:
                self._compilation = Compilation(self.program)
        elif not self._compilation.is_running():
            self._next = float("inf")  # it could not be compiled: go on as before


class Machine:
    """One state of a policy."""

    def __init__(self, spec: Spec, state: State, kernels: Kernels | None = None) -> None:
        self.spec, self.state = spec, state
        if kernels is None:
            kind = AROUND if is_python(spec) else LIVE
            kernels = Kernels.of(kind, Axes.of(spec, state.evidence))
        self.kernels = kernels
        self.is_stale = False  # whether the trees have yet to see what the statistics say
        self._lean: tuple[Any, Any] | None = None
        self.is_ordered = spec.radius == EVIDENCE and state.evidence.kind == QUANTILE

    def copy(self, state: State) -> Machine:
        """The same policy in another state, which must be up to date."""
        return Machine(self.spec, state, self.kernels)

    @property
    def is_whole(self) -> bool:
        """Whether every arm has been observed."""
        self.settle()
        return bool(self.state.clock[SEEN] == self.spec.n_arms)

    def tell_many(self, arms: IntArray, rewards: FloatArray) -> None:
        """Record observations by numpy; the trees are built when next needed."""
        statistics.tell_many(self.state, self.spec, arms, rewards)
        self.is_stale = True
        self._lean = None  # an array may have moved

    def settle(self) -> None:
        """Build the trees if they are not up to date."""
        if self.is_stale:
            self.is_stale = False
            self.call("rebuild")

    def call(self, name: str, *arguments: Any) -> Any:
        """Let a kernel act on the state."""
        if self.is_stale and name not in OF_STATISTICS:
            self.settle()
        if self.is_ordered and name == "tell" and not quantile.has_room(self.state, arguments[0]):
            room = int(self.state.places[ROOM, arguments[0]])
            statistics.make_room(self.state, max(quantile.FIRST_ROOM, 2 * room))
            self._lean = None  # an array has moved
        loaded = self.kernels.loaded
        if loaded is None:
            started = time.perf_counter()
            found = self.kernels.interpreted[name](self.state, self.spec, *arguments)
            self.kernels.spend(time.perf_counter() - started)
            return found
        if self._lean is None:
            self._lean = loaded.lean(self.state), loaded.lean(self.spec)
        return loaded.code[name](*self._lean, *map(loaded.lean, arguments))

    def at(self, epsilon: float) -> Machine:
        """The same state with another slack."""
        self.settle()
        return Machine(self.spec._replace(epsilon=epsilon), self.state, self.kernels)

    def reset(self, run: int) -> None:
        """Forget all observations; `run` numbers the coins."""
        step.reset(self.state, self.spec, run)
