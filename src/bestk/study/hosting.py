"""Runs to be awaited: `await aidentify(...)` is `identify(...)`, its pulls on the caller's loop.

The run itself is in a thread, so that the loop is never blocked by a study; its coroutines are on
the loop of whoever awaits it, and are cancelled with it.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

from bestk.study.calls import DaemonThreads

P = ParamSpec("P")
R = TypeVar("R")


class Host:
    """The loop that a run is to use, and how to end the run."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._cancel: Callable[[], None] | None = None
        self._is_cancelled = False

    def begin(self, cancel: Callable[[], None]) -> None:
        """A run has begun, which `cancel` ends."""
        self._cancel = cancel
        if self._is_cancelled:
            cancel()

    def cancel(self) -> None:
        """End the run, or the one that is about to begin."""
        self._is_cancelled = True
        if self._cancel is not None:
            self._cancel()


_HOST: ContextVar[Host | None] = ContextVar("host", default=None)


def take_host() -> Host | None:
    """The host of the run that begins here; one that begins inside of a pull has none."""
    host = _HOST.get()
    if host is not None:
        _HOST.set(None)
    return host


def hosted(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """The same function to be awaited: its pulls run on the loop of whoever awaits it."""

    @functools.wraps(function)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> R:
        host, context = Host(asyncio.get_running_loop()), copy_context()
        context.run(_HOST.set, host)
        work = functools.partial(function, *args, **kwargs)
        done = asyncio.wrap_future(DaemonThreads().submit(context.run, work))
        try:
            result: R = await asyncio.shield(done)
        except asyncio.CancelledError:
            host.cancel()
            with suppress(Exception):  # the run ends; why it would have is nobody's business now
                await done
            raise
        return result

    awaited.__name__ = awaited.__qualname__ = f"a{function.__name__}"
    awaited.__doc__ = (
        f"`{function.__name__}`, to be awaited: coroutines run on the caller's event loop, which is"
        f" not blocked meanwhile.\n\n    Cancelled, it leaves the study resumable.\n\n   "
        f" {function.__doc__}"
    )
    return awaited
