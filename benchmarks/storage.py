"""How many durable tells a second, and how long does it take to open a large study?

Wanted through `Study`: 10,000 tells a second one by one, 200,000 in batches, 500 that survive a
power cut; a study of one million observations open in 5 s. The reference is a plain loop over
sqlite3 in the same mode, measured in turns. Give a folder to measure the disk it is on.
"""

import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median

from bestk.rewards import Bounded
from bestk.storage import Event, SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study

SINGLES, BATCHED, BATCH, SYNCED, READ = 10_000, 200_000, 1000, 500, 1_000_000
ARMS, OBSERVATIONS, ROUNDS = 100, 1_000_000, 3
TABLE = "CREATE TABLE log (seq INTEGER PRIMARY KEY, kind, key, arm, reward, data, at)"
INSERT = "INSERT INTO log (kind, key, arm, reward, data, at) VALUES (?, ?, ?, ?, ?, ?)"
SELECT = "SELECT kind, key, arm, reward, data, at FROM log ORDER BY seq"
numbers = count()


def told(n):
    return [Event(ev.TOLD, f"0a1b2c3d-{i}", -1, 0.5, "", 1.7e9 + i) for i in range(n)]


def asked(n):
    return [Event(ev.ASKED, f"0a1b2c3d-{i}", i % ARMS, 0.0, "+", 1.7e9 + i) for i in range(n)]


def new(folder):
    return Path(folder, f"{next(numbers)}.db")


def rate(n, work):
    start = time.perf_counter()
    work()
    return n / (time.perf_counter() - start)


def plain(folder, level):
    connection = sqlite3.connect(new(folder), isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {level}")
    connection.execute(TABLE)
    return closing(connection)


def plain_singles(folder, n, level):
    rows = [tuple(event) for event in told(n)]
    with plain(folder, level) as connection:

        def work():
            for row in rows:
                connection.execute(INSERT, row)

        return rate(n, work)


def plain_batches(connection, n):
    rows = [tuple(event) for event in told(n)]

    def work():
        for i in range(0, n, BATCH):
            connection.execute("BEGIN")
            connection.executemany(INSERT, rows[i : i + BATCH])
            connection.execute("COMMIT")

    return rate(n, work)


def plain_reading(folder):
    with plain(folder, "NORMAL") as connection:
        plain_batches(connection, READ)
        return rate(READ, lambda: sum(1 for _ in connection.execute(SELECT)))


def storage_singles(folder, n, durability):
    storage, events = SQLiteStorage(new(folder), durability), told(n)
    storage.append("s", [Event(ev.CREATED)])

    def work():
        for event in events:
            storage.append("s", [event])

    with closing(storage):
        return rate(n, work)


def storage_batches(storage, n):
    events = told(n)

    def work():
        for i in range(0, n, BATCH):
            storage.append("s", events[i : i + BATCH])

    return rate(n, work)


def storage_reading(folder):
    with closing(SQLiteStorage(new(folder))) as storage:
        storage_batches(storage, READ)
        return rate(READ, lambda: sum(1 for _ in storage.read("s")))


def study(folder, pulls, durability="process", policy="lil-rand-lucb"):
    """A study with so many open pulls."""
    storage = SQLiteStorage(new(folder), durability)
    Study("s", range(ARMS), k=5, rewards=Bounded(), policy=policy, storage=storage, seed=1)
    storage.append("s", asked(pulls))
    return Study("s", storage=storage), storage


def study_singles(folder, n, durability):
    opened, storage = study(folder, n, durability)
    keys = [event.key for event in told(n)]

    def work():
        for key in keys:
            opened.tell(key, 0.5)

    with closing(storage):
        return rate(n, work)


def study_batches(folder, n):
    opened, storage = study(folder, n)
    answers = [(event.key, 0.5) for event in told(n)]

    def work():
        for i in range(0, n, BATCH):
            opened.tell_many(answers[i : i + BATCH])

    with closing(storage):
        return rate(n, work)


def opening(folder, policy):
    """Seconds to open a study of a million observations, asked and told in turn."""
    _, storage = study(folder, 0, policy=policy)
    rewards = random.Random(1)
    for start in range(0, OBSERVATIONS, 10_000):
        batch = []
        for i in range(start, start + 10_000):
            arm = rewards.randrange(ARMS)
            reward = rewards.betavariate(2 + arm / 25, 4)
            batch.append(Event(ev.ASKED, f"0a1b2c3d-{i}", arm, 0.0, "+", 1.7e9 + i))
            batch.append(Event(ev.TOLD, f"0a1b2c3d-{i}", -1, reward, "", 1.7e9 + i))
        storage.append("s", batch)
    storage.close()
    start = time.perf_counter()
    opened = Study("s", storage=SQLiteStorage(storage.path))
    seconds = time.perf_counter() - start
    assert opened.samples == OBSERVATIONS
    return seconds


def batches(folder):
    with plain(folder, "NORMAL") as connection, closing(SQLiteStorage(new(folder))) as storage:
        return plain_batches(connection, BATCHED), storage_batches(storage, BATCHED)


def compare(label, wanted, rounds):
    """Medians over the rounds; each is the plain loop, the storage and perhaps the study."""
    base, *ours = (median(column) for column in zip(*rounds, strict=True))
    print(f"{label} (wanted: {wanted})" if wanted else label)
    print(f"  plain sqlite3  {base:12,.0f} a second")
    for name, value in zip(("storage", "Study"), ours, strict=False):
        print(f"  {name:14s} {value:12,.0f} a second, {value / base:.2f} of plain")


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        study_singles(folder, 10, "process")  # compiles, if need be
        for label, n, level, durability, wanted in (
            ("tells one by one", SINGLES, "NORMAL", "process", "10,000"),
            ("tells one by one, each on the disk", SYNCED, "FULL", "full", "500"),
        ):
            compare(label, wanted, [
                (
                    plain_singles(folder, n, level),
                    storage_singles(folder, n, durability),
                    study_singles(folder, n, durability),
                )
                for _ in range(ROUNDS)
            ])  # fmt: skip
        compare(f"tells in batches of {BATCH}", "200,000", [
            (*batches(folder), study_batches(folder, BATCHED)) for _ in range(ROUNDS)
        ])  # fmt: skip
        compare("events read", None, [
            (plain_reading(folder), storage_reading(folder)) for _ in range(ROUNDS)
        ])  # fmt: skip
        for policy in ("lil-rand-lucb", "e-lucb"):
            seconds = opening(folder, policy)
            print(f"a study of {OBSERVATIONS:,} observations, {policy}: open in {seconds:.2f} s"
                  " (wanted: 5)")  # fmt: skip


if __name__ == "__main__":
    main()
