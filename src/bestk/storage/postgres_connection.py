"""Connections to a Postgres server: opening one, losing it, and what went wrong in words."""

from __future__ import annotations

import math
import os
import random
import time
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bestk.addresses import PostgresAddress
from bestk.errors import MissingPackageError, StorageError

if TYPE_CHECKING:
    import psycopg

PATIENCE = 30.0  # seconds to wait for a lock, or for a server that is away
FIRST, LONGEST = 0.02, 1.0  # seconds between attempts to connect, doubled each time
DEFAULTS: dict[str, Any] = {  # parameters of libpq, unless the address has its own; arbitrary
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
SETTINGS = (  # of a session
    "SET default_transaction_isolation = 'read committed'",
    "SET client_encoding = 'UTF8'",
    "SET idle_in_transaction_session_timeout = '60s'",  # who is cut off keeps no lock
)
REFUSED = (  # by what is in libpq's message, which has no SQLSTATE: how to mend it
    ("database ", "does not exist", "there is no such database; `createdb` makes one"),
    ("role ", "does not exist", "there is no such role; `createuser` makes one"),
    ("password authentication", "failed", "name or password are wrong"),
    ("password", "supplied", "a password is wanted; PGPASSWORD or ~/.pgpass may hold it"),
    ("pg_hba.conf", "", "the server lets nobody in like that; its pg_hba.conf says whom"),
)
ENDED = ("FATAL", "PANIC")  # severities of errors after which there is no session
REASONS = {  # by SQLSTATE
    "55P03": "another process has kept it locked for {:g} seconds; try again",
    "25006": "the database is read-only; name the primary server, or a role that may write",
    "42501": "the role may not do that; it needs CREATE in the schema once, then SELECT, INSERT and"
    " UPDATE; to look on, SELECT is enough",
    "57014": "it took longer than the statement_timeout of the server or role; let that be longer",
    "53100": "the server's disk is full; free some space and run the same command again",
    "22021": "a database cannot hold it (a zero character)",
}


def driver() -> Any:
    """psycopg, which need not be installed."""
    try:
        import psycopg
    except ImportError as error:
        raise MissingPackageError("a postgresql:// address", "psycopg", "postgres") from error
    return psycopg


class Server:
    """How to reach one; every connection carries a name of its own, by which to end lost ones."""

    def __init__(
        self, address: PostgresAddress, read_only: bool, patience: float, rest: float = 0.0
    ) -> None:
        self.address, self.read_only = address, read_only
        self.patience, self.rest = patience, rest
        self.name = f"bestk {token_hex(8)}"
        self._was_there = False
        self._next, self._why = 0.0, ""  # when to try again, and why not before
        psycopg = driver()
        try:
            given = psycopg.conninfo.conninfo_to_dict(address.url)
        except psycopg.Error:
            raise StorageError(
                f"{address} was refused: libpq cannot read this address"
            ) from None  # its message may show the password
        waits = {"connect_timeout": math.ceil(min(10.0, max(2.0, patience)))}  # 2: libpq's least
        waits["tcp_user_timeout"] = int(1000 * min(30.0, max(5.0, patience)))
        self._parameters = DEFAULTS | waits | given | {"application_name": self.name}

    def again(self) -> Server:
        """The same for another process."""
        return Server(self.address, self.read_only, self.patience, self.rest)

    def connect(self) -> psycopg.Connection:
        """A new connection; a server that was there before is waited for."""
        psycopg, pause = driver(), FIRST
        started = time.monotonic()
        if started < self._next:
            raise StorageError(self._why)
        deadline = started + (0.0 if self.rest else self.patience)
        while True:
            try:
                connection = self._connect()
            except psycopg.OperationalError as error:
                text = " ".join(str(error).split())
                is_starting = error.sqlstate == "57P03" or "starting up" in text
                signs = (why for one, two, why in REFUSED if one in text and two in text)
                why = next(signs, "")
                is_hopeless = why or not (self._was_there or is_starting)
                if is_hopeless or time.monotonic() > deadline:
                    if self.rest:  # most of the time is for others
                        took = time.monotonic() - started
                        self._next = started + took + max(self.rest, 4 * took)
                    self._why = (
                        f"{self.address} was refused: {why or 'the server cannot be reached'}"
                        f" ({text}); nothing told before is lost"
                    )
                    raise StorageError(self._why) from None
                time.sleep(pause * random.uniform(0.5, 1.0))  # not all at once
                pause = min(2 * pause, LONGEST)
                continue
            self._was_there = True
            return connection

    def _connect(self) -> psycopg.Connection:
        connection: psycopg.Connection = driver().connect(
            autocommit=True, prepare_threshold=1, **self._parameters
        )
        try:
            for setting in SETTINGS:
                connection.execute(setting)
            connection.execute(
                "SELECT set_config('lock_timeout', %s, false)", (f"{int(1000 * self.patience)}ms",)
            )
            if self.read_only:
                connection.execute("SET default_transaction_read_only = on")
            else:  # what is acknowledged is on the server's disk
                connection.execute(
                    "SELECT set_config('synchronous_commit', 'on', false)"
                    " WHERE current_setting('synchronous_commit') = 'off'"
                )
                if self._was_there:  # a session that was cut off may have a lock still
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name = %s AND pid <> pg_backend_pid()",
                        (self.name,),
                    )
        except BaseException:
            connection.close()
            raise
        return connection

    def explain(self, error: psycopg.Error) -> StorageError:
        """What a person can act on, in place of the driver's error."""
        why = REASONS.get(error.sqlstate or "", "the server does not take it")
        why = why.format(self.patience)
        text = str(error).strip().split("\n")[0]
        return StorageError(
            f"{self.address} was refused: {why} ({text}); nothing told before is lost"
        )


def is_lost(error: BaseException, connection: psycopg.Connection | None) -> bool:
    """Whether it is the connection that went, not the statement that was wrong."""
    psycopg = driver()
    if isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized in ENDED:
        return True  # timeouts of a session say so, and libpq has not noticed yet
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    if connection is None or connection.closed or not error.sqlstate:
        return True  # without an SQLSTATE it is not the server that said so
    return bool(error.sqlstate.startswith(("57P", "08")))


def is_idle(connection: psycopg.Connection) -> bool:
    """Whether it is out of any transaction and command; one that was closed is for others to find.

    What an interrupt or an error has left in the middle of one would never be committed.
    """
    states = driver().pq.TransactionStatus
    return bool(connection.pgconn.transaction_status in (states.IDLE, states.UNKNOWN))


def leave(connection: psycopg.Connection) -> None:
    """Let go of a connection in a forked child; the parent goes on using it.

    To close it says good-bye to the server, so what is closed must not be the parent's socket.
    """
    if not connection.closed:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, connection.fileno())
        os.close(nowhere)
        connection.close()
