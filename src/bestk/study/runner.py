"""Running a study to its end: pulls on any executor, with retries, limits, timeouts and budgets."""

from __future__ import annotations

import heapq
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import replace
from itertools import count as numbers
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from bestk.arguments import (
    as_float,
    count,
    duration,
    real,
    refused,
    require_executor,
    require_function,
)
from bestk.errors import ArmFailedError, InputError, PullError, StorageError, UnknownName
from bestk.study.advice import Adviser
from bestk.study.calls import RETURNED, Calls, Measure, not_returned
from bestk.study.extras import COST, split
from bestk.study.hosting import take_host
from bestk.study.pulls import Pull
from bestk.study.remote import RemoteStudy
from bestk.study.result import Result, Stopped
from bestk.study.retries import Attempts, Limiter, asked_to_wait, is_too_often, per_second
from bestk.study.study import Study

AnyStudy = Study | RemoteStudy
Progress = Callable[[Any], None]  # called with the study after every answer
HEED = 0.5  # seconds: a signal that comes just before a wait is heeded only after it
LOOK = 0.05  # seconds between two looks for answers of other processes
RETRIES, BACKOFF = 3, 0.5  # by default: attempts beside the first, seconds before the second
ON_FAIL = ("stop", "withdraw", "low")
RESUMED = "all answers so far are kept, and the study can be resumed"


class Call(NamedTuple):
    """An attempt at a pull that is under way."""

    pull: Pull
    since: float
    running: int  # calls under way when it was made, this one included


