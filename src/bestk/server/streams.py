"""Server-sent events: one look at a study for all who watch it, at most two a second."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from bestk.errors import BestkError
from bestk.server.desk import Desk
from bestk.server.metrics import Metrics
from bestk.server.snapshots import Snapshots

EVERY = 0.5  # seconds between two looks, at least
SHARE = 0.05  # of the time that looks may take: those at thousands of arms come less often
SILENCE = 15.0  # seconds after which a viewer hears that the server lives
RECALL = 1.0  # seconds that a viewer waits for the past; after that it comes later
Valid = Callable[[], bool]
Past = Callable[[str], Awaitable[list[Any]]]  # of a study by its name: see `documents.past`


class Watch:
    """Those who watch one study."""

    def __init__(self, desk: Desk, past: Past) -> None:
        self.desk, self.snapshots = desk, Snapshots()
        self._recalling = asyncio.create_task(self._recall(past))
        self._viewers: set[asyncio.Queue[bytes | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._seen = -1
        self._cost = 0.0
        self._next = 0.0
        self._texts: dict[str, tuple[str, int, float]] = {}  # until when, and of how many events

    def text(self, what: str, make: Callable[[], str], is_fresh: bool) -> str:
        """What is made of the study, which may take long where there is much of it.

        Who only looks gets what was made last until so much time has passed that making it takes
        little of it: one who asks again and again does not stop the server for the others. With
        `is_fresh`, for those who work, nothing that has happened since is missing.
        """
        events, now = self.desk.study.look(), time.monotonic()
        text, of, until = self._texts.get(what, ("", -1, now))
        if now >= until or (is_fresh and of != events):
            text = make()
            until = now + max(EVERY, (time.monotonic() - now) / SHARE)
            self._texts[what] = text, events, until
        return text

    def look(self) -> bytes | None:
        """What is to be said to those who watch already; None if nothing happened."""
        started = time.perf_counter()
        study = self.desk.study
        events = study.look()
        if events == self._seen and not self.snapshots.full.get("rate"):  # the pace has to settle
            return None
        self._seen = events
        text = _event("standings", self.snapshots.take(study))
        self._cost = time.perf_counter() - started
        return text

    async def _recall(self, past: Past) -> None:
        """Read how certainty grew before anyone looked, the server's last start included."""
        with suppress(BestkError):  # the page shows what is known since then
            self.snapshots.recall(await past(self.desk.study.name))
        self._seen = -1  # to be told with the next look
        self._next = 0.0

    async def join(self) -> asyncio.Queue[bytes | None]:
        """Where a new viewer finds what there is to see: first all of it."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=8)
        await self._ready()
        queue.put_nowait(_event("standings", self.snapshots.full))
        self._viewers.add(queue)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return queue

    def leave(self, queue: asyncio.Queue[bytes | None]) -> None:
        """One viewer less; nobody looks for nobody."""
        self._viewers.discard(queue)
        if not self._viewers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def full(self) -> dict[str, object]:
        """All of it, not older than two looks may be apart."""
        await self._ready()
        return self.snapshots.full

    async def _ready(self) -> None:
        """A look that is not too old, with the past unless that is long."""
        await asyncio.wait([self._recalling], timeout=RECALL)
        if time.monotonic() >= self._next or not self.snapshots.full:
            self._publish()

    def _publish(self) -> None:
        text = self.look()
        self._next = time.monotonic() + max(EVERY, self._cost / SHARE)
        if text is not None:
            for queue in self._viewers:
                if queue.full():  # one that does not read: it hears the rest when it joins again
                    with suppress(asyncio.QueueEmpty):
                        while True:
                            queue.get_nowait()
                    queue.put_nowait(None)
                else:
                    queue.put_nowait(text)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(max(0.01, self._next - time.monotonic()))
            with suppress(BestkError):  # of the storage, which the next look may find well again
                self._publish()

    def close(self) -> None:
        """Say goodbye to everyone."""
        for queue in self._viewers:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(None)


class Watched(StreamingResponse):
    """A stream whose viewer is counted from the moment on that it is let in."""

    def __init__(self, stream: AsyncIterator[bytes], counted: AbstractContextManager[None]) -> None:
        super().__init__(stream, media_type="text/event-stream")
        self._place = ExitStack()
        self._place.enter_context(counted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """All of it."""
        with self._place:
            await super().__call__(scope, receive, send)


class Streams:
    """The watches of all studies."""

    def __init__(self, metrics: Metrics, past: Past) -> None:
        self._watches: dict[str, Watch] = {}
        self._past = past
        self._metrics = metrics
        self.watching: Counter[str] = Counter()  # streams of events by who watches
        self.is_closing = False

    def of(self, desk: Desk) -> Watch:
        """That of a study."""
        name = desk.study.name
        if name not in self._watches:
            self._watches[name] = Watch(desk, self._past)
        return self._watches[name]

    async def events(self, desk: Desk, is_valid: Valid) -> AsyncIterator[bytes]:
        """What a viewer is sent, until one of both leaves, or it may not look any more."""
        watch = self.of(desk)
        queue = await watch.join()
        try:
            while not self.is_closing and is_valid():
                try:
                    text = await asyncio.wait_for(queue.get(), SILENCE)
                except TimeoutError:
                    text = b": still here\n\n"
                if text is None or not is_valid():
                    break
                yield text
            yield _event("end", {"again": not self.is_closing and is_valid()})
        finally:
            watch.leave(queue)

    @contextmanager
    def counted(self, who: str) -> Iterator[None]:
        """One more viewer, in the block."""
        self._metrics.viewers += 1
        self.watching[who] += 1
        try:
            yield
        finally:
            self._metrics.viewers -= 1
            self.watching[who] -= 1

    def close(self) -> None:
        """End all streams: the server is shutting down."""
        self.is_closing = True
        for watch in self._watches.values():
            watch.close()


def _event(name: str, data: object) -> bytes:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()
