"""Reports, certificates and exports of a study, made from what is in the storage.

All of these may take seconds: `Desk` has nothing to do with them, and threads make them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, TypeVar

from bestk.errors import InputError, StorageError
from bestk.server.guard import Refusal
from bestk.storage.addresses import KeptStorage

T = TypeVar("T")
WANTED = 20  # documents that are made at a time, or wait for it, for one token; arbitrary
PIECE = 1 << 16  # characters of an export that are sent at a time


class Writers:
    """One at a time: those who wait take no thread from others."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._wanted: Counter[str | None] = Counter()  # by who wants them

    async def make(self, work: Callable[..., T], *given: Any, who: str | None = None) -> T:
        """What that makes of what is given, in a thread; for a token, or for the server itself."""
        # what waits is made in any case, also where nobody waits for it any more
        if who is not None and self._wanted[who] >= WANTED:
            raise Refusal(
                429, "TooManyRequests", f"{WANTED} documents are being made for this token already",
                retry_after="5",
            )  # fmt: skip
        self._wanted[who] += 1
        try:
            async with self._one:
                return await asyncio.to_thread(work, *given)
        finally:
            self._wanted[who] -= 1


def _opened(address: str) -> KeptStorage:
    """The storage; that it is not there any more is no fault of who asks."""
    from bestk.study.reading import open_storage

    try:
        return open_storage(address)
    except InputError as error:
        raise StorageError(str(error)) from error


def report(address: str, name: str) -> str:
    """The page of a study."""
    from bestk.report.page.study import write

    _opened(address).close()
    with TemporaryDirectory() as folder:
        target = Path(folder) / "report.html"
        write(address, target, name)
        return target.read_text(encoding="utf-8")


def certificate(address: str, name: str) -> dict[str, Any]:
    """The certificate of a study that has stopped."""
    from bestk.study.certificate import make_certificate

    _opened(address).close()
    return make_certificate(address, name)


def export(address: str, name: str, format: str) -> IO[str]:
    """Every observation that counts, in a file without a name: millions are too many for memory."""
    from bestk.report.export import write_observations

    storage = _opened(address)
    file = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115 - `pieces` closes it
    write_observations(storage, name, format, file)
    file.seek(0)
    return file


async def pieces(file: IO[str]) -> AsyncIterator[str]:
    """What is in a file, which is closed then."""
    with file:
        while text := file.read(PIECE):
            yield text


def past(address: str, name: str) -> list[Any]:
    """How certainty grew in a study so far."""
    from bestk.study.past import certainty
    from bestk.study.specification import Specification

    log = _opened(address).read(name)
    first = next(log)
    return list(certainty(Specification.from_json(first.data), chain([first], log)))
