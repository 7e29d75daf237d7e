"""What goes wrong in the middle of a transaction, or twice: nothing lost, nothing stuck."""

import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bestk.errors import StorageError
from bestk.storage import Event, postgres_schema
from bestk.storage import events as ev
from bestk.storage.postgres import PostgresStorage
from bestk.testing.storage import log
from helpers.database import database, server  # noqa: F401 - fixtures
from helpers.proxy import wire

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def storage(database):  # noqa: F811
    with closing(PostgresStorage(database)) as storage:
        yield storage


@pytest.fixture
def cuttable(database):  # noqa: F811
    if "host=/" not in database:
        pytest.skip("the server of BESTK_TEST_POSTGRES has no socket file to put a wire before")
    short = Path(tempfile.mkdtemp(prefix="bestk"))  # names of sockets are short
    with wire(short, database) as (made, url), closing(PostgresStorage(url)) as storage:
        yield made, storage


def told(url, name="s"):
    with closing(PostgresStorage(url)) as storage:
        return list(storage.read(name))


# --- blocks of `alone` ----------------------------------------------------------------------------


@pytest.mark.parametrize("is_done", [False, True])
def test_a_block_that_is_cut_off_again_while_it_is_done_again_is_whole(cuttable, database, is_done):  # noqa: F811
    made, storage = cuttable
    storage.append("s", log(3))
    with storage.alone():
        storage.append("s", log(4)[3:])
        storage.append("s", log(5)[4:])
        made.end()
        made.cut(b"pull-3", is_done)  # when the first of the two is sent again
        storage.append("s", log(6)[5:])
    assert made.cuts == 1
    assert told(database) == log(6)


def test_a_block_begins_a_study_and_reads_it_before_it_is_cut_off(cuttable, database):  # noqa: F811
    made, storage = cuttable
    with storage.alone():
        storage.append("s", log(2))
        assert list(storage.read("s")) == log(2)
        made.end()
        storage.append("s", log(3)[2:])
    assert told(database) == log(3)


def test_a_block_a_part_of_which_failed_is_never_committed(storage, database):  # noqa: F811
    storage.append("s", log(3))

    def work():
        with storage.alone():
            storage.append("s", log(4)[3:])
            with suppress(StorageError):  # the server rolls back everything before it too
                storage.append("s", [Event(ev.TOLD, "zero\0")])

    with pytest.raises(StorageError, match="nothing of what was to be appended together was"):
        work()
    assert told(database) == log(3)
    storage.append("s", log(4)[3:])
    assert told(database) == log(4)


def test_a_block_that_cannot_be_done_again_takes_nothing_more(cuttable, database):  # noqa: F811
    made, storage = cuttable
    storage.append("s", log(3))

    def work():
        with storage.alone():
            assert len(list(storage.read("s"))) == 3
            made.end()  # and with it the lock
            with closing(PostgresStorage(database)) as other:
                other.append("s", log(1, "other"))
            with suppress(StorageError):
                list(storage.read("s"))
            storage.append("s", log(1, "mine"))  # knows nothing of the other's

    with pytest.raises(StorageError, match="others have appended"):
        work()
    assert told(database) == [*log(3), *log(1, "other")]


def test_a_block_whose_session_is_ended_as_it_takes_long_is_whole(storage, database):  # noqa: F811
    storage.append("s", log(3))
    storage._connection.execute("SET idle_in_transaction_session_timeout = '1ms'")
    session = storage._connection.info.backend_pid
    with psycopg.connect(database, autocommit=True) as watch, storage.alone():
        storage.append("s", log(4)[3:])
        while watch.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (session,)).rowcount:
            pass
        storage.append("s", log(5)[4:])
    assert told(database) == log(5)


# --- connections that are stuck -------------------------------------------------------------------


def test_a_command_that_never_ended_is_left_behind(storage, database):  # noqa: F811
    storage.append("s", log(1))
    asleep = b"SELECT pg_sleep(1000)"
    storage._connection.pgconn.send_query(asleep)
    storage.append("s", log(2)[1:])
    storage._connection.pgconn.send_query(asleep)
    assert list(storage.read("s")) == log(2)
    with storage.alone():
        storage.append("s", log(3)[2:])
        storage._connection.pgconn.send_query(asleep)  # in a session that has the lock
        storage.append("s", log(4)[3:])
    assert told(database) == log(4)


def test_a_transaction_that_an_interrupt_left_open_swallows_nothing(storage, database):  # noqa: F811
    storage.append("s", log(1))
    for size in (1, 2):
        storage._connection.execute("BEGIN")
        seen = storage.appended("s")
        storage.append("s", log(seen + size)[seen:])
        assert told(database) == log(seen + size)


def test_an_interrupted_append_keeps_nobody_waiting(storage, database):  # noqa: F811
    storage.append("s", log(1))

    def interrupted(connection):
        connection.execute(f"BEGIN; {postgres_schema.HEAD}" % (2, 2, 1), prepare=False)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage._insist(interrupted)
    with closing(PostgresStorage(database, patience=1)) as other:
        other.append("s", log(2)[1:])
    assert told(database) == log(2)


def test_after_an_interrupt_the_connection_is_another(storage, database):  # noqa: F811
    storage.append("s", log(1))
    session = storage._connection.info.backend_pid

    def interrupted(_):
        raise KeyboardInterrupt  # psycopg may be halfway through anything

    with pytest.raises(KeyboardInterrupt):
        storage._insist(interrupted)
    storage.append("s", log(2)[1:])
    assert storage._connection.info.backend_pid != session
    assert told(database) == log(2)


def test_tables_that_another_makes_at_this_moment_are_found(storage, database):  # noqa: F811
    assert storage.studies() == []  # there are none, as its session may remember
    errors = []

    def append():
        try:
            storage.append("s", log(1))
        except StorageError as error:
            errors.append(error)

    waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid = %s"
    session = storage._connection.info.backend_pid
    thread = threading.Thread(target=append)
    with psycopg.connect(database) as other, psycopg.connect(database, autocommit=True) as watch:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (postgres_schema.LOCK,))
        thread.start()
        while watch.execute(waiting, (session,)).fetchone() is None:
            assert thread.is_alive()
        postgres_schema.prepare(other, "other")
    thread.join()
    assert errors == []
    assert told(database) == log(1)


def test_settings_of_a_role_change_no_number(database):  # noqa: F811
    url = (
        f"{database}%20-cextra_float_digits%3D-10%20-cdefault_transaction_isolation%3Dserializable"
    )
    with closing(PostgresStorage(url)) as storage:
        storage.append("s", [Event(ev.TOLD, "a", 0, 1 / 3, at=1.7e9 + 1 / 3)])
        storage.append("s", [Event(ev.TOLD, "b", 0, 1 / 7, at=1.7e9 + 1 / 7)])
        assert storage.last_activity("s") == 1.7e9 + 1 / 7
        assert [event.reward for event in storage.read("s")] == [1 / 3, 1 / 7]
