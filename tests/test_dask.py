"""On a real Dask cluster of two worker processes: nothing lost, nothing twice, the same numbers."""

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

import bestk
from bestk.errors import ArmFailedError
from bestk.paper import further_claims, reproduce
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from helpers.command import bestk as command
from helpers.command import good, interrupt, start
from helpers.pulls import WORTH, DrawOrDie, draw, draw_later

EXAMPLE = Path(__file__).parents[1] / "examples" / "dask_cluster.py"


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),  # to a killed worker
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):  # fmt: skip
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        wait_for_both(cluster, client)
        yield client


def wait_for_both(cluster, client):
    """Until a killed worker is replaced; one that is slow to come back is taken off the cluster."""
    for _ in range(3):
        try:
            client.wait_for_workers(2, timeout=60)
            return
        except TimeoutError:
            cluster.scale(2)
    client.wait_for_workers(2, timeout=60)


def identify(client, pull=draw, **settings):
    chosen = {"k": 2, "delta": 0.05, "parallel": 4, "seed": 1, **settings}
    return bestk.identify(WORTH, pull, executor=client.get_executor(), **chosen)


def told(path):
    return [event for event in SQLiteStorage(path).read("identify") if event.kind == ev.TOLD]


def check_log(path, result):
    """Every answer that counts was told once, and every one was drawn for its own pull."""
    answers = told(path)
    assert len({event.key for event in answers}) == len(answers) == result.samples
    assert len({event.reward for event in answers}) == len(answers)
    means = {arm.label: arm.mean for arm in result.arms}
    assert means == pytest.approx(WORTH, abs=0.1)


# --- a study on the cluster -----------------------------------------------------------------------


@pytest.mark.parametrize("pull", [draw, draw_later])
def test_equal_calls_are_separate_pulls(client, pull, tmp_path):
    """Dask takes functions for pure: it would answer equal calls with one draw."""
    result = identify(client, pull, storage=tmp_path / "study.db")
    assert result.certified
    assert result.top == ("b", "c")
    check_log(tmp_path / "study.db", result)


def test_a_killed_worker_loses_nothing_and_repeats_nothing(client, tmp_path):
    acknowledged = []

    def progress(study):
        acknowledged.append(study.samples)
        if len(acknowledged) == 20:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    result = identify(client, storage=tmp_path / "study.db", progress=progress)
    assert result.certified
    assert result.top == ("b", "c")
    assert acknowledged == list(range(1, result.samples + 1))
    assert result.samples > 20
    check_log(tmp_path / "study.db", result)


def test_a_pull_that_kills_its_worker_is_made_again(client, tmp_path):
    result = identify(client, DrawOrDie(tmp_path, "c"), storage=tmp_path / "study.db")
    assert (tmp_path / "death-0").exists()
    assert result.certified
    assert result.top == ("b", "c")
    check_log(tmp_path / "study.db", result)


def test_where_the_engine_gives_up_the_study_tries_again(cluster, client, tmp_path):
    cluster.scheduler.allowed_failures, before = 0, cluster.scheduler.allowed_failures
    try:
        pull = DrawOrDie(tmp_path, "c")
        result = identify(client, pull, storage=tmp_path / "study.db", retries=2)
    finally:
        cluster.scheduler.allowed_failures = before
    assert result.certified
    assert sum(arm.failed for arm in result.arms) >= 1
    check_log(tmp_path / "study.db", result)


def test_an_arm_that_always_kills_ends_the_run_which_can_be_resumed(cluster, client, tmp_path):
    cluster.scheduler.allowed_failures, before = 0, cluster.scheduler.allowed_failures
    file = tmp_path / "study.db"
    try:
        with pytest.raises(ArmFailedError, match=r"arm 'c' failed 2 times in a row.*KilledWorker"):
            identify(client, DrawOrDie(tmp_path, "c", 9), storage=file, retries=1, parallel=1)
    finally:
        cluster.scheduler.allowed_failures = before
    kept = told(file)
    assert len(kept) == 2  # of a and b, which came first
    wait_for_both(cluster, client)
    result = identify(client, storage=file)
    assert result.certified
    assert told(file)[:2] == kept
    check_log(file, result)


# --- simulations on the cluster -------------------------------------------------------------------


def arrays(result):
    return result.samples, result.top_samples, result.finished, result.right


def instances():
    found = bestk.simulation.generate("bipartite:3x3", "matching", 0.8, True)
    return {
        "paper": (bestk.make_instance("1-sparse", arms=20, k=2), "lil-rand-lucb", {}),
        "python oracle": (bestk.structured(found.decision, found.means), "e-clucb", {}),
        "replay": (
            bestk.replay(np.array([[9, 1], [1, 9], [5, 5]]), k=1),
            "e-lucb",
            {"rewards": bestk.Bernoulli()},
        ),
        "unfinished": (bestk.make_instance(means=[0.5, 0.49], k=1), "e-lucb", {"max_samples": 50}),
    }


