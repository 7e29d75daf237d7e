"""Certificates of version 0.1 go on verifying, each against its log as that version wrote it."""

import copy
import json
import sqlite3
from pathlib import Path

import pytest

from bestk.verification import verify
from helpers.certified import failed

STORED = json.loads((Path(__file__).parents[1] / "data" / "certificates-0.1.json").read_text())
TABLES = """
    PRAGMA application_id = 0x62657374;
    PRAGMA user_version = 1;
    CREATE TABLE studies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    INSERT INTO studies VALUES (1, 's');
    CREATE TABLE log_1 (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, key TEXT NOT NULL,
        arm INTEGER NOT NULL, reward REAL NOT NULL, data TEXT NOT NULL, at REAL NOT NULL);
"""
INSERT = "INSERT INTO log_1 (kind, key, arm, reward, data, at) VALUES (?, ?, ?, ?, ?, ?)"


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored["kind"])
def test_a_certificate_of_version_0_1_verifies(stored, tmp_path):
    path, certificate = tmp_path / "study.db", stored["certificate"]
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    with connection:
        connection.executemany(INSERT, stored["events"])
    connection.close()
    assert (certificate["format"], certificate["bestk"]) == (1, "0.1.0")
    report = verify(certificate, path)
    assert report.verified, report.failed
    other = copy.deepcopy(certificate)
    other["arms"][0]["sum"] += 1e-3
    assert failed(other, path) == {"statistics"}
