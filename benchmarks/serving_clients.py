"""Clients of a server, many in one process and as cheap as they can be: `serving.py` starts them.

Each has a connection of its own and one request under way: ask, tell, ask, tell. A connection that
breaks is made anew and its request sent again, as it was.
"""

import argparse
import asyncio
import json
import sys
import time

import uvloop

HEAD = (
    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "Content-Length: {length}\r\n\r\n"
)
PAUSE = 0.05  # seconds before a connection is tried again


class Client(asyncio.Protocol):
    """One of them."""

    def __init__(self, crowd, number):
        self.crowd, self.number = crowd, number
        self.requests, self.pull, self.found = 0, b"", b""
        self.request = self.transport = None
        self.started = 0.0

    async def connect(self):
        while not self.crowd.is_over:
            try:
                await self.crowd.loop.create_connection(lambda: self, "127.0.0.1", self.crowd.port)
                return
            except OSError:
                await asyncio.sleep(PAUSE)

    def connection_made(self, transport):
        self.transport, self.found = transport, b""
        if self.request is None:
            self.ask()
        else:  # the same again: whether it was taken is not known
            self.crowd.repeated += 1
            transport.write(self.request)

    def connection_lost(self, _):
        if not self.crowd.is_over:
            self.crowd.loop.create_task(self.connect())

    def send(self, path, body):
        head = self.crowd.heads.get((path, len(body)))
        if head is None:
            head = HEAD.format(path=self.crowd.paths[path], length=len(body)).encode()
            self.crowd.heads[path, len(body)] = head
        self.request = head + body
        self.started = time.perf_counter()
        self.transport.write(self.request)

    def ask(self):
        self.requests += 1
        text = f'{{"n":1,"worker":"w{self.number}","request":"{self.crowd.run}-{self.requests}"}}'
        self.pull = b""
        self.send("ask", text.encode())

    def tell(self):
        self.reward = b"1" if hash(self.pull) & 1 else b"0"
        self.send("tell", b'{"answers":[{"pull":"%b","reward":%b}]}' % (self.pull, self.reward))

    def data_received(self, data):
        self.found += data
        end = self.found.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self.found.find(b"content-length: ") + 16
        if len(self.found) < end + 4 + int(self.found[at : self.found.find(b"\r", at)]):
            return
        answer, self.found = self.found, b""
        crowd = self.crowd
        crowd.slowest = max(crowd.slowest, time.perf_counter() - self.started)
        if answer[9:12] != b"200":
            crowd.refused += 1
            if crowd.refused <= 3:
                print(answer, file=sys.stderr)
            if not crowd.is_over:
                crowd.loop.call_later(PAUSE, self.transport.write, self.request)
            return
        crowd.answered += 1
        if self.pull:
            crowd.told.append((self.pull, self.reward))
        if crowd.is_over:
            self.transport.close()
        elif self.pull:
            self.ask()
        elif crowd.is_empty:
            self.pull = b"~0/w%d/0123456789abcdef-1" % self.number
            self.tell()
        else:
            at = answer.find(b'"id":"', end) + 6
            if at < 6:  # nothing to do: earlier pulls must come back first
                crowd.idle += 1
                self.ask()
                return
            self.pull = answer[at : answer.find(b'"', at)]
            self.tell()


class Crowd:
    """All of them."""

    def __init__(self, given):
        self.port, self.run, self.is_empty = given.port, given.run, given.study is None
        names = ("ask", "tell")
        self.paths = {x: f"/api/studies/{given.study}/{x}" for x in names}
        if self.is_empty:
            self.paths = dict.fromkeys(names, "/empty")
        self.heads, self.told = {}, []
        self.answered = self.refused = self.repeated = self.idle = 0
        self.slowest, self.is_over = 0.0, False

    async def work(self, n, seconds):
        self.loop = asyncio.get_running_loop()
        clients = [Client(self, i) for i in range(n)]
        await asyncio.gather(*(client.connect() for client in clients))
        self.answered, self.slowest, started = 0, 0.0, time.perf_counter()
        await asyncio.sleep(seconds)
        answered, took = self.answered, time.perf_counter() - started
        self.is_over = True
        await asyncio.sleep(0.5)  # what is on its way is taken or given up
        return {
            "answered": answered, "seconds": took, "rate": answered / took,
            "refused": self.refused, "repeated": self.repeated, "idle": self.idle,
            "told": len(self.told), "slowest": self.slowest, "cpu": time.process_time() / took,
        }  # fmt: skip


def main():
    options = argparse.ArgumentParser()
    options.add_argument("port", type=int)
    options.add_argument("--study", help="without: the empty endpoint")
    options.add_argument("--clients", type=int, default=500)
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--run", default="1")
    options.add_argument("--told", help="file for what was acknowledged")
    given = options.parse_args()
    crowd = Crowd(given)
    found = uvloop.run(crowd.work(given.clients, given.seconds))
    if given.told:
        with open(given.told, "w", encoding="ascii") as file:
            file.writelines(f"{p.decode()} {r.decode()}\n" for p, r in crowd.told)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
