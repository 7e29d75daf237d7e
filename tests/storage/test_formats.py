"""What this version has written opens with every later one: format 2 of files, 1 of databases."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

import bestk
from bestk.storage import SQLiteStorage, open_storage
from bestk.verification import verify
from helpers.database import database, server  # noqa: F401 - fixtures

DATA = Path(__file__).parents[1] / "data" / "v02"


@pytest.fixture(params=["file", "database"])
def address(request, tmp_path):
    """The studies of tests/data/v02, in a file or in a database."""
    if request.param == "file":
        return shutil.copy(DATA / "studies.db", tmp_path)
    address = request.getfixturevalue("database")
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute((DATA / "postgres.sql").read_text(encoding="utf-8"))
    return address


def test_a_study_goes_on_where_it_stood(address):
    with (
        closing(open_storage(address)) as storage,
        closing(SQLiteStorage(DATA / "studies.db")) as old,
    ):
        assert storage.studies() == ["bestk:tokens", "stopped", "open"]
        for name in storage.studies():
            assert list(storage.read(name)) == list(old.read(name))
        study = bestk.Study("open", storage=storage)
        assert study.samples == 3
        for pull in study.open:
            study.tell(pull, 0.5)
        assert bestk.Study("open", storage=storage).samples == 5


def test_a_certificate_verifies(address):
    certificate = json.loads((DATA / "stopped.cert.json").read_text(encoding="utf-8"))
    assert verify(certificate, address).verified
