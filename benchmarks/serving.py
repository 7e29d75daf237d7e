"""Many clients at one server: how fast is it beside an empty endpoint, and is anything lost?

Wanted on two cores, clients on the same machine, a study in an SQLite file: 500 clients that ask
and tell for 60 s, none refused, at least half as many requests answered a second as by an empty
FastAPI endpoint under the same clients in the same run; 20 SIGKILLs of the server meanwhile
(`--kills 20`), after which every acknowledged answer is there exactly once; 100 viewers of a live
page for less than 20% of a core.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from bestk.storage import SQLiteStorage
from bestk.storage import events as ev

HERE = Path(__file__).parent
BESTK = Path(sys.executable).with_name("bestk")
ARMS, VIEWED = 100, 20.0  # arms of the study; answers a second while it is watched
STUDY = {
    "name": "load", "arms": [f"arm {i}" for i in range(ARMS)], "k": 5, "rewards": "bernoulli",
    "lease": 600.0,
}  # fmt: skip
TICK = os.sysconf("SC_CLK_TCK")


def call(port, method, path, body=None):
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return json.loads(answer.read())
    finally:
        connection.close()


@contextmanager
def running(*command):
    """A server, and its port, which is the last that its first line says."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline().rpartition(":")[2])
        finally:
            process.kill()


def bestk(path, port=0):
    return running(BESTK, "serve", path, "--port", str(port))


def empty():
    return running(sys.executable, __file__, "--empty")


def serve_empty():
    """What the server is compared with: FastAPI on the same uvicorn, and nothing else."""
    import uvicorn
    from fastapi import FastAPI

    from bestk.server.running import BACKLOG, _bind

    app = FastAPI()

    @app.post("/empty")
    async def nothing():
        return {}

    listening = _bind("127.0.0.1", 0)
    print(f"127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app, loop="uvloop", http="httptools", ws="none", lifespan="off", access_log=False,
        log_level="warning", server_header=False, backlog=BACKLOG,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])


def clients(port, n, seconds, *options):
    command = [
        sys.executable, HERE / "serving_clients.py", str(port), "--clients", str(n),
        "--seconds", str(seconds), *map(str, options),
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def cpu(process):
    """Seconds of processor time of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def compare(folder, n, seconds, rounds):
    """In turns, so that what else the machine does hits both alike."""
    sides = {"empty": Counter(), "bestk": Counter()}
    with bestk(folder / "load.db") as (server, port), empty() as (other, beside):
        call(port, "POST", "/api/studies", STUDY)
        clients(port, n, 2.0, "--study", "load", "--run", "warm")  # kernels are compiled
        for i in range(rounds):
            for name, process, at, options in (
                ("empty", other, beside, ()),
                ("bestk", server, port, ("--study", "load", "--run", i)),
            ):
                before = cpu(process)
                found = clients(at, n, seconds / rounds, *options)
                sides[name].update({**found, "server": cpu(process) - before})
    for name, found in sides.items():
        print(
            f"{name}: {found['answered'] / found['seconds']:,.0f} requests a second, each"
            f" {1e6 * found['server'] / found['answered']:.0f} us of the server's processor time;"
            f" {found['refused']} refused, {found['idle']} without a pull;"
            f" clients took {found['cpu'] / rounds:.2f} of a core"
        )
    rate = {name: found["answered"] / found["seconds"] for name, found in sides.items()}
    print(f"{n} clients: {rate['bestk'] / rate['empty']:.2f} times as fast as an empty endpoint")


def kill(folder, n, seconds, kills):
    """Kill the server again and again while the clients go on; then look into the file."""
    path, told = folder / "kills.db", folder / "told"
    ended = threading.Event()

    def work(port):
        found.update(clients(port, n, seconds, "--study", "load", "--told", told))
        ended.set()

    found, killed, port, crowd = {}, 0, 0, None
    draw = random.Random(1)
    moments = sorted(seconds * draw.uniform(0.02, 0.98) for _ in range(kills))
    while not ended.is_set():
        with bestk(path, port) as (server, port):
            if crowd is None:
                call(port, "POST", "/api/studies", STUDY)
                crowd = threading.Thread(target=work, args=(port,))
                crowd.start()
                started = time.monotonic()
            if killed == kills:
                ended.wait()
            elif not ended.wait(max(0.0, started + moments[killed] - time.monotonic())):
                server.send_signal(signal.SIGKILL)
                server.wait()
                killed += 1
    crowd.join()
    logged = Counter(
        (event.key, f"{event.reward:g}")
        for event in SQLiteStorage(path).read("load")
        if event.kind == ev.TOLD
    )
    acknowledged = [tuple(line.split()) for line in told.read_text().splitlines()]
    lost = sum(logged[each] != 1 for each in acknowledged)
    doubled = sum(times > 1 for times in Counter(key for key, _ in logged.elements()).values())
    print(
        f"{killed} kills: {len(acknowledged):,} answers acknowledged,"
        f" {found['repeated']:,} requests repeated, {found['refused']} refused;"
        f" {lost} lost, {doubled} doubled"
    )
    return lost + doubled


def watch(folder, viewers, seconds):
    """What those who watch cost, beside the answers that they see."""
    with bestk(folder / "watched.db") as (server, port):
        call(port, "POST", "/api/studies", STUDY)
        answer_some(port, 2.0, "warm")
        alone = share(server, port, seconds, "alone")
        streams = [subscribe(port) for _ in range(viewers)]
        heard = [0] * viewers
        for i, stream in enumerate(streams):
            threading.Thread(target=listen, args=(stream, heard, i), daemon=True).start()
        watched = share(server, port, seconds, "watched")
    print(
        f"{viewers} viewers of a study with up to {VIEWED:g} answers a second: the server takes"
        f" {100 * watched:.1f}% of a core, without viewers {100 * alone:.1f}%; each heard"
        f" {min(heard, default=0) / seconds / 1024:.1f} KB a second at least"
    )


def subscribe(port):
    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(b"GET /api/studies/load/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return stream


def listen(stream, heard, i):
    try:
        while found := stream.recv(1 << 16):
            heard[i] += len(found)
    except ConnectionError:  # the server is gone
        pass


def share(server, port, seconds, run):
    """Of a core, that the server takes while some answers come in."""
    before, started = cpu(server), time.perf_counter()
    answer_some(port, seconds, run)
    return (cpu(server) - before) / (time.perf_counter() - started)


def answer_some(port, seconds, run):
    until, i = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        body = {"n": 1, "worker": "w", "request": f"{run} {i}"}
        for pull in call(port, "POST", "/api/studies/load/ask", body)["pulls"]:
            answers = [{"pull": pull["id"], "reward": i % 2}]
            call(port, "POST", "/api/studies/load/tell", {"answers": answers})
        i += 1
        time.sleep(1.0 / VIEWED)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--clients", type=int, default=500)
    options.add_argument("--rounds", type=int, default=6)
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--viewers", type=int, default=100)
    options.add_argument("--empty", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.empty:
        serve_empty()
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), given.clients, given.seconds, given.rounds)
        watch(Path(folder), given.viewers, min(given.seconds, 10.0))
        if given.kills:
            sys.exit(bool(kill(Path(folder), given.clients, given.seconds, given.kills)))


if __name__ == "__main__":
    main()
