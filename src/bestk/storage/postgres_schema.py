"""The tables in a Postgres database, their version, and how older ones are brought up to date.

`bestk_studies` holds for each study how many events its log has and the checksum of the last. An
append changes that row and adds to `bestk_log` in one transaction: the row's lock puts writers in
order, and as nobody can append behind an event before it is committed, a reader never sees a gap.
The row also says the format, so that a process of an older bestk, which is still connected when the
tables are brought up to date, can append nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from bestk.errors import StorageError

if TYPE_CHECKING:
    import psycopg

VERSION = 1  # newer tables are refused
LOCK = 0x62657374  # "best": held while tables are made or brought up to date
TABLES: tuple[LiteralString, ...] = (
    "CREATE TABLE bestk_format (version integer NOT NULL)",
    "CREATE TABLE bestk_studies (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    ' name text COLLATE "C" NOT NULL UNIQUE, format integer NOT NULL,'
    " length bigint NOT NULL, checksum bigint NOT NULL) WITH (fillfactor = 50)",
    "CREATE TABLE bestk_log (study integer NOT NULL, seq bigint NOT NULL, kind bigint NOT NULL,"
    " key text NOT NULL, arm bigint NOT NULL, reward double precision NOT NULL, data text NOT NULL,"
    " at double precision NOT NULL, checksum bigint NOT NULL, batch bigint NOT NULL,"
    " PRIMARY KEY (study, seq))",
)
# from a version to the next: statements, run in one transaction
MIGRATIONS: dict[int, tuple[LiteralString, ...]] = {}

# to_regclass may remember that it was not there, also when another session has just made it
THERE: LiteralString = (
    "SELECT 1 FROM pg_class WHERE relname = 'bestk_format' AND pg_table_is_visible(oid)"
)
COLUMNS: LiteralString = "kind, key, arm, reward, data, at"
FIND: LiteralString = "SELECT id, length, checksum, format FROM bestk_studies WHERE name = %s"
LOCKED: LiteralString = FIND + " FOR UPDATE"
BEGIN: LiteralString = (
    "INSERT INTO bestk_studies (name, format, length, checksum) VALUES (%s, %s, 0, %s)"
    " ON CONFLICT (name) DO NOTHING"
)
ALONE: LiteralString = "BEGIN; LOCK TABLE bestk_studies IN EXCLUSIVE MODE"  # readers go on
HEAD: LiteralString = "UPDATE bestk_studies SET length = %s, checksum = %s WHERE id = %s"
COPY: LiteralString = (
    f"COPY bestk_log (study, batch, seq, {COLUMNS}, checksum) FROM STDIN (FORMAT BINARY)"
)
TYPES = ("int4", "int8", "int8", "int8", "text", "int8", "float8", "text", "float8", "int8")
# one event behind a known one: nothing happens if that is not the last
NEXT: LiteralString = (
    "WITH head AS (UPDATE bestk_studies SET length = length + 1, checksum = %s::bigint"
    " WHERE id = %s::int AND length = %s::bigint AND checksum = %s::bigint AND format = %s::int"
    " RETURNING id, length, checksum)"
    f" INSERT INTO bestk_log (study, seq, checksum, batch, {COLUMNS})"
    " SELECT id, length, checksum, %s::bigint, %s::bigint, %s::text, %s::bigint, %s::float8,"
    " %s::text, %s::float8 FROM head"
)
SELECT: LiteralString = (
    f"SELECT {COLUMNS}, checksum, seq FROM bestk_log WHERE study = %s AND seq > %s"
    " ORDER BY seq LIMIT %s"
)
CHECKSUM: LiteralString = "SELECT checksum FROM bestk_log WHERE study = %s AND seq = %s"
BATCH: LiteralString = "SELECT batch FROM bestk_log WHERE study = %s AND seq = %s"
LAST: LiteralString = (
    "SELECT at FROM bestk_log JOIN bestk_studies ON study = id AND seq = length WHERE name = %s"
)


def version(connection: psycopg.Connection) -> int | None:
    """Of the tables; None if there are none yet."""
    if connection.execute(THERE).fetchone() is None:
        return None
    row = connection.execute("SELECT version FROM bestk_format").fetchone()
    if row is None:
        raise StorageError("the table bestk_format of the database is empty: it has no version")
    return int(row[0])


def check(found: int | None, shown: str) -> None:
    """Refuse tables of a newer bestk."""
    if found is not None and found > VERSION:
        raise StorageError(
            f"{shown} was refused: it was written by a newer bestk (format {found}, this one reads"
            f" {VERSION})"
        )


def prepare(connection: psycopg.Connection, shown: str) -> None:
    """Make the tables, or bring them up to date; in one transaction, once, whoever else tries."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        found = version(connection)
        check(found, shown)
        if found is None:
            for statement in TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO bestk_format VALUES (%s)", (VERSION,))
            return
        if found == VERSION:
            return
        connection.execute("LOCK TABLE bestk_studies IN ACCESS EXCLUSIVE MODE")
        for step in range(found, VERSION):
            for statement in MIGRATIONS[step]:
                connection.execute(statement)
        connection.execute("UPDATE bestk_studies SET format = %s", (VERSION,))
        connection.execute("UPDATE bestk_format SET version = %s", (VERSION,))
