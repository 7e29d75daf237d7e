"""The best 2 of 6 stocking plans, simulated on a Dask cluster, one worker of which is killed.

A plan (s, S) orders up to S items whenever fewer than s are left. A pull simulates a season of
random demand on one of two worker processes. In the middle of the run a worker is killed: Dask
starts it again, and the study neither loses an observation nor counts one twice. To use a cluster
of your own, connect to it with `Client("tcp://scheduler:8786")`.
"""

import logging
import os
import random
import signal
import sys
import tempfile
from pathlib import Path

import dask
from distributed import Client, LocalCluster

import bestk

DAYS, PRICE, COST, ORDER, SHELF = 90, 4.0, 1.0, 20.0, 0.05
PLANS = [(least, full) for least in (5, 30) for full in (40, 70, 130)]
MOST = DAYS * 20 * (PRICE - COST)  # all demand met, at no other cost


def season(plan):
    """The profit of one season, as a share of the most there could be."""
    least, full = plan
    stock, profit = full, -COST * full
    for _ in range(DAYS):
        sold = min(stock, random.randint(0, 20))
        stock -= sold
        profit += PRICE * sold - SHELF * stock
        if stock < least:  # delivered over night
            profit -= ORDER + COST * (full - stock)
            stock = full
    return min(max(profit / MOST, 0.0), 1.0)


def main(file):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),  # until a worker counts dead
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):

        def kill_one(study):
            if study.samples == 100:
                worker = next(iter(client.run(os.getpid).values()))
                os.kill(worker, signal.SIGKILL)
                print(f"after {study.samples} seasons the worker process {worker} was killed")

        result = bestk.identify(
            PLANS,
            season,
            k=2,
            delta=0.05,
            epsilon=0.05,
            rewards=bestk.Bounded(0, 1),
            executor=client.get_executor(),
            parallel=8,
            storage=file,
            seed=1,
            progress=kill_one,
        )
    print(result)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(folder) / "plans.db"))
