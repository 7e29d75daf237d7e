"""Postgres keeps the contract of storages."""

import pytest

from bestk.storage.postgres import PostgresStorage
from bestk.testing import StorageContract
from helpers.database import new_database, server  # noqa: F401 - a fixture


class TestPostgresStorage(StorageContract):
    @pytest.fixture(autouse=True)
    def _server(self, server):  # noqa: F811
        self._url, self._opened = server, []
        yield
        for storage in self._opened:
            storage.close()

    def make_storage(self, folder):  # noqa: ARG002 - nothing is written there
        return self._open(new_database(self._url))

    def reopen(self, storage):
        return self._open(storage.path.url)

    def _open(self, url):
        self._opened.append(PostgresStorage(url))
        return self._opened[-1]
