"""A race by pairs: blocks of one run of each remaining command, compared within blocks."""

from __future__ import annotations

import math
import random
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from bestk.arguments import count
from bestk.commands.outcome import RaceResult
from bestk.commands.pairs import Pairs
from bestk.commands.process import kill_running
from bestk.commands.race import Race, Watch
from bestk.commands.relative import Ratio
from bestk.commands.runs import Run
from bestk.confidence import confidence_sequence
from bestk.errors import InputError
from bestk.rewards import Quantile
from bestk.study.extras import PROCESS
from bestk.study.result import SECONDS, ArmResult, Result, Status, Stopped

PAIRS = "pairs"
THEOREM = "docs/race.md, Pairs"


class PairedRace(Race):
    """The same commands and settings as a `Race`; which is faster is decided within blocks.

    There is no slack, and no file: certificates know nothing of pairs.
    """

    def __init__(self, commands: Sequence[str], **settings: Any) -> None:
        for name in ("quantile", "storage", "epsilon"):
            if settings.get(name):
                raise InputError(
                    f"{name}={settings[name]} was refused: a race by pairs has no {name}"
                )
        super().__init__(commands, **{**settings, "by": None})
        self.delta = float(self._settings["delta"])
        self._runs: list[Run] = []
        self._blocks: list[dict[str, float]] = []
        self._lock = threading.Lock()  # of the rule: another thread may show it

    @property
    def by(self) -> str:
        """What is compared, in words."""
        return PAIRS

    @property
    def counted(self) -> int:
        """Runs so far."""
        return len(self._runs)

    @property
    def wins(self) -> dict[str, tuple[int, int]]:
        """Comparisons with others of a block that each command has won, and of how many."""
        with self._lock:
            won, met = self._rule.won.sum(axis=1), self._rule.met.sum(axis=1)
        return {c: (int(won[i]), int(met[i])) for i, c in enumerate(self._commands)}

    def runs(self) -> Iterator[Run]:
        """Every counted run."""
        return iter(self._runs)

    def run(
        self,
        budget: int | None = None,
        watch: Watch = nullcontext,
        *,
        runs: int | None = None,
        min_runs: int | None = None,
    ) -> RaceResult:
        """Blocks until the answer is certain, the next would exceed the budget, or an interrupt.

        With `runs` there are exactly so many blocks of all commands, with `min_runs` at least.
        """
        stopped: Stopped | None = None
        self._started = time.monotonic()
        self._commands = [str(arm) for arm in self.study.arms]
        self._rule = Pairs(len(self._commands), self.k, self.delta)
        try:
            least, most = self._planned(runs, min_runs, budget)
            most = None if most is None else count(most, "budget", 0)
            self._setup()
            with watch(self):
                stopped = self._race(least, most)
        except KeyboardInterrupt:
            stopped = "interrupted"
        finally:
            kill_running()
            self.clean_up()
        result = self._result("rule" if self._rule.is_over else stopped)
        return self._found(result, self._relative(result), runs)

    def now(self) -> Result:
        """What is known so far; may be asked for from another thread."""
        return self._result(None)

    def _race(self, least: int, most: int | None) -> Stopped | None:
        rule, commands = self._rule, self._commands
        while len(self._blocks) < least or not rule.is_over:
            block = rule.remaining if len(self._blocks) >= least else list(range(rule.n))
            if most is not None and self.counted + len(block) > most:
                return "budget"
            order = random.Random(f"{self.study.specification.seed} {len(self._blocks)}")
            times: dict[int, float] = {}
            for i in order.sample(block, len(block)):
                times[i] = self._counted_run(commands[i])
            self._blocks.append({commands[i]: seconds for i, seconds in times.items()})
            with self._lock:
                rule.tell(times)
        return None

    def _counted_run(self, command: str) -> float:
        seconds, extra = self._measure(command)
        process = extra[PROCESS]
        is_cut = self.cap is not None and seconds >= self.cap
        self._runs.append(
            Run(
                command, self.counted + 1, seconds, is_cut, extra.get("user"), extra.get("system"),
                process.get("memory"), process["code"],
            )
        )  # fmt: skip
        return seconds

    def _result(self, stopped: Stopped | None) -> Result:
        """What a study would say, the fastest first; `mean` holds the median of the times."""
        rule, commands = self._rule, self._commands
        times = {c: [run.seconds for run in self._runs if run.command == c] for c in commands}
        middle = {c: statistics.median(own) if own else None for c, own in times.items()}
        with self._lock:
            statuses: dict[int, Status] = dict.fromkeys(rule.inside, "in")
            statuses |= dict.fromkeys(rule.outside, "out")
            wins = rule.won.sum(axis=1) - rule.won.sum(axis=0)
            certified = rule.is_over
        order = {"in": 0, "undecided": 1, "out": 2}
        status = {i: statuses.get(i, "undecided") for i in range(rule.n)}
        places = sorted(status, key=lambda i: (order[status[i]], -wins[i]))
        arms = tuple(
            ArmResult(c, middle[c], None, None, len(times[c]), 0, status[i])
            for i, c in ((i, commands[i]) for i in places)
        )
        return Result(
            study=PAIRS, top=tuple(commands[i] for i in places[: rule.k]), certified=certified,
            error_bound=self.delta if certified else None,
            theorem=THEOREM if certified else None, samples=self.counted,
            seconds=time.monotonic() - self._started,
            stopped=stopped, tied=False, certifiable_epsilon=0.0 if certified else None,
            forecast=None, arms=arms, maximize=False, compares="median", unit=SECONDS,
        )  # fmt: skip

    def _relative(self, result: Result) -> dict[str, Ratio]:
        """Medians of ratios within blocks, to the command that comes first.

        All pairs share delta, so that the intervals hold at once and at all times, drift or not.
        """
        commands = [str(arm.label) for arm in result.arms]
        first = commands[0]
        if not any(first in block for block in self._blocks):
            return {}
        alpha = self.delta / math.comb(len(commands), 2)
        found = {first: Ratio(1.0, 1.0, 1.0)}
        cut = {run.command for run in self._runs if run.cut}  # of which more is not known
        for command in commands:
            both = [b[command] / b[first] for b in self._blocks if command in b and first in b]
            if command != first and both:
                seen = confidence_sequence(Quantile(0.5), both, alpha)
                low = 0.0 if first in cut else max(0.0, float(seen.low[-1]))
                high = math.inf if command in cut else float(seen.high[-1])
                found[command] = Ratio(float(seen.mean[-1]), low, high)
        return found
