"""The caption contest on a server, with simulated raters: `make serve-demo` runs it.

A person opens the address that is printed and watches the standings, or rates captions beside the
simulated raters. These ask the server for one caption at a time, as the page for raters does, and
answer as the readers of the real contest did (data/README.md). Ctrl-C ends raters and server; the
ratings stay in the file, and the next start goes on with them unless `--fresh` is given.
"""

import argparse
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import numpy as np
from captions import COLUMNS, EPSILON, WORTH, read_captions

NAME = "captions"
PATIENCE = 60  # seconds: what a person leaves unrated on the screen holds the others up so long
PAGE = {
    "title": "Cartoon caption contest 559",
    "question": "How funny is this caption?",
    "context": "A caption of a cartoon; the cartoon itself is not part of the data.",
    "levels": [
        {"value": value, "label": name.replace("_", " ")}
        for value, name in zip(WORTH, COLUMNS, strict=True)
    ],
    "show_standings": True,
}
# `bestk`, but it ends when its input does: that is when this program is gone, killed or not
UNTIL_GONE = """
import os, signal, threading
def end():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end, daemon=True).start()
from bestk.cli.main import main
main()
"""


class Server:
    """A server of its own, as another process, and requests to it."""

    def __init__(self, file, port):
        command = [sys.executable, "-c", UNTIL_GONE, "serve", str(file), "--port", str(port)]
        # in a group of its own: Ctrl-C reaches this program alone, which ends the server in turn
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        said = self.process.stdout.readline().split()
        if not said:
            raise SystemExit(self.process.wait())
        self.address = said[-1]

    def post(self, path, body):
        """What the server answers."""
        request = urllib.request.Request(
            f"{self.address}/api/studies{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        """End it, and wait until it is gone."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def rate(server, shares, name, seed, pace, over):
    """One simulated rater, until the study has what it needs or everything ends."""
    random = np.random.default_rng(seed)
    number = 0
    while not over.wait(random.exponential(pace)):
        number += 1
        wish = {"worker": name, "request": f"{name}-{seed}-{number}-{random.integers(1 << 62)}"}
        try:
            asked = server.post(f"/{NAME}/ask", wish)
            for pull in asked["pulls"]:
                place = int(np.searchsorted(shares[pull["arm"]], random.random(), side="right"))
                answer = {"pull": pull["id"], "reward": WORTH[place]}
                server.post(f"/{NAME}/tell", {"answers": [answer]})
        except OSError:
            if not over.is_set():
                print("a rater has lost the server", file=sys.stderr)
            return
        if asked["stopped"]:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/demo"))
    parser.add_argument("--port", type=int, default=8765, help="0: any that is free")
    parser.add_argument("--raters", type=int, default=20)
    parser.add_argument(
        "--pace", type=float, default=0.25, help="seconds a rater takes, on average"
    )
    parser.add_argument("--fresh", action="store_true", help="begin the study anew")
    given = parser.parse_args()

    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "served.db"
    if given.fresh:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    shares = read_captions()
    server = Server(file, given.port)
    raters = []
    try:
        study = {"name": NAME, "arms": list(shares), "k": 5, "epsilon": EPSILON, "seed": 1}
        study["lease"] = PATIENCE
        try:
            server.post("", {**study, "rewards": "ratings", "levels": WORTH, "page": PAGE})
        except HTTPError:  # an older version of this program began it with something else
            sys.exit(f"{file} holds another study of this name: give --fresh to begin anew")
        for i in range(given.raters):
            what = (server, shares, f"reader {i + 1}", 1000 + i, given.pace, over)
            raters.append(threading.Thread(target=rate, args=what))
            raters[-1].start()
        print(f"watch: {server.address}/studies/{NAME}")
        print(f"rate:  {server.address}/studies/{NAME}/rate")
        print("Ctrl-C ends it", flush=True)
        while not over.wait(0.5):
            if server.process.poll() is not None:
                sys.exit("the server has ended")
    finally:
        over.set()
        server.stop()
        for rater in raters:
            rater.join()
    print("ended; the ratings are in", file)


if __name__ == "__main__":
    main()
