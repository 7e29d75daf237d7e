"""A study at a server: the methods of `Study`, each of them a request."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from bestk.arguments import count
from bestk.client import Connection, Forbidden, Missing
from bestk.decisions import DecisionClass
from bestk.decisions.labels import freeze, read_arms, read_pairs, thaw
from bestk.errors import InputError
from bestk.kernels.types import LIL_UCB
from bestk.study import extras
from bestk.study.items import read_evaluation
from bestk.study.pulls import Pull, key_of
from bestk.study.result import ArmResult, Result, Stopped, Waiting
from bestk.study.specification import Specification, given, specify

BATCH = 1000  # answers of one request


class RemoteStudy:
    """A study that a server keeps; workers on many machines may share it.

    Made by `connect(url).study(name)`. What the server says last is known here; `result` asks.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        specification: Specification,
        items: tuple[Any, ...] | None = None,
    ) -> None:
        self.name, self.specification, self.problem = name, specification, specification.problem
        self.items = items  # of an evaluation; the server need not know what they are
        self._connection = connection
        self._process, self._name = 0, ""
        self._mine: set[str] = set()  # pulls that were handed out here and are yet to be settled
        self._state: dict[str, Any] = {}
        self._open()

    def __repr__(self) -> str:
        done = ", stopped" if self.is_stopped else ""
        return (
            f"RemoteStudy({self.name!r} at {self._connection.url}: {len(self.arms)} arms,"
            f" {self.samples:,} samples{done})"
        )

    @property
    def _worker(self) -> str:
        """What this object calls itself, in each process something else.

        Machine and process alone are not enough: in containers both are often the same again after
        a restart, and the pulls of the one that died would seem to be those of one that lives.
        """
        if self._process != (pid := os.getpid()):  # a forked child is another worker
            self._name = f"{socket.gethostname()[:80]}:{pid} {secrets.token_hex(3)}"
            self._process, self._mine = pid, set()
        return self._name

    def _post(self, *path: str, **data: Any) -> Any:
        self._state |= (found := self._connection.post("api", "studies", self.name, *path, **data))
        return found

    def _settle(self, what: str, keys: list[str], **data: Any) -> None:
        """Send what became of pulls, which are not ours any more then."""
        self._post(what, **data)
        self._mine.difference_update(keys)

    def _get(self, *path: str) -> Any:
        return self._connection.get("api", "studies", self.name, *path)

    def _open(self) -> dict[str, Any]:
        found: dict[str, Any] = self._get("open")
        self._state |= {key: found[key] for key in ("samples", "stopped", "arms", "totals")}
        return found

    # --- ask and tell -----------------------------------------------------------------------------

    def ask(self, n: int = 1) -> list[Pull]:
        """Up to n pulls to make next; a request that is lost is repeated and gives the same."""
        data = {"n": count(n, "n", 1), "worker": self._worker, "request": secrets.token_hex(12)}
        pulls = [self._pull(each) for each in self._post("ask", **data)["pulls"]]
        self._mine.update(pull.id for pull in pulls)
        return pulls

    def tell(self, pull: Pull | str, reward: float, extra: Any = None) -> None:
        """Record the reward of a pull, exactly once; `extra` is kept with it."""
        kept = extras.read(extras.written(extra))  # what JSON cannot hold as a text, as in a file
        answer = {"pull": key_of(pull), "reward": _number(reward), "extra": kept}
        self._settle("tell", [answer["pull"]], answers=[answer])

    def tell_many(self, answers: Iterable[tuple[Pull | str, float]]) -> None:
        """Several answers at once, all or none of every thousand."""
        pairs = [
            {"pull": key_of(pull), "reward": _number(reward)}
            for pull, reward in read_pairs(answers)
        ]
        for start in range(0, len(pairs), BATCH):
            batch = pairs[start : start + BATCH]
            self._settle("tell", [each["pull"] for each in batch], answers=batch)

    def fail(self, pull: Pull | str, why: str = "") -> None:
        """Record that a pull came to nothing: a late answer to it will be refused."""
        key = key_of(pull)
        self._settle("fail", [key], pull=key, why=why[:1000])

    def retry(self, pull: Pull | str, why: str = "") -> None:
        """Record that an attempt came to nothing and the pull, in its place, is made again."""
        self._post("retry", pull=key_of(pull), why=why[:1000], request=secrets.token_hex(8))

    def fail_low(self, pull: Pull | str, why: str = "") -> None:
        """Let a pull that failed count as the worst reward there is."""
        key = key_of(pull)
        self._settle("fail-low", [key], pull=key, why=why[:1000])

    def forget(self, pull: Pull | str) -> None:
        """Give an open pull up: a late answer to it will be refused."""
        key = key_of(pull)
        self._settle("forget", [key], pull=key)

    def release(self, pulls: Iterable[Pull]) -> None:
        """Nobody makes these pulls any more: they are handed out again.

        Those that were handed out here are given back as such: repeated, the request takes them
        from nobody who was given them meanwhile.
        """
        name, keys = self._worker, [key_of(pull) for pull in pulls]
        own = [key for key in keys if key in self._mine]
        others = [key for key in keys if key not in self._mine]
        for start in range(0, len(own), BATCH):
            batch = own[start : start + BATCH]
            self._settle("release", batch, pulls=batch, worker=name)
        for start in range(0, len(others), BATCH):
            self._post("release", pulls=others[start : start + BATCH])

    def check(self) -> bool:
        """Whether the answer is certain by now; asks for nothing."""
        self._post("check")
        return self.is_stopped

    def add(self, arm: Hashable, reward: float, id: str) -> None:
        """Record an observation made elsewhere, once for each id."""
        self._post("add", arm=thaw(arm), reward=_number(reward), id=id)

    def add_arm(self, arm: Hashable) -> None:
        """Let an arm join; one that is in the study already stays."""
        self._post("arms", arm=thaw(arm))
        self._open()

    def withdraw_arm(self, arm: Hashable) -> None:
        """Take an arm out: it is asked for no more, and its open pulls are given up."""
        self._post("arms", "withdraw", arm=thaw(arm))
        self._open()

    def require_order(self, what: str) -> None:
        """Refuse `what`, which breaks the order of samples, where the policy's proof needs it."""
        _, configured = self.specification.configure(len(self.specification.labels))
        if configured.spec.family == LIL_UCB:
            raise InputError(f"{what} was refused: lil-ucb takes one sample after the other")

    # --- reading ----------------------------------------------------------------------------------

    forecasts = False  # nothing is foretold here; the server's result holds a forecast
    retries_pulls = False  # of version 0.1, which no server has

    def slack_for(self, more: int) -> float | None:  # noqa: ARG002 - as that of `Study`
        """Not estimated here."""
        return None

    @property
    def samples(self) -> int:
        """Observations, as the server said last."""
        return int(self._state["samples"])

    @property
    def seconds(self) -> float:
        """From the beginning of the study to the last that happened in it; asks."""
        return self.result.seconds

    @property
    def is_stopped(self) -> bool:
        """Whether the rule has ended the study, as the server said last."""
        return bool(self._state["stopped"])

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """The arms that compete."""
        return tuple(freeze(arm) for arm in self._state["arms"])

    @property
    def open(self) -> list[Pull]:
        """Pulls that wait for an answer, those of other workers too."""
        return [self._pull(each) for each in self._open()["open"]]

    @property
    def waiting_for(self) -> list[Pull]:
        """Open pulls that later answers wait for."""
        found = self._open()
        blocking = set(found["waiting_for"])
        return [self._pull(each) for each in found["open"] if each["id"] in blocking]

    def _pull(self, data: dict[str, Any]) -> Pull:
        item, position = data["item"], data["position"]
        if self.items is not None and position is not None:
            item = self.items[position]
        return Pull(data["id"], freeze(data["arm"]), data["order"], item, position)

    @property
    def scored(self) -> list[tuple[int, int, float]]:
        """Of an evaluation: arm, position of the item and score, in the order of counting."""
        return [(arm, position, score) for arm, position, score, _ in self._cells()]

    def beside(self) -> Iterator[tuple[int, int, Any]]:
        """Of an evaluation: arm, position of the item and what was returned beside the score."""
        for arm, position, _, extra in self._cells():
            if extra is not None:
                yield arm, position, extra

    def _cells(self) -> list[list[Any]]:
        found: list[list[Any]] = self._get("cells")["cells"]
        return found

    @property
    def totals(self) -> dict[str, float]:
        """Sums of the numbers that answers carried beside their rewards, by name."""
        return dict(self._open()["totals"])

    @property
    def result(self) -> Result:
        """The answer so far, how far it is proved, and every arm's interval."""
        return self.summary(None)

    def summary(self, ended: Stopped | None) -> Result:
        """The result, with the reason why sampling ended if it was not the rule."""
        data = self._get()
        kept = {key: data[key] for key in Result.__dataclass_fields__ if key in data}
        between = data["forecast_interval"]
        kept |= {
            "top": tuple(freeze(arm) for arm in data["top"]),
            "arms": tuple(
                ArmResult(**{**arm, "label": freeze(arm["label"])}) for arm in data["arms"]
            ),
            "waiting": tuple(Waiting(**{**w, "arm": freeze(w["arm"])}) for w in data["waiting"]),
            "forecast_interval": None if between is None else tuple(between),
            "assumptions": tuple(data["assumptions"]),
            "warnings": tuple(data["warnings"]),
        }
        result = Result(**kept)
        self._state |= {"samples": result.samples}
        return result if result.stopped or ended is None else replace(result, stopped=ended)


