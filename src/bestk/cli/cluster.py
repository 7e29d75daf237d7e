"""`--dask ADDRESS`: the workers of a Dask cluster instead of the threads of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from bestk import __version__
from bestk.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from distributed import Client

PATIENCE = 5  # seconds to wait for a scheduler, for its first worker, and for a goodbye

Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Spread the runs over the Dask cluster at this address, such as"
        " tcp://127.0.0.1:8786; results do not depend on it.",
    ),
]


@contextmanager
def workers(address: str | None, jobs: int | None) -> Iterator[tuple[int | None, Executor | None]]:
    """How many threads do the work, and whose: a cluster's, or without an address those here."""
    if address is None:
        yield os.cpu_count() if jobs is None else jobs, None
        return
    if jobs is not None:
        raise InputError("--jobs was refused: with --dask, the workers' threads are used")
    from concurrent.futures import CancelledError

    client = _connect(address)
    try:
        _check_builds(client, address)
        # blocks of runs are pure functions, but there is no use in hashing their arguments
        yield sum(client.nthreads().values()), client.get_executor(pure=False)
    except CancelledError:
        raise ConnectionError(f"the Dask scheduler at {address} has gone") from None
    finally:
        _leave(client)


def _connect(address: str) -> Client:
    import asyncio
    import logging

    try:
        from distributed import Client
    except ImportError:
        raise InputError("--dask needs Dask: pip install 'bestk[dask]'") from None
    try:
        kind = asyncio.run(asyncio.wait_for(_kind(address), PATIENCE))
    except Exception as error:  # what a server that is not Dask's answers can raise anything
        why = str(error) or f"no answer within {PATIENCE} seconds"
        raise _refused(address, f"no Dask scheduler there ({why})") from None
    if kind != "Scheduler":
        raise _refused(address, f"that is a {kind}, not the scheduler")
    for name in ("distributed.client", "tornado.application"):  # errors are raised, too
        logging.getLogger(name).setLevel(logging.CRITICAL)
    client = Client(address, timeout=PATIENCE, set_as_default=False)
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        _leave(client)
        start = f"start some with `dask worker {address}`"
        raise _refused(address, f"the scheduler has no workers; {start}") from None
    return client


def _refused(address: str, why: str) -> InputError:
    return InputError(f"--dask {address} was refused: {why}")


def _leave(client: Client) -> None:
    """Say goodbye, but not wait for an answer forever: the end of this process says it as well."""
    try:
        client.close(timeout=PATIENCE)
    except TimeoutError:
        client.status = "closed"  # or it would wait once more when it is collected


async def _kind(address: str) -> str:
    """What is at an address. `Client` itself hangs on a server that is not Dask's."""
    from distributed.core import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=PATIENCE, connection_args=arguments) as there:
        return str((await there.identity())["type"])


def build() -> str:
    """What decides the numbers: the version of bestk, and its kernels with their compiler."""
    from bestk.compiled.cache import source_hash

    return f"{__version__}, kernels {source_hash()}"


def _check_builds(client: Client, address: str) -> None:
    """Refuse workers that would compute other numbers than this process."""
    for worker, theirs in client.run(build, on_error="return").items():
        if isinstance(theirs, Exception):
            raise _refused(address, f"worker {worker} cannot import bestk ({theirs})")
        if theirs != build():
            ours = f"this process {build()}; install the same bestk, llvmlite and Python on both"
            raise _refused(address, f"worker {worker} has bestk {theirs}, {ours}")