@pytest.mark.parametrize("name", instances())
def test_runs_on_the_cluster_equal_runs_at_home(client, name):
    instance, policy, settings = instances()[name]
    settings |= {"runs": 9, "seed": 5}
    here = bestk.simulate(instance, policy, **settings)
    there = bestk.simulate(instance, policy, executor=client.get_executor(), jobs=2, **settings)
    for one, two in zip(arrays(here), arrays(there), strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


def test_a_worker_killed_in_a_simulation_changes_nothing(client):
    settings = {"k": 2, "runs": 40, "seed": 5, "rewards": bestk.Gaussian(0.2)}
    done = []

    def progress(runs):
        if not done:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        done.append(runs)

    here = bestk.simulate([0.9, 0.8, 0.7, 0.6], **settings)
    there = bestk.simulate(
        [0.9, 0.8, 0.7, 0.6], executor=client.get_executor(), jobs=2, progress=progress, **settings
    )
    assert sum(done) == 40
    np.testing.assert_array_equal(here.samples, there.samples)


def test_claims_beyond_the_plots_run_on_the_cluster_too(client, monkeypatch):
    monkeypatch.setattr(further_claims, "HALF", further_claims.HALF[:1])
    here = further_claims.coincide(further_claims.Lab(2, 2))
    assert further_claims.coincide(further_claims.Lab(2, 2, client.get_executor())) == here


# --- the command line -----------------------------------------------------------------------------

SMALL = ("--instance", "1-sparse", "--arms", "20", "--k", "2", "--seed", "3")


def test_simulate_prints_the_same_numbers(client):
    here, there = (
        json.loads(good("simulate", *SMALL, "--runs", "8", "--json", *more))
        for more in ((), ("--dask", client.scheduler.address))
    )
    for result in (here, there):
        assert all(result.pop(key) > 0 for key in ("seconds", "steps_per_second"))
    assert here == there


def test_reproduce_writes_the_same_rows(client, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "QUICK_ARMS", (4, 8))
    for name, more in (("here", ()), ("there", ("--dask", client.scheduler.address))):
        out = str(tmp_path / name)
        good("reproduce", "--quick", "--panels", "fig2a", "--runs", "2", "--out", out, *more)
    for file in ("results.csv", "claims.json"):
        here, there = ((tmp_path / name / file).read_bytes() for name in ("here", "there"))
        assert here == there


def test_an_interrupt_leaves_the_cluster_behind(client):
    with start(
        "simulate", *SMALL, "--policy", "lil-rand-lucb", "--runs", "1000", "--max-samples", "200",
        "--dask", client.scheduler.address,
    ) as process:  # fmt: skip
        wait_for_work(client, process)
        assert interrupt(process) == "bestk: interrupted\n"
    assert client.submit(pow, 2, 10, pure=False).result() == 1024


def test_a_cluster_that_goes_away_ends_the_run():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as brief,
        start("simulate", *SMALL, "--runs", "1000000", "--dask", brief.scheduler_address) as run,
    ):
        address = brief.scheduler_address
        with Client(brief) as client:
            wait_for_work(client, run)
        brief.close()
        _, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert f"the Dask scheduler at {address} has gone" in err
    assert err.count("\n") == 1


def wait_for_work(client, process):
    while not any(client.processing().values()):
        assert process.poll() is None


def refused(address, *more):
    # a process of its own: several are asked at once, and a process has one standard error
    done = command(
        "simulate", *SMALL, "--runs", "2", "--dask", address, *more, env=dict(os.environ)
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_jobs_and_a_cluster_exclude_each_other(client):
    assert "--jobs was refused" in refused(client.scheduler.address, "--jobs", "2")


def test_a_worker_is_no_scheduler(client):
    address = next(iter(client.scheduler_info()["workers"]))
    assert "that is a Worker, not the scheduler" in refused(address)


def test_an_address_where_no_cluster_answers_is_refused():
    """All at once: for some of them it waits a few seconds."""
    nobody = "no Dask scheduler there"
    with (
        socket.socket() as silent,
        HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as stranger,
        LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as empty,
        ThreadPoolExecutor() as pool,
    ):
        silent.bind(("127.0.0.1", 0))  # and never listens
        pool.submit(stranger.serve_forever)
        expected = {
            "nonsense": nobody,
            "http://127.0.0.1:8787": nobody,
            f"tcp://127.0.0.1:{silent.getsockname()[1]}": nobody,
            f"tcp://127.0.0.1:{stranger.server_port}": nobody,
            empty.scheduler_address: "the scheduler has no workers",
        }
        try:
            for (address, why), message in zip(
                expected.items(), pool.map(refused, expected), strict=True
            ):
                assert f"--dask {address} was refused: {why}" in message
        finally:
            stranger.shutdown()


def test_a_worker_with_other_kernels_is_refused(tmp_path):
    copy = shutil.copytree(Path(bestk.__file__).parent, tmp_path / "bestk")
    with (copy / "kernels" / "trees.py").open("a") as source:
        source.write("# another version\n")
    dask_command = str(Path(sys.executable).with_name("dask"))
    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as there:
        worker = subprocess.Popen(
            [dask_command, "worker", there.scheduler_address, "--nthreads", "1", "--no-nanny"],
            env={**os.environ, "PYTHONPATH": str(tmp_path)}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with Client(there) as client:
                client.wait_for_workers(1, timeout=60)
            assert "install the same bestk, llvmlite and Python on both" in refused(
                there.scheduler_address
            )
        finally:
            worker.kill()
            worker.wait()


def test_without_dask_it_says_what_to_install():
    hide = (
        "import sys; sys.modules['distributed'] = None\n"
        "sys.argv = ['bestk', 'simulate', '--means', '0.9,0.1', '--k', '1', '--dask', 'x:1']\n"
        "from bestk.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "bestk: --dask needs Dask: pip install 'bestk[dask]'\n"


@pytest.mark.compiled  # bets on hundreds of seasons
def test_the_example_survives_a_killed_worker(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path / "plans.db")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "was killed" in done.stdout
    assert "certified: error <= 0.05" in done.stdout
