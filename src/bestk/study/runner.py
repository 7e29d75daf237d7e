"""Running a study to its end: pulls on any executor, with retries, timeouts and a budget."""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from typing import Any

from bestk.arguments import as_float, count, duration, require_executor, require_function
from bestk.decisions import DecisionClass
from bestk.errors import ArmFailedError, ExecutorError, InputError, PullError, StorageError
from bestk.rewards import Rewards
from bestk.storage import Storage
from bestk.study.pulls import Pull
from bestk.study.result import Result, Stopped
from bestk.study.study import Study

Measure = Callable[..., Any]  # arm, or arm and item -> a number, or a coroutine that gives one
Progress = Callable[[Study], None]  # called after every answer
HEED = 0.5  # seconds: a signal that comes just before a wait is heeded only after it
LOOK = 0.05  # seconds between two looks for answers of other processes


class DaemonThreads(Executor):
    """A thread for every call, none of which keeps the process alive: a hung one is left behind."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                value = fn(*args, **kwargs)
            except BaseException as error:  # it belongs to the caller of result()
                future.set_exception(error)
            else:
                future.set_result(value)

        threading.Thread(target=work, daemon=True).start()
        return future


def _call(measure: Measure, what: tuple[Any, ...], token: str) -> Any:  # noqa: ARG001 - see below
    """Make one pull, of a coroutine function too.

    The token makes every call differ from every other: an engine that takes functions for pure, as
    Dask does, would give equal calls one result, and one draw would count as several.
    """
    value = measure(*what)

    async def awaited() -> Any:
        return await value

    return asyncio.run(awaited()) if inspect.isawaitable(value) else value


class Runner:
    """Keeps up to `parallel` pulls of a study going."""

    def __init__(
        self,
        study: Study,
        measure: Measure,
        *,
        executor: Executor | None = None,
        parallel: int = 1,
        budget: int | None = None,
        seconds: float | None = None,
        timeout: float | None = None,
        retries: int = 0,
        progress: Progress | None = None,
        stops: bool = True,
    ) -> None:
        require_function(measure, "pull")
        if executor is not None:
            require_executor(executor)
        if progress is not None:
            require_function(progress, "progress")
        self.study, self.measure, self.executor = study, measure, executor or DaemonThreads()
        self.parallel, self.retries = count(parallel, "parallel", 1), count(retries, "retries", 0)
        self.budget = None if budget is None else count(budget, "budget", 0)
        self.timeout = None if timeout is None else duration(timeout, "timeout")
        self.seconds = None if seconds is None else duration(seconds, "seconds")
        self.progress = progress
        if self.parallel > 1:
            study.require_order(f"parallel={self.parallel}")
        self._running: dict[Future[Any], tuple[Pull, float]] = {}
        self._stops = stops  # whether a pull that failed for good ends the run
        self._failures: Counter[Hashable] = Counter()  # in a row, of each arm; or of each pull
        self.failed, self.last_failure = 0, ""  # of this run: how many, and what the last was

    def run(self) -> Result:
        """Until the rule stops, the budget is spent, or an interrupt."""
        started = time.monotonic()
        ended: Stopped | None = None
        try:
            while True:
                spent = self.seconds is not None and time.monotonic() - started >= self.seconds
                if not spent:
                    self._fill()
                if self.study.is_stopped:
                    break
                if self._running:
                    self._collect()
                elif spent or self._is_spent(0) or not self.study.waiting_for:
                    break
                else:  # what is told would be enough, but for pulls that another process makes
                    time.sleep(LOOK)
        except KeyboardInterrupt:
            ended = "interrupted"
            self._release()
        except BaseException:
            self._release()
            raise
        else:
            if self.study.check():  # the last answer of a budget may have settled it
                self._give_up()
            else:
                ended = "budget"
        return self.study.summary(ended)

    def _is_spent(self, more: int) -> bool:
        """Whether the budget is, with so many more pulls."""
        return self.budget is not None and self.study.samples + more >= self.budget

    def _fill(self) -> None:
        while (n := len(self._running)) < self.parallel and not self._is_spent(n):
            pulls = self.study.ask(1)
            if not pulls:
                return
            self._submit(pulls[0])

    def _submit(self, pull: Pull) -> None:
        what = (pull.arm,) if pull.position is None else (pull.arm, pull.item)
        try:
            future = self.executor.submit(_call, self.measure, what, secrets.token_hex(8))
        except RuntimeError as error:  # it broke, or was shut down
            raise ExecutorError(
                f"the executor takes no more work ({type(error).__name__}: {error}); all answers so"
                " far are kept, and the study can be resumed"
            ) from error
        self._running[future] = (pull, time.monotonic())

    def _collect(self) -> None:
        """Wait for an answer or a timeout, and deal with all that are there."""
        patience = HEED
        if self.timeout is not None:
            first = min(since for _, since in self._running.values())
            patience = min(HEED, max(0.0, first + self.timeout - time.monotonic()))
        done, _ = wait(self._running, patience, FIRST_COMPLETED)
        troubles = []
        for future in done:  # all of them, before one ends the run
            try:
                self._answer(self._running.pop(future)[0], future)
            except ArmFailedError as error:
                troubles.append(error)
        if troubles:
            raise troubles[0]
        if self.timeout is not None:
            latest = time.monotonic() - self.timeout
            for future, (pull, since) in list(self._running.items()):
                if since <= latest:
                    del self._running[future]  # nobody looks at a late value
                    future.cancel()
                    self._failed(pull, f"no answer within {self.timeout:g} seconds")

    def _answer(self, pull: Pull, future: Future[Any]) -> None:
        try:
            reward = future.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the user's code raises, SystemExit too
            self._failed(pull, _said(error))
            return
        try:
            self.study.tell(pull, reward)
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
            self._failed(pull, str(error))
            return
        self._failures[pull.arm] = 0
        if self.progress is not None:
            self.progress(self.study)

    def _failed(self, pull: Pull, why: str) -> None:
        self.failed, self.last_failure = self.failed + 1, f"arm {pull.arm!r}: {why}"
        if pull.position is not None:  # of an evaluation: the same cell again, or the worst score
            self._failures[pull.id] += 1
            if self._failures[pull.id] <= self.retries:
                self._submit(pull)
                return
            if not self._stops:
                with suppress(PullError):
                    self.study.fail(pull, why)
                return
            self.study.release([pull])
            raise ArmFailedError(
                f"arm {pull.arm!r} failed on item {pull.position} with {why}; all scores so far are"
                " kept, and the evaluation can be resumed"
            )
        try:
            self.study.fail(pull, why)
        except PullError:
            return  # another process had an answer
        self._failures[pull.arm] += 1
        if self._failures[pull.arm] > self.retries:
            times = self._failures[pull.arm]
            often = "once," if times == 1 else f"{times} times in a row, the last time"
            raise ArmFailedError(
                f"arm {pull.arm!r} failed {often} with {why}; all answers so far are kept, and the"
                " study can be resumed"
            )
        if self.study.retries_pulls:
            self._submit(pull)

    def _release(self) -> None:
        """The run is cut short: the study may hand out again what was under way."""
        self.study.release(pull for pull, _ in self._running.values())
        self._running.clear()

    def _give_up(self) -> None:
        for future, (pull, _) in self._running.items():
            future.cancel()
            if pull.position is not None:  # of an evaluation, in which no score is given up
                self.study.release([pull])
                continue
            with suppress(PullError):  # answered by another process
                self.study.forget(pull)
        self._running.clear()


def _said(error: BaseException) -> str:
    """What an exception says, as a text that any storage can hold."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # its own text fails
        text = type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()


