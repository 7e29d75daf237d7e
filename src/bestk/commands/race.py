"""Racing commands: which of them are fastest, run one at a time until it is certain.

A run's reward is its time. Commands are compared by their medians, or another quantile, which needs
no bound on times (docs/race.md); by means only with a cap that is fixed before the first counted
run: times are bounded then, and e-lucb's guarantee holds for the means of min(time, cap). A run
that fails is never a time: in warm-up its command leaves the race, later the race ends with an
error.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from bestk.arguments import count, duration, integer
from bestk.commands.comparing import MEAN, OF_MEANS, cap_of, compared, default_cap
from bestk.commands.entrants import Each, Settings, read_entrants, require_begun, require_ready
from bestk.commands.outcome import RaceResult, told_apart
from bestk.commands.process import Output, kill_running
from bestk.commands.relative import Ratio, relative
from bestk.commands.runs import NEVER, Run, agreed_limit, at_least, interrupted, kept, read_runs
from bestk.commands.timings import Timing, timings
from bestk.compiled.live import alone
from bestk.decisions import TopK
from bestk.errors import ArmFailedError, InputError
from bestk.problem import Problem
from bestk.rewards import Bounded, Quantile, Rewards
from bestk.storage import MemoryStorage, Storage
from bestk.storage.addresses import open_storage
from bestk.study.result import Result
from bestk.study.runner import Runner
from bestk.study.study import Study

NAME = "race"  # of the study

Watch = Callable[["Race"], AbstractContextManager[object]]  # shows a race while it lasts


class Race:
    """A race of commands: first `warm_up`, then `run`.

    Commands are split into words as a shell does and run without one, unless `shell`. They are
    compared `by` "median" (the default) or "mean", or by a `quantile`, up to `epsilon` seconds; if
    `relative`, up to a factor 1 + epsilon. `max_time` is a limit for every run. A race that is kept
    in a file (`storage`) goes on from there, compared as it was, with the limit that it had.

    `setup` runs once for every command before its first run, `cleanup` after the race, `prepare`
    before every run and `conclude` after it: one command for all, or, of the last two, one for
    each. `parameters` are the values of `{VAR}` in any of them, `given` is a file to be read as
    standard input. With `ignore_failure` a run counts whatever its exit code. `names` are what the
    commands are called, in their order, instead of their texts.
    """

    def __init__(
        self,
        commands: Sequence[str],
        *,
        k: int = 1,
        delta: float = 0.05,
        epsilon: float = 0.0,
        by: str | None = None,
        quantile: float | None = None,
        relative: bool = False,
        warmup: int = 1,
        max_time: float | None = None,
        parameters: Mapping[str, Sequence[str]] | None = None,
        setup: str | None = None,
        prepare: Each = None,
        conclude: Each = None,
        cleanup: str | None = None,
        given: Path | None = None,
        output: Output = "keep",
        ignore_failure: bool = False,
        names: Sequence[str] = (),
        shell: bool = False,
        seed: int | None = None,
        storage: str | os.PathLike[str] | None = None,
    ) -> None:
        k, warmup = integer(k, "k"), integer(warmup, "warmup")
        wanted = compared(by, quantile, relative)
        if warmup < 0:
            raise InputError(f"{warmup} warm-ups were refused: there must be at least 0")
        if max_time is not None and math.isinf(max_time := duration(max_time, "max_time")):
            raise InputError("max_time=inf was refused: a limit must be finite, or left out")
        self.k, self.warmup, self.max_time, self.shell = k, warmup, max_time, shell
        around = Settings(
            shell, parameters or {}, setup, prepare, conclude, cleanup, given, output,
            ignore_failure, names,
        )  # fmt: skip
        self.entrants = read_entrants(commands, around)
        if (many := len(self.entrants)) < 2:
            how = "or more values for the parameters" if parameters else "or one with -L or -P"
            raise InputError(f"{many} command was refused: give two commands, {how}")
        if k >= many:
            raise InputError(
                f"K={k} was refused: K must be smaller than the number of commands, {many}"
            )
        # what can be wrong with these is said before anything runs
        Problem(TopK(len(self.entrants), k), wanted or Bounded(), delta, epsilon)
        self.failed: dict[str, str] = {}
        self._settings: dict[str, Any] = {
            "k": k, "delta": delta, "epsilon": epsilon, "seed": seed,
            "maximize": False, "policy": "e-lucb",
        }  # fmt: skip
        self._log: Storage = MemoryStorage() if storage is None else open_storage(storage)
        self._study: Study | None = None
        self._limit = max_time  # of runs that are compared by a quantile
        self._compared = wanted
        if next(iter(self._log.read(NAME)), None) is not None:
            self._resume(is_free=by is None and quantile is None, is_relative=relative)
        if self._compared is None and self._study is None and warmup == 0 and max_time is None:
            raise InputError(
                "0 warm-ups were refused: the cap of means comes from the warm-up times, so there"
                " must be at least 1, unless the cap is given"
            )
        self._trouble: ArmFailedError | None = None
        self._is_unbegun = False  # the last run: it is being prepared
        self._known: tuple[float, dict[str, Any]] | None = (
            None  # of the last: it is being concluded
        )
        self._set_up: list[str] = []  # commands whose setup has run
        self.interrupted: list[str] = []  # commands of runs that count as cut for it
        self.unclean: list[str] = []  # cleanups that failed: what was found stands
        self.is_cut_short = False  # a cleanup was interrupted

    def _resume(self, *, is_free: bool, is_relative: bool) -> None:
        """Go on with what is in the log, refusing what does not agree with it."""
        begun = self._open(None, None)
        rewards = begun.problem.rewards
        if not isinstance(rewards, Quantile) and cap_of(rewards) is None:
            raise InputError(
                f"the study {NAME!r} was refused: it is not a race: its rewards are not times"
            )
        if is_relative and not isinstance(rewards, Quantile):
            raise InputError(OF_MEANS)
        if isinstance(rewards, Quantile) and rewards.relative != is_relative:
            kinds = {True: "a factor", False: "a number of seconds"}
            raise InputError(
                f"epsilon as {kinds[is_relative]} was refused: the race was begun with"
                f" {kinds[not is_relative]}"
            )
        before = rewards if isinstance(rewards, Quantile) else None
        if not is_free and before != self._compared:
            title = MEAN if before is None else before.title
            raise InputError(
                f"comparing by the {self.by} was refused: the race was begun by the {title}, and"
                " the guarantee holds for what was fixed before the data"
            )
        self._compared = before
        require_begun([str(arm) for arm in begun.arms], self.entrants)
        if before is not None:
            self._study = begun
            self._limit = agreed_limit(self._log.read(NAME), self.max_time)
        else:
            given = None if self.max_time is None else Bounded(0.0, self.max_time)
            self._study = self._open(None, given)

    def _open(self, commands: Sequence[str] | None, rewards: Rewards | None) -> Study:
        """Make the study; one that is in the log already must agree with what is given."""
        return Study(NAME, commands, rewards=rewards, storage=self._log, **self._settings)

    @property
    def study(self) -> Study:
        """The study of the counted runs; there is one once it is known who takes part."""
        if self._study is None:
            raise InputError("the race was refused: warm up first, the cap comes from it")
        return self._study

    @property
    def cap(self) -> float | None:
        """Seconds at which a counted run is cut; None if it is not."""
        return self._limit if self._compared is not None else cap_of(self.study.problem.rewards)

    @property
    def by(self) -> str:
        """What is compared, in words."""
        return MEAN if self._compared is None else self._compared.title

    @property
    def counted(self) -> int:
        """Counted runs so far."""
        return self.study.samples

    @property
    def wins(self) -> dict[str, tuple[int, int]]:
        """Of pairs: comparisons that each command has won, and of how many."""
        return {}

    def now(self) -> Result:
        """What is known so far; may be asked for from another thread."""
        return self.study.summary(None)

    # --- running ----------------------------------------------------------------------------------

    def warm_up(self, tick: Callable[[], None] | None = None) -> None:
        """Run every command `warmup` times in turn, drop those that fail, and fix the cap of means.

        A command's warm-up time is the smallest of its warm-ups. They are cut only if a limit was
        given: a first run may be slow because nothing is in any cache yet. `tick` is called after
        every run.
        """
        try:
            fastest = self._warm_up(tick or (lambda: None))
            if self._study is not None:  # all was fixed before the first counted run, and stays
                begun = [str(arm) for arm in self._study.arms]
                require_ready(begun, fastest, self.failed)
                return
            cap = self.max_time or default_cap(list(fastest.values()), self.k)
            self._study = self._open(list(fastest), self._compared or Bounded(0.0, cap))
        except BaseException:
            self.clean_up()
            raise

    def _warm_up(self, tick: Callable[[], None]) -> dict[str, float]:
        """The fastest warm-up of every command that stays."""
        self._setup()
        fastest = dict.fromkeys(self.entrants, math.inf)
        for _ in range(self.warmup):
            for command in list(fastest):
                entrant = self.entrants[command]
                done = entrant.run(self.max_time)
                tick()
                if entrant.is_good(done):
                    fastest[command] = min(fastest[command], done.seconds)
                else:
                    self.failed[command] = entrant.how_it_failed(done)
                    del fastest[command]
        if len(fastest) <= self.k:
            reasons = "; ".join(f"{command!r}: {text}" for command, text in self.failed.items())
            raise InputError(
                f"the race was refused: to find the {self.k} fastest it takes {self.k + 1} commands"
                f" that run, and there are {len(fastest)}. Failed in warm-up: {reasons}"
            )
        return fastest

    def run(
        self,
        budget: int | None = None,
        watch: Watch = nullcontext,
        *,
        runs: int | None = None,
        min_runs: int | None = None,
    ) -> RaceResult:
        """Counted runs until the rule stops, the budget is spent, or an interrupt.

        With `runs` every command has exactly so many, in blocks of one of each; the rule looks at
        the end, and whether it is certain then is what the evidence says. With `min_runs` every
        command has at least so many.
        """
        try:
            least, budget = self._planned(runs, min_runs, budget)
            self._cut_unfinished(budget)
            self.study.ask_each(least)
            # a failed run stays open, to count as cut in a race that goes on, and ends this one
            runner = Runner(self.study, self._measure, budget=budget, retries=1)
            runner.look = self._heed
            runner.say = None  # the table says at the end which epsilon would do
            self._setup()
            with watch(self), alone():
                result = runner.run()
            result = self._settle(result)
        finally:
            kill_running()
            self.clean_up()
        problem = self.study.problem
        found = self._found(result, relative(self.runs(), problem.rewards, problem.delta), runs)
        return replace(found, result=told_apart(result, found.at_least))

    def _found(self, result: Result, slower: dict[str, Ratio], each: int | None) -> RaceResult:
        cut = Counter(run.command for run in self.runs() if run.cut)
        least = at_least(self.runs(), self.study.problem.rewards)
        return RaceResult(
            result, self.cap, dict(cut), self.failed, self.by, slower, least, self.wins, each
        )

    def _planned(
        self, runs: int | None, min_runs: int | None, budget: int | None
    ) -> tuple[int, int | None]:
        """The least runs of each command, and the most in all."""
        if runs is None:
            return 0 if min_runs is None else count(min_runs, "min_runs", 1), budget
        runs = count(runs, "runs", 1)
        for name, other in (("min_runs", min_runs), ("budget", budget)):
            if other is not None:
                raise InputError(f"{name}={other} was refused: runs={runs} says how many there are")
        done = Counter(run.command for run in self.runs())
        for command, many in done.items():
            if many > runs or (self.study.is_stopped and many < runs):
                raise InputError(
                    f"runs={runs} was refused: the race that is resumed has {many} of {command!r}"
                )
        return runs, runs * len(self.study.arms)

    def _setup(self) -> None:
        for command, entrant in self.entrants.items():
            if command not in self._set_up:
                entrant.stage("setup")
                self._set_up.append(command)

    def clean_up(self) -> None:
        """Clean up after every command that was set up, one failing or not; `run` does it, once.

        An interrupt ends the clean-up under way alone: the others run, and what was found stands.
        """
        while self._set_up:
            command = self._set_up.pop(0)
            try:
                self.entrants[command].stage("cleanup")
            except ArmFailedError as error:
                self.unclean.append(str(error))
            except KeyboardInterrupt:
                self.is_cut_short = True
                self.unclean.append(f"what cleans up after the runs of {command!r} was interrupted")

    def _heed(self) -> None:
        if self._trouble is not None:
            raise self._trouble

    def _settle(self, result: Result) -> Result:
        """After an interrupt around a run: while it was prepared it had no time, later it had one.

        To count it as cut would make commands look slow that take long to prepare.
        """
        unbegun, known = self._is_unbegun, self._known
        for pull in self.study.open if unbegun or known else ():
            if not self.study.is_held_elsewhere(pull):
                if known is None:
                    self.study.forget(pull)
                else:
                    self.study.tell(pull, *known)
                result = self.study.summary(result.stopped)
        return result

    def _cut_unfinished(self, budget: int | None) -> None:
        """Let runs that were interrupted, or failed, count as cut: no time of them is known.

        To run them again would be to draw again, and interrupts find slow runs more often than
        quick ones; of a command that fails where it is slow only the lucky runs would be timed.
        Where the budget is spent they wait.
        """
        for pull in self.study.open:
            if budget is not None and self.counted >= budget:
                break
            if not self.study.is_held_elsewhere(pull):
                cap = self.cap
                self.study.tell(pull, NEVER if cap is None else cap, interrupted(cap))
                self.interrupted.append(str(pull.arm))

    def _measure(self, command: str) -> tuple[float, dict[str, Any]]:
        """The time of one counted run, or the cap, and what else is known of the run."""
        entrant, cap = self.entrants[command], self.cap
        try:
            self._is_unbegun = True
            entrant.stage("prepare")
            self._is_unbegun = False
            done = entrant.run_alone(cap)
            if entrant.is_good(done):
                seconds = done.seconds
                if cap is not None:
                    seconds = cap if done.timed_out else min(seconds, cap)
                self._known = seconds, kept(done, cap)
            entrant.stage("conclude")
            known, self._known = self._known, None
            if known is None:
                raise ArmFailedError(
                    f"{command!r} failed in a counted run, after {self.counted} that went"
                    f" well: {entrant.how_it_failed(done)}; the race has ended, a failed run is not"
                    " a time"
                )
        except ArmFailedError as error:
            self._trouble, self._is_unbegun, self._known = error, False, None
            raise
        return known

    # --- reading ----------------------------------------------------------------------------------

    def runs(self) -> Iterator[Run]:
        """Every counted run, from the log."""
        return read_runs(self._log.read(NAME), self.study.arms, self.cap)

    def timings(self) -> dict[str, Timing]:
        """What the times of every command look like."""
        return timings(self.runs(), self.entrants)
