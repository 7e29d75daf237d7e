"""Racing commands: which of them are fastest, run one at a time until it is certain.

A run's reward is its time, cut off at a cap that is fixed before the first counted run: times are
bounded then, and e-lucb's guarantee holds for the means of min(time, cap). A run that fails is
never a time: in warm-up its command leaves the race, later the race ends with an error.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from bestk.arguments import duration, flag, integer, shown
from bestk.commands.process import Finished, how_it_failed, kill_running, run_command, split
from bestk.compiled.live import alone
from bestk.decisions import TopK
from bestk.errors import ArmFailedError, InputError
from bestk.problem import Problem
from bestk.rewards import Bounded
from bestk.storage import MemoryStorage, Storage
from bestk.storage import events as ev
from bestk.storage.addresses import open_storage
from bestk.study.result import Result
from bestk.study.runner import Runner
from bestk.study.study import Study

NAME = "race"  # of the study
FACTOR = 3.0  # the cap, in warm-up times of the (k+1)-th fastest command

Watch = Callable[[Runner], AbstractContextManager[object]]  # shows a run while it lasts


@dataclass(frozen=True)
class Run:
    """A counted run; if it was cut, its seconds are the cap."""

    command: str
    seq: int  # in the order of the race, from 1
    seconds: float
    cut: bool


@dataclass(frozen=True)
class RaceResult:
    """What a race found: the result of its study, and what its times are."""

    result: Result
    cap: float
    cut: dict[str, int]  # how many runs were cut, of the commands that had such runs
    failed: dict[str, str]  # the commands that left the race in warm-up, and why

    def to_dict(self) -> dict[str, Any]:
        """The result of the study, with three keys more."""
        return self.result.to_dict() | {"cap": self.cap, "cut": self.cut, "failed": self.failed}


def default_cap(warm_ups: Sequence[float], k: int) -> float:
    """Three times the (k+1)-th smallest of the commands' warm-up times.

    High enough to leave the k fastest and their next rival alone, low enough to cut the slow rest
    off: the higher the cap, the more runs are needed.
    """
    return FACTOR * sorted(warm_ups)[k]


class Race:
    """A race of commands: first `warm_up`, then `run`.

    Commands are split into words as a shell does and run without one, unless `shell`. A race that
    is kept in a file (`storage`) goes on from there, with the cap that it had.
    """

    def __init__(
        self,
        commands: Sequence[str],
        *,
        k: int = 1,
        delta: float = 0.05,
        epsilon: float = 0.0,
        warmup: int = 1,
        max_time: float | None = None,
        prepare: str | None = None,
        shell: bool = False,
        seed: int | None = None,
        storage: str | os.PathLike[str] | None = None,
    ) -> None:
        k, warmup = integer(k, "k"), integer(warmup, "warmup")
        if warmup < 0 or (warmup == 0 and max_time is None):
            raise InputError(
                f"{warmup} warm-ups were refused: the cap comes from the warm-up times, so there"
                " must be at least 1, unless the cap is given"
            )
        if max_time is not None and math.isinf(max_time := duration(max_time, "max_time")):
            raise InputError("max_time=inf was refused: the guarantee needs a cap on all times")
        self.k, self.warmup, self.max_time = k, warmup, max_time
        self.shell = flag(shell, "shell")
        self.commands: dict[str, str | tuple[str, ...]] = {}
        for text in commands:
            words = self._words(text)
            if words in self.commands.values():  # however it is written
                raise InputError(
                    f"command {text!r} was refused: it is listed twice, and nothing is faster than"
                    " itself"
                )
            self.commands[text] = words
        self.prepare = None if prepare is None else self._words(prepare)
        # what can be wrong with these is said before anything runs
        Problem(TopK(len(self.commands), k), Bounded(), delta, epsilon)
        self.failed: dict[str, str] = {}
        self._settings: dict[str, Any] = {
            "k": k, "delta": delta, "epsilon": epsilon, "seed": seed,
            "maximize": False, "policy": "e-lucb",
        }  # fmt: skip
        self._log: Storage = MemoryStorage() if storage is None else open_storage(storage)
        self._study: Study | None = None
        if next(iter(self._log.read(NAME)), None) is not None:
            self._study = self._open(None, max_time)  # refuses what does not agree with it
        self._trouble: ArmFailedError | None = None
        self.interrupted: list[str] = []  # commands of runs that count as cut for it

    def _words(self, text: str) -> str | tuple[str, ...]:
        """A command as it is run."""
        if not isinstance(text, str):
            raise InputError(f"command {shown(text)} was refused: it must be a text")
        words = [text.strip()] if self.shell else split(text)
        if not any(words):
            raise InputError(f"command {text!r} was refused: it is empty")
        return text if self.shell else tuple(words)

    def _open(self, commands: Sequence[str] | None, cap: float | None) -> Study:
        """Make the study; one that is in the log already must agree with what is given."""
        rewards = None if cap is None else Bounded(0.0, cap)
        return Study(NAME, commands, rewards=rewards, storage=self._log, **self._settings)

    @property
    def study(self) -> Study:
        """The study of the counted runs; there is one once the cap is fixed."""
        if self._study is None:
            raise InputError("the race was refused: warm up first, the cap comes from it")
        return self._study

    @property
    def cap(self) -> float:
        """Seconds at which a counted run is cut."""
        rewards = self.study.problem.rewards
        if not isinstance(rewards, Bounded) or rewards.low != 0.0:
            raise InputError(f"the study {NAME!r} was refused: it is no race, its rewards no times")
        return rewards.high

    # --- running ----------------------------------------------------------------------------------

    def warm_up(self, tick: Callable[[], None] | None = None) -> None:
        """Run every command `warmup` times in turn, drop those that fail, and fix the cap.

        A command's warm-up time is the smallest of its warm-ups. They are cut only if the cap was
        given: a first run may be slow because nothing is in any cache yet. `tick` is called after
        every run.
        """
        fastest = dict.fromkeys(self.commands, math.inf)
        for _ in range(self.warmup):
            for command in list(fastest):
                done = self._run(command, self.max_time)
                if tick is not None:
                    tick()
                if done.timed_out or done.code == 0:
                    fastest[command] = min(fastest[command], done.seconds)
                else:
                    self.failed[command] = how_it_failed(done)
                    del fastest[command]
        if len(fastest) <= self.k:
            reasons = "; ".join(f"{command!r}: {text}" for command, text in self.failed.items())
            raise InputError(
                f"the race was refused: to find the {self.k} fastest it takes {self.k + 1} commands"
                f" that run, and there are {len(fastest)}. Failed in warm-up: {reasons}"
            )
        cap = self.max_time or default_cap(list(fastest.values()), self.k)
        if self._study is not None:
            cap = self.cap  # it was fixed before the first counted run, and stays
        self._study = self._open(list(fastest), cap)

    def run(self, budget: int | None = None, watch: Watch = nullcontext) -> RaceResult:
        """Counted runs until the rule stops, the budget is spent, or an interrupt."""
        self._cut_interrupted()
        runner = Runner(self.study, self._measure, budget=budget, retries=0)
        runner.say = None  # the table says at the end which epsilon would do
        try:
            with watch(runner), alone():
                result = runner.run()
        except ArmFailedError as error:
            raise self._trouble or error from None
        finally:
            kill_running()
        cut = Counter(run.command for run in self.runs() if run.cut)
        return RaceResult(result, self.cap, dict(cut), self.failed)

    def _cut_interrupted(self) -> None:
        """Let runs that were interrupted count as cut: what is known is that they were not over.

        To run them again would be to draw again, and interrupts find slow runs more often than
        quick ones. A failed run is open too, but no time: it is run again.
        """
        failed = {event.key for event in self._log.read(NAME) if event.kind == ev.FAILED}
        for pull in self.study.open:
            if pull.id not in failed and not self.study.is_held_elsewhere(pull):
                self.study.tell(pull, self.cap)
                self.interrupted.append(str(pull.arm))

    def _measure(self, command: str) -> float:
        """The time of one counted run, or the cap."""
        try:
            done = self._run(command, self.cap)
            if done.code != 0 and not done.timed_out:
                raise ArmFailedError(
                    f"{command!r} failed in a counted run, after {self.study.samples} that went"
                    f" well: {how_it_failed(done)}; the race has ended, a failed run is not a time"
                )
        except ArmFailedError as error:
            self._trouble = error
            raise
        return self.cap if done.timed_out else min(done.seconds, self.cap)

    def _run(self, command: str, limit: float | None) -> Finished:
        """Prepare, untimed, then one run."""
        if self.prepare is not None:
            ready = run_command(self.prepare, shell=self.shell)
            if ready.code != 0:
                raise ArmFailedError(
                    f"what prepares the run of {command!r} failed: {how_it_failed(ready)}"
                )
        return run_command(self.commands[command], shell=self.shell, timeout=limit)

    # --- reading ----------------------------------------------------------------------------------

    def runs(self) -> Iterator[Run]:
        """Every counted run, from the log."""
        labels, cap, seq = self.study.arms, self.cap, 0
        running: dict[str, int] = {}
        for event in self._log.read(NAME):
            if event.kind == ev.ASKED:
                running[event.key] = event.arm
            elif event.kind == ev.TOLD and event.key in running:
                seq += 1
                command = str(labels[running.pop(event.key)])
                yield Run(command, seq, event.reward, event.reward >= cap)
