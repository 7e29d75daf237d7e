"""Making calls: threads for functions, one event loop for coroutines, or an executor of the user's.

Coroutines of one run share one loop, so that they can share a client: that of the caller
(`aidentify`), or one of ours in a thread, which also works where the caller's thread has a loop
running, as in Jupyter. On an executor of the user's each coroutine has a loop of its own: the call
may be in another process.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from bestk.arguments import shown
from bestk.errors import ExecutorError
from bestk.study.pulls import Pull

RETURNED = "your function returned"
Measure = Callable[..., Any]  # arm, or arm and item -> a number, or a coroutine that gives one


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


class LoopThread:
    """An event loop in a daemon thread of its own, from its first coroutine to `close`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine; one that comes after `close` is refused."""
        with self._lock:  # whatever is accepted is on the loop before it is told to stop
            if self._is_closed:
                coroutine.close()
                raise RuntimeError("the run has ended")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            for task in (left := asyncio.all_tasks(loop)):
                task.cancel()
            if left:
                loop.run_until_complete(asyncio.wait(left, timeout=1.0))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    def close(self) -> None:
        """Cancel what still runs, and end the loop; a task that will not end is left behind."""
        with self._lock:
            loop, thread, self._is_closed = self._loop, self._thread, True
        if loop is not None and thread is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
            thread.join(2.0)


class Calls:
    """Starts the calls of one run."""

    def __init__(
        self,
        measure: Measure,
        executor: Executor | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._measure, self._executor, self._given = measure, executor, loop
        self._threads, self._ours = DaemonThreads(), LoopThread()
        self._is_coroutine = inspect.iscoroutinefunction(measure) or inspect.iscoroutinefunction(
            getattr(measure, "__call__", None)  # noqa: B004 - an object with `async def __call__`
        )
        self._takes = required(measure)

    def _await(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        if self._given is None:
            return self._ours.submit(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, self._given)

    def submit(self, pull: Pull) -> Future[Any]:
        """Start the call of a pull."""
        what: tuple[Any, ...] = (pull.arm,) if pull.position is None else (pull.arm, pull.item)
        if self._takes == len(what) + 1:
            what = (*what, pull)
        try:
            if self._executor is not None:
                return self._executor.submit(_call, self._measure, what, secrets.token_hex(8))
            if self._is_coroutine:
                return self._await(_awaited(self._measure, what))
            return self._threads.submit(self._call, what)
        except RuntimeError as error:  # it broke, or was shut down
            raise ExecutorError(
                f"the executor accepts no more work ({type(error).__name__}: {error}); all answers"
                " so far are kept, and the study can be resumed"
            ) from error

    def _call(self, what: tuple[Any, ...]) -> Any:
        """A call in a thread; what it returns to be awaited is awaited on the loop."""
        value = self._measure(*what)
        if not inspect.isawaitable(value):
            return value
        try:
            return self._await(_awaited(lambda: value, ())).result()
        finally:
            if inspect.iscoroutine(value):  # the run may end before its first step
                value.close()

    def close(self) -> None:
        """No more calls."""
        self._ours.close()


async def _awaited(measure: Measure, what: tuple[Any, ...]) -> Any:
    """Call and await on a loop, which an exit would end."""
    try:
        value = measure(*what)
        return await value if inspect.isawaitable(value) else value
    except SystemExit as error:
        raise RuntimeError(f"SystemExit: {error}") from error


async def _wait(value: Any) -> Any:
    return await value


def _call(measure: Measure, what: tuple[Any, ...], token: str) -> Any:  # noqa: ARG001 - see below
    """Make one pull on an executor of the user's, of a coroutine function too.

    The token makes every call differ from every other: an engine that takes functions for pure, as
    Dask does, would give equal calls one result, and one draw would count as several.
    """
    value = measure(*what)
    return asyncio.run(_wait(value)) if inspect.isawaitable(value) else value


def required(measure: Measure) -> int:
    """How many positional parameters without a default a function has; 0 where nobody can tell."""
    try:
        parameters = inspect.signature(measure).parameters.values()
    except (TypeError, ValueError):  # of some functions written in C
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def not_returned(reward: object) -> str | None:
    """What to say of a function that forgot its return, or returned a text; None of another."""
    if reward is None:
        return f"{RETURNED} None; return a number"
    if isinstance(reward, str):
        return f"{RETURNED} the text {shown(reward)}; return a number"
    return None