def identify(
    arms: Iterable[Hashable],
    pull: Measure,
    *,
    k: int | None = None,
    decision: DecisionClass | None = None,
    delta: float = 0.05,
    epsilon: float = 0.0,
    rewards: Rewards | None = None,
    maximize: bool = True,
    policy: str | None = None,
    variant: str | None = None,
    params: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    parallel: int = 1,
    budget: int | None = None,
    timeout: float | None = None,
    retries: int = 0,
    storage: Storage | str | os.PathLike[str] | None = None,
    name: str = "identify",
    seed: int | None = None,
    lease: float | None = None,
    lost: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find the best arms by calling `pull(arm)`, which returns one noisy reward.

    `pull` may be a coroutine function. Up to `parallel` calls run at once on `executor` (any
    `concurrent.futures.Executor`; by default threads). A call that raises, takes longer than
    `timeout` seconds or returns something that is no valid reward has failed; an arm that fails
    retries + 1 times in a row ends the run with `ArmFailedError`. `budget` is the most pulls. With
    `storage` (a file name) the same call resumes a run that was cut short; where several processes
    share it, give a `lease`, longer than a pull takes (seconds).

    Answers count in the order asked, so how long a pull takes may depend on its reward. Whether it
    fails may not, unless `lost="worst"` (docs/studies.md, "The order of answers").
    """
    require_function(pull, "pull")  # before a file is made
    study = Study(
        name, arms, k=k, decision=decision, delta=delta, epsilon=epsilon, rewards=rewards,
        maximize=maximize, policy=policy, variant=variant, params=params, storage=storage,
        seed=seed, lease=lease, lost=lost,
    )  # fmt: skip
    return Runner(
        study, pull, executor=executor, parallel=parallel, budget=budget, timeout=timeout,
        retries=retries, progress=progress,
    ).run()  # fmt: skip