class Runner:
    """Keeps up to `parallel` calls of a study's pulls going.

    A pull that fails is made again, up to `retries` times, in its place; then `on_fail` says what
    becomes of the run. `resume` is what an error says of how to go on.
    """

    def __init__(
        self,
        study: AnyStudy,
        measure: Measure,
        *,
        executor: Executor | None = None,
        parallel: int = 1,
        budget: int | None = None,
        seconds: float | None = None,
        cost: float | None = None,
        timeout: float | None = None,
        retries: int = RETRIES,
        backoff: float = BACKOFF,
        rate: float | str | None = None,
        on_fail: str = "stop",
        progress: Progress | None = None,
        resume: str = RESUMED,
    ) -> None:
        require_function(measure, "pull")
        if executor is not None:
            require_executor(executor)
        if progress is not None:
            require_function(progress, "progress")
        self.study, self.progress, self.resume = study, progress, resume
        self.parallel, self.retries = count(parallel, "parallel", 1), count(retries, "retries", 0)
        self.budget = None if budget is None else count(budget, "budget", 0)
        self.timeout = None if timeout is None else duration(timeout, "timeout")
        self.seconds = None if seconds is None else duration(seconds, "seconds")
        self.cost = None if cost is None else real(cost, "cost")
        self.backoff = real(backoff, "backoff")
        if self.backoff < 0.0:
            raise refused(backoff, "backoff", "it must be a number of seconds, at least 0")
        self.on_fail = on_fail
        _check_on_fail(study, on_fail)
        if self.parallel > 1:
            study.require_order(f"parallel={self.parallel}")
        host = take_host()
        self._calls = Calls(measure, executor, None if host is None else host.loop)
        self._limiter = Limiter(self.parallel, per_second(rate))
        self._running: dict[Future[Any], Call] = {}
        self._done: SimpleQueue[Future[Any] | None] = SimpleQueue()  # None: wake up
        self._later: list[tuple[float, int, Pull]] = []  # to be made again, by when
        self._number = numbers()
        self._attempts: defaultdict[Hashable, Attempts] = defaultdict(Attempts)  # that failed
        self._is_cancelled = False
        self.look: Callable[[], None] | None = None  # called now and then, by the thread that runs
        self.failed, self.last_failure = 0, ""  # of this run: how many, and what the last was
        self.notes: list[str] = []  # for the warnings of the result
        self.say: Callable[[str], None] | None = _print  # what is far off, early and once
        self._adviser = Adviser(study, self.budget)
        if host is not None:
            host.begin(self.cancel)

    def run(self) -> Result:
        """Until the rule stops, a budget is spent, or an interrupt."""
        started = time.monotonic()
        ended: Stopped | None = None
        try:
            while not self._is_cancelled:
                spent = self._is_over(started)
                pause = math.inf
                if spent:
                    self._release_later()
                else:
                    pause = self._fill()
                if self.study.is_stopped:
                    break
                if self._running or self._later:
                    self._collect(pause)
                elif spent or self._is_spent(0) or not self.study.waiting_for:
                    break
                else:  # what is told would be enough, but for pulls that another process makes
                    time.sleep(LOOK)
                self._look()
            if self._is_cancelled:
                ended = "interrupted"
                self._release()
        except KeyboardInterrupt:
            ended = "interrupted"
            self._release()
        except BaseException:
            self._release()
            raise
        else:
            if ended is None and self.study.check():  # the last answer may have settled it
                self._give_up()
            else:
                ended = ended or "budget"
        finally:
            self._calls.close()
        result = self.study.summary(ended)
        if self.notes and not result.certified:
            result = replace(result, warnings=(*result.warnings, *self.notes))
        return result

    def _look(self) -> None:
        """Between two answers: what is shown, and what is to be said."""
        if self.look is not None:
            self.look()
        if self.say is not None and (said := self._adviser.look()) is not None:
            self.say(said)  # now, and not with the result: by then it is out of date

    def cancel(self) -> None:
        """End the run soon, from another thread: what is under way may be handed out again."""
        self._is_cancelled = True
        self._done.put(None)

    # --- what to start ----------------------------------------------------------------------------

    def _is_over(self, started: float) -> bool:
        """Whether the time or the money is spent."""
        if self.seconds is not None and time.monotonic() - started >= self.seconds:
            return True
        return self.cost is not None and self.study.totals.get(COST, 0.0) >= self.cost

    @property
    def left(self) -> int | None:
        """Of the budget, pulls; the whole of it once it is spent, None where there is none."""
        if self.budget is None:
            return None
        return max(0, self.budget - self.study.samples) or self.budget

    def _is_spent(self, more: int) -> bool:
        """Whether the budget is, with so many more pulls."""
        return self.budget is not None and self.study.samples + more >= self.budget

    def _fill(self) -> float:
        """Start what may start; returns the seconds until more may."""
        most = self.parallel if self.parallel == 1 else 2 * self.parallel  # pulls that are out
        while True:
            now = time.monotonic()
            wait = self._limiter.wait(now, len(self._running))
            if wait > 0.0:
                return wait
            if self._later and self._later[0][0] <= now:
                self._submit(heapq.heappop(self._later)[2])
                continue
            out = len(self._running) + len(self._later)
            pulls = self.study.ask(1) if out < most and not self._is_spent(out) else []
            if not pulls:
                return self._later[0][0] - now if self._later else math.inf
            self._submit(pulls[0])

    def _submit(self, pull: Pull) -> None:
        now = time.monotonic()
        future = self._calls.submit(pull)
        self._limiter.started(now)
        self._running[future] = Call(pull, now, len(self._running) + 1)
        future.add_done_callback(self._done.put)

    # --- what came back ---------------------------------------------------------------------------

    def _collect(self, pause: float) -> None:
        """Wait for an answer, a timeout or the next start, and deal with all answers there are."""
        patience = min(HEED, max(0.0, pause))
        if self.timeout is not None and self._running:
            first = min(call.since for call in self._running.values())
            patience = min(patience, max(0.0, first + self.timeout - time.monotonic()))
        done = []
        with suppress(Empty):
            done.append(self._done.get(timeout=patience))
            while True:
                done.append(self._done.get_nowait())
        troubles = []
        for future in done:  # all of them, before one ends the run
            call = None if future is None else self._running.pop(future, None)
            if future is not None and call is not None:
                try:
                    self._answer(call, future)
                except ArmFailedError as error:
                    troubles.append(error)
        if troubles:
            raise troubles[0]
        if self.timeout is not None:
            latest = time.monotonic() - self.timeout
            for future, call in list(self._running.items()):
                if call.since <= latest and future in self._running:
                    del self._running[future]  # nobody looks at a late value
                    future.cancel()
                    self._failed(call, f"no answer within {self.timeout:g} seconds")

    def _answer(self, call: Call, future: Future[Any]) -> None:
        pull = call.pull
        try:
            reward, extra = split(future.result())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the user's code raises, SystemExit too
            self._failed(call, _said(error), error)
            return
        self._limiter.answered(time.monotonic(), call.since)
        try:
            self.study.tell(pull, reward, extra)
        except StorageError:
            raise
        except PullError:
            return  # another process was quicker; its answer counts
        except InputError as error:
            if as_float(reward) is not None:  # a number, infinity too
                self.study.fail(pull, str(error))
                raise ArmFailedError(
                    f"arm {pull.arm!r} broke the assumption: {error}. Drawing again until a reward"
                    " fits would void the guarantee; all answers so far are kept"
                ) from error
            self._failed(call, not_returned(reward) or str(error))
            return
        self._attempts.pop(self._counted(pull), None)
        if self.cost is not None and COST not in self.study.totals:
            raise InputError(
                f"cost={self.cost:g} was refused: the pull of {pull.arm!r} returned no cost, so it"
                ' would never be spent; return (reward, {"cost": ...}), or give costs'
            )
        if self.progress is not None:
            self.progress(self.study)

    # --- what failed ------------------------------------------------------------------------------

    def _counted(self, pull: Pull) -> Hashable:
        """What failures are counted for: the pull, or its arm where a new attempt is a new pull."""
        return pull.arm if self.study.specification.lost == "worst" else pull.id

    def _failed(self, call: Call, why: str, error: BaseException | None = None) -> None:
        pull, now = call.pull, time.monotonic()
        self.failed, self.last_failure = self.failed + 1, f"arm {pull.arm!r}: {why}"
        too_often, asked = is_too_often(error), asked_to_wait(error)
        if too_often:
            self._limiter.refused(now, call.since, call.running, asked)
        attempts = self._attempts[self._counted(pull)]
        attempts.add(too_often)
        wait = attempts.wait(self.backoff, asked)
        is_final = attempts.used_up(self.retries)
        try:
            if self.study.specification.lost == "worst":
                self.study.fail(pull, why)  # a hole; the policy asks for another
                self._limiter.pause(now + wait)
            elif self.study.retries_pulls:
                self.study.fail(pull, why)  # and stays open
            elif not is_final:
                self.study.retry(pull, why)
        except PullError:
            return  # another process had an answer
        if is_final:
            self._end(pull, why, attempts)
        elif self.study.specification.lost != "worst":
            heapq.heappush(self._later, (now + wait, next(self._number), pull))

    def _end(self, pull: Pull, why: str, attempts: Attempts) -> None:
        """A pull has failed for good."""
        study, times = self.study, attempts.failed + attempts.refused
        if pull.position is not None and self.on_fail == "stop":
            study.release([pull])
            raise ArmFailedError(
                f"arm {pull.arm!r} failed on item {pull.position} with {why}; {self.resume}"
            )
        with suppress(PullError):
            if pull.position is None and self.on_fail == "low":
                study.fail_low(pull, why)
            elif study.specification.lost != "worst" and not study.retries_pulls:
                study.fail(pull, why)
        if self.on_fail == "low":
            return
        often = "once," if times == 1 else f"{times} times in a row, the last time"
        trouble = f"arm {pull.arm!r} failed {often} with {why}"
        if why.startswith(RETURNED) and self.on_fail == "stop":  # which a resumed run would too
            raise ArmFailedError(f"arm {pull.arm!r} failed {often.rstrip(',')}: {why}")
        if self.on_fail == "stop":
            raise ArmFailedError(f"{trouble}; {self.resume}")
        try:
            study.withdraw_arm(pull.arm)
        except InputError as error:
            raise ArmFailedError(f"{trouble}, and {error}; {self.resume}") from error
        self.notes.append(f"{trouble}, and was withdrawn")
        self._attempts.pop(self._counted(pull), None)
        self._later = [each for each in self._later if each[2].arm != pull.arm]
        heapq.heapify(self._later)
        for future in [f for f, call in self._running.items() if call.pull.arm == pull.arm]:
            del self._running[future]
            future.cancel()

    # --- the end ----------------------------------------------------------------------------------

    def _release_later(self) -> None:
        """What was to be made again is left to whoever resumes the study."""
        self.study.release(pull for *_, pull in self._later)
        self._later.clear()

    def _release(self) -> None:
        """The run is cut short: the study may hand out again what was under way."""
        self._release_later()
        self.study.release(call.pull for call in self._running.values())
        for future in self._running:
            future.cancel()
        self._running.clear()

    def _give_up(self) -> None:
        for future in self._running:
            future.cancel()
        left = [call.pull for call in self._running.values()] + [pull for *_, pull in self._later]
        for pull in left:
            if pull.position is not None:  # of an evaluation, in which no score is given up
                self.study.release([pull])
                continue
            with suppress(PullError):  # answered by another process
                self.study.forget(pull)
        self._running.clear()
        self._later.clear()


def _check_on_fail(study: AnyStudy, on_fail: str) -> None:
    """Refuse what cannot be done in this study, before the first call."""
    if on_fail not in ON_FAIL:
        raise UnknownName("on_fail", on_fail, ON_FAIL)
    specification = study.specification
    if on_fail == "withdraw" and specification.max_arms is None:
        raise InputError(
            'on_fail="withdraw" was refused: arms may leave a study that was begun with max_arms'
        )
    if on_fail == "low" and specification.items is None:
        if specification.worst_reward is None:
            raise InputError(
                f'on_fail="low" was refused: {study.problem.rewards} has no lowest reward'
            )
        if specification.lost == "worst":
            raise InputError(
                'on_fail="low" was refused: with lost="worst" every failure counts as the worst'
            )


def _print(text: str) -> None:
    print(f"bestk: {text}", file=sys.stderr, flush=True)


def _said(error: BaseException) -> str:
    """What an exception says, as a text that any storage can hold."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # its own text fails
        text = type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()