class Server:
    """A `bestk serve` somewhere."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def studies(self) -> list[str]:
        """The names of the studies that the token is for."""
        return [each["name"] for each in self._connection.get("api", "studies")["studies"]]

    def study(
        self,
        name: str,
        arms: Iterable[Hashable] | None = None,
        *,
        decision: DecisionClass | None = None,
        k: int | None = None,
        seed: int | None = None,
        lease: float | None = None,
        max_arms: int | None = None,
        lost: str | None = None,
        items: Iterable[Any] | None = None,
        target: str = "items",
        history: Any = None,
        **settings: Any,
    ) -> RemoteStudy:
        """A study; begun if it is not there and `arms` are given, which takes an admin's token.

        Takes what `Study` takes, except storage. What is given must agree with a study that is
        there. Of items the server keeps the number and a fingerprint: workers have them.
        """
        labels = None if arms is None else read_arms(arms)
        told = given(**settings)
        listed, of_items = read_evaluation(items, target, history, told.get("rewards"))
        rest = given(k=k, seed=seed, lease=lease, max_arms=max_arms, lost=lost, items=of_items)
        if (labels is not None or decision is not None) and name not in self.studies():
            data = json.loads(specify(labels, decision, told, **rest).to_json())
            self._begin(name, data)
        found = self._connection.get("api", "studies", name, "specification")
        specification = Specification.from_json(json.dumps(found))
        specification.check_given(labels, decision, told, rest)
        return RemoteStudy(self._connection, name, specification, listed)

    def _begin(self, name: str, specification: dict[str, Any]) -> None:
        try:
            self._connection.post("api", "studies", name=name, specification=specification)
        except Forbidden:
            self._explain(name)
        except InputError:
            if name not in self.studies():
                raise  # else another worker was quicker; what it began with is compared next

    def _explain(self, name: str) -> None:
        """Say what a token that cannot begin a study may do about one that is not there."""
        try:
            self._connection.get("api", "studies", name, "specification")
        except Missing as error:
            raise InputError(
                f"study {name!r} does not exist yet, and beginning one needs an admin token"
                " (`bestk token create --role admin`); once it is begun, other tokens work on it"
            ) from error


def connect(url: str, token: str | None = None) -> Server:
    """The studies of a `bestk serve` at `http://HOST:PORT` or `https://HOST`.

    The token defaults to that in the environment variable BESTK_TOKEN. If the server does not
    answer, requests are retried for a minute, with growing pauses; none counts twice.
    """
    return Server(Connection(url, token))


def _number(reward: Any) -> Any:
    """A reward as JSON has it: numbers of NumPy's are none there."""
    return reward.item() if hasattr(reward, "item") else reward
