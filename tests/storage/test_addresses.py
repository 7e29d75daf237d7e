"""Addresses: what opens what, which names are reserved, and passwords that nobody sees."""

import pickle

import pytest

import bestk
from bestk.errors import InputError, StorageError
from bestk.storage import Event, SQLiteStorage, is_reserved, names_of_studies, open_storage
from bestk.storage.addresses import PostgresAddress, file_at, read_address
from helpers.command import bestk as command
from helpers.command import good

SECRET = "hunter2"


def tokens(path):
    """A file with a study, and a log that is none."""
    storage = SQLiteStorage(path)
    storage.append("bestk:tokens", [Event(100, "id", data='{"role": "view"}', at=1.0)])
    study = bestk.Study("s", ["a", "b"], k=1, storage=storage, seed=1)
    for pull in study.ask(2):
        study.tell(pull, 0.5)
    storage.append("bestk:tokens", [Event(101, "id", at=2.0)])
    storage.close()
    return path


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("postgresql://u:hunter2@h:5432/db", "postgresql://u@h:5432/db"),
        ("postgres://u:hunter2@h/db?sslmode=require", "postgres://u@h/db?sslmode=require"),
        ("postgresql://u:hunter2@/db?host=/tmp/x", "postgresql://u@/db?host=/tmp/x"),
        ("postgresql://:hunter2@h/db", "postgresql://h/db"),
        ("postgresql://h/db?password=hunter2", "postgresql://h/db"),
        ("postgresql://h/?user=u&password=hunter2&port=1", "postgresql://h/?user=u&port=1"),
        ("postgresql://h/db?sslpassword=hunter2&sslkey=k", "postgresql://h/db?sslkey=k"),
        ("postgresql://h/db?pass%77ord=hunter2", "postgresql://h/db"),
        ("postgresql://h/db?oauth_client_secret=hunter2", "postgresql://h/db"),
        ("postgresql://h/db?scram_client_key=hunter2", "postgresql://h/db"),
        ("postgresql://h/db?scram_server_key=hunter2", "postgresql://h/db"),
        ("postgresql://u:hunter2?:@h1:1,h2:2/db", "postgresql://u@h1:1,h2:2/db"),
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://", "postgresql://"),
    ],
)
def test_the_text_of_an_address_has_no_password(given, seen):
    address = read_address(given)
    assert isinstance(address, PostgresAddress)
    assert (str(address), f"{address}", address.url) == (seen, seen, given)
    assert SECRET not in repr(address)
    assert read_address(address) is address
    again = pickle.loads(pickle.dumps(address))
    assert (again, again.url) == (seen, given)


@pytest.mark.parametrize(
    "unclear",
    ["postgresql://u:a@hunter2@h/db", "postgresql://u:a/hunter2@h/db", "postgresql://u:#hunter2@h"],
)
def test_an_address_whose_password_may_end_anywhere_is_refused_unseen(unclear):
    with pytest.raises(StorageError, match="%40") as refused:
        open_storage(unclear)
    assert SECRET not in str(refused.value)
    done = command("status", unclear)
    assert done.returncode == 2
    assert SECRET not in done.stderr


@pytest.mark.parametrize(
    "slip",
    ["postgresql:/u:hunter2@h/db", "postgres:u:hunter2@h/db", "host=h dbname=db password=hunter2"],
)
def test_an_address_written_amiss_is_no_file_and_is_refused_unseen(slip):
    for work in (lambda: bestk.Study("s", "ab", k=1, storage=slip), lambda: file_at(slip)):
        with pytest.raises(StorageError, match="postgresql://name@host/database") as refused:
            work()
        assert SECRET not in str(refused.value)
    done = command("status", slip)
    assert (done.returncode, SECRET in done.stderr) == (2, False)


def test_other_addresses_are_refused_unseen():
    with pytest.raises(StorageError, match="mysql:// address was refused") as refused:
        bestk.Study("s", "ab", k=1, storage="mysql://u:hunter2@h/db")
    assert SECRET not in str(refused.value)


def test_anything_else_names_a_file(tmp_path):
    path = tmp_path / "s.db"
    for address in (path, str(path)):
        storage = open_storage(address)
        assert isinstance(storage, SQLiteStorage)
        assert file_at(address) == path
    assert file_at("postgresql://h/db") is None


def test_reserved_logs_are_no_studies(tmp_path):
    file = tokens(tmp_path / "s.db")
    assert is_reserved("bestk:tokens")
    assert not is_reserved("bestk")
    assert names_of_studies(SQLiteStorage(file)) == ["s"]
    assert "tokens" not in good("list", file)
    assert '"samples": 2' in good("status", file, "--json")  # the only study needs no name


def test_no_study_may_have_a_reserved_name(tmp_path):
    file = tokens(tmp_path / "s.db")
    for name in ("bestk:tokens", "bestk:mine"):
        with pytest.raises(InputError, match="reserved"):
            bestk.Study(name, "ab", k=1, storage=file)
    done = command("status", file, "--study", "bestk:tokens")
    assert (done.returncode, "unknown study" in done.stderr) == (2, True)


def test_the_doctor_takes_reserved_logs_for_sound_and_recovers_them(tmp_path):
    file = tokens(tmp_path / "s.db")
    said = good("doctor", file, "--recover", tmp_path / "new.db")
    assert "healthy" in said
    assert "tokens" not in said
    for name in ("bestk:tokens", "s"):
        before, after = (
            list(SQLiteStorage(path).read(name)) for path in (file, tmp_path / "new.db")
        )
        assert before == after
