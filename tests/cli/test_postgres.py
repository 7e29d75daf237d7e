"""Every command that takes a file takes the address of a database; nobody sees its password."""

import json
import os
import subprocess
from contextlib import closing

import pytest

import bestk
from bestk.errors import StorageError
from bestk.storage import Event
from bestk.storage.postgres import PostgresStorage
from bestk.study.certificate import make_certificate
from bestk.verification import verify
from helpers.command import BESTK, good, process
from helpers.command import bestk as command
from helpers.database import database, server  # noqa: F401 - fixtures

psycopg = pytest.importorskip("psycopg")
SECRET = "hunter2"


@pytest.fixture
def address(database):  # noqa: F811
    """Of a database with a study that has stopped, and a log that is none."""
    address = database
    if "postgres:@" in database:  # a server that asks for no password takes any
        address = database.replace("postgres:@", f"postgres:{SECRET}@")
    with closing(PostgresStorage(address)) as storage:
        storage.append("bestk:tokens", [Event(100, "id", data="{}", at=1.0)])
        worth = {"a": 0.0, "b": 1.0, "c": 0.0}
        bestk.identify(
            list(worth), worth.__getitem__, k=1, rewards=bestk.Bernoulli(), storage=storage, seed=1,
            name="s", progress=False,
        )  # fmt: skip
    return address


def test_a_study_in_a_database_is_looked_at_like_one_in_a_file(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = [good("list", address), good("status", address), good("doctor", address)]
    assert "healthy" in said[-1]
    assert not any("tokens" in text for text in said)
    assert json.loads(good("status", address, "--json"))["top"] == ["b"]
    said += [good("report", address), good("export", address, "--format", "csv")]
    assert said[-2].strip() == "s.html"
    said += [(tmp_path / "s.html").read_text()]
    said += [good("certify", address, "-o", "cert.json"), (tmp_path / "cert.json").read_text()]
    said += [good("verify", "cert.json", address)]
    assert "Yes: the certificate follows from the log" in said[-1]
    assert not any(SECRET in text for text in said)


def test_a_backup_of_a_database_is_a_file_and_is_restored_into_another(
    address, tmp_path, database  # noqa: F811
):  # fmt: skip
    file, certificate = tmp_path / "s.db", make_certificate(address)
    good("backup", address, file)
    assert verify(certificate, file).verified
    done = command("backup", file, address)
    assert (done.returncode, "already" in done.stderr) == (2, True)
    with psycopg.connect(database, autocommit=True) as connection:  # lost
        connection.execute("DROP TABLE bestk_log, bestk_studies, bestk_format")
    assert "there is no study in it yet" in command("status", address).stderr
    assert "all of them whole" in " ".join(good("backup", file, address).split())  # may be wrapped
    assert verify(certificate, address).verified
    with closing(PostgresStorage(address)) as storage:
        assert storage.studies() == ["bestk:tokens", "s"]
    assert command("backup", address, file).returncode == 2  # it is there


def test_a_backup_that_is_killed_leaves_no_file_of_that_name(address, tmp_path, database):  # noqa: F811
    file = tmp_path / "s.db"
    waiting = "SELECT FROM pg_locks WHERE relation = 'bestk_log'::regclass AND NOT granted"
    with psycopg.connect(database) as other, psycopg.connect(database, autocommit=True) as watch:
        other.execute("LOCK TABLE bestk_log IN ACCESS EXCLUSIVE MODE")
        with subprocess.Popen([BESTK, "backup", address, file]) as copying:
            while watch.execute(waiting).fetchone() is None:  # in the middle of it
                assert copying.poll() is None
            copying.kill()
    assert not file.exists()
    good("backup", address, file)
    assert "healthy" in good("doctor", file)


def test_of_a_database_without_studies_no_backup_is_made(database, tmp_path):  # noqa: F811
    done = command("backup", database, tmp_path / "s.db")
    assert (done.returncode, "there is no study in it" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_recovers_what_comes_before_the_damage(address, tmp_path, database):  # noqa: F811
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE bestk_log SET reward = 0.5 WHERE seq = 7 AND study = 2")
    done = command("doctor", address, "--recover", tmp_path / "new.db", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["state"], found["studies"][0]["whole"]) == ("damaged", 6)
    assert "healthy" in good("doctor", tmp_path / "new.db")
    assert command("status", address).returncode == 2
    assert SECRET not in command("status", address).stderr + done.stdout


def test_a_forged_log_is_not_verified(address, database):  # noqa: F811
    certificate = make_certificate(address)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE bestk_log SET reward = 1 - reward WHERE kind = 2 AND seq = 7")
    assert not verify(certificate, address).verified
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER TABLE bestk_log RENAME TO other")
        connection.execute("CREATE VIEW bestk_log AS SELECT * FROM other")
    with pytest.raises(bestk.InputError, match="no plain table"):
        verify(certificate, address)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_names_are_read_whatever_the_encoding_of_clients_is(database, monkeypatch, encoding):  # noqa: F811
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    worth = {"a": 0.0, "b": 1.0}
    bestk.identify(
        list(worth), worth.__getitem__, k=1, rewards=bestk.Bernoulli(), storage=database, seed=1,
        name="漢", progress=False,
    )  # fmt: skip
    certificate = make_certificate(database)
    assert certificate["study"] == "漢"
    assert verify(certificate, database).verified


def test_a_study_file_and_a_race_keep_theirs_in_a_database(database, tmp_path):  # noqa: F811
    (tmp_path / "study.toml").write_text(
        f'storage = "{database}"\n[study]\nname = "toml"\nk = 1\nepsilon = 0.4\nseed = 1\n'
        '[pull]\ncommand = "echo {value}"\n'
        '[[arms]]\nname = "low"\nvalue = 0\n[[arms]]\nname = "high"\nvalue = 1\n'
    )
    assert process("run", str(tmp_path / "study.toml"), "--json").returncode == 0
    done = process("race", "true", "sleep 0.05", "--storage", database, "--budget", "4")
    assert done.returncode in (0, 3), done.stderr
    assert sorted(each["study"] for each in json.loads(good("list", database, "--json"))) == [
        "race",
        "toml",
    ]


def test_without_psycopg_the_extra_is_named(tmp_path):
    (tmp_path / "psycopg.py").write_text("raise ImportError")
    done = process("status", "postgresql://h/db", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, "bestk[postgres]" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("/postgres?", "/nowhere?", "no such database"), ("postgres:", "nobody:", "no such role")],
)
def test_what_a_server_does_not_know_is_said(database, old, new, said):  # noqa: F811
    if old not in database:
        pytest.skip("the server of BESTK_TEST_POSTGRES is another")
    done = command("status", database.replace(old, new, 1))
    assert (done.returncode, said in done.stderr) == (2, True)


def test_an_error_of_a_server_shows_no_password():
    with pytest.raises(StorageError) as refused:
        bestk.Study("s", "ab", k=1, storage=f"postgresql://u:{SECRET}@127.0.0.1:1/db?x=1")
    assert SECRET not in str(refused.value)
