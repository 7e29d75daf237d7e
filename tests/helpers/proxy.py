"""A wire to a Postgres server that can be cut at the worst moment."""

import socket
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

PORT = 5432  # part of the name of a server's socket


class Wire:
    """Passes bytes on; after `cut(text)` the request that holds the text is the last."""

    def __init__(self, path: Path, target: str) -> None:
        self._target, self._armed, self.cuts, self._open = target, None, 0, []
        self._path = path
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, text, is_done):
        """Cut at this request: before the server gets it, or when its answer is due (`is_done`)."""
        self._armed = text, is_done

    def end(self):
        """Cut all that there are now."""
        _shut(*self._open)

    def go(self):
        """Be away: nobody can connect."""
        self._path.rename(self._path.with_suffix(".away"))
        self.end()

    def come_back(self):
        """Be there again."""
        self._path.with_suffix(".away").rename(self._path)

    def _accept(self):
        with suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._open += [client, server]
                state = {"silent": False}
                for work in (self._requests, self._answers):
                    args = (client, server, state)
                    threading.Thread(target=work, args=args, daemon=True).start()

    def _requests(self, client, server, state):
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if self._armed is not None and self._armed[0] in data:
                    is_done, self._armed = self._armed[1], None
                    self.cuts += 1
                    if not is_done:
                        break
                    state["silent"] = True  # the answer goes nowhere, then the wire is cut
                server.sendall(data)
            else:
                state["silent"] = False
        if not state["silent"]:
            _shut(client, server)

    def _answers(self, client, server, state):
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if state["silent"]:
                    break
                client.sendall(data)
        _shut(client, server)

    def close(self):
        self._listening.close()


def _shut(*sockets):
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextmanager
def wire(folder, url):
    """A wire to the server at an address, and the address at its other end."""
    from psycopg.conninfo import conninfo_to_dict

    host = conninfo_to_dict(url)["host"]
    made = Wire(folder / f".s.PGSQL.{PORT}", f"{host}/.s.PGSQL.{PORT}")
    try:
        yield made, url.replace(host, str(folder))
    finally:
        made.close()
