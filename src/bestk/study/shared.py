"""A study that a server keeps for many workers: their requests at once, in one transaction.

The holder of a pull is then no process of this machine but a worker somewhere, whose token is
`~OWNER/WORKER/REQUEST`: who may answer for it, what it calls itself, and which of its requests the
pull was asked for by. The name of a pull tells all that, so that a request that is repeated finds
its pulls again, after a restart of the server too: nothing is kept beside the log.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote

from bestk.errors import BestkError
from bestk.kernels.types import LIL_UCB
from bestk.study import extras
from bestk.study.pulls import WORKER, Pull, Requested, is_gone
from bestk.study.study import Study

LAPSES = 0.25  # seconds between two looks for leases that ran out
MANY = 10_000  # workers, requests and skips remembered beside those of open pulls; arbitrary
UNSAFE = str.maketrans({each: f"%{ord(each):02X}" for each in "/ -~%"})  # as in addresses


class TooManyOpen(BestkError):
    """So many pulls are open that no more are handed out until some are answered."""


class Answer(NamedTuple):
    """What came of a pull, and what was returned beside it."""

    pull: str
    reward: Any
    extra: Any = None


class Worker(NamedTuple):
    """Who asks: the owner is whose token it is, the name what it calls itself."""

    owner: str
    name: str

    @property
    def token(self) -> str:
        """The beginning of the tokens of its requests."""
        return f"{WORKER}{self.owner}/{self.name.translate(UNSAFE)}/"

    def request(self, text: str) -> Requested:
        """The names for the pulls of a request."""
        return Requested(self.token + hashlib.sha256(text.encode()).hexdigest()[:16])

    @classmethod
    def of(cls, holder: str) -> Worker | None:
        """The one with that token; None if it is none of a server's workers."""
        if not holder.startswith(WORKER):
            return None
        owner, _, rest = holder[len(WORKER) :].partition("/")
        return cls(owner, unquote(rest.rpartition("/")[0]))


class Request(NamedTuple):
    """A wish for n pulls.

    Of one who rates, whose owner may have at most `rating` open pulls of the study, those that the
    worker has are given before new ones.
    """

    worker: Worker
    id: str
    n: int = 1
    rating: int | None = None


class SharedStudy(Study):
    """A study whose workers are elsewhere.

    Where the study has no lease, a pull is handed out again when its worker was not heard of for
    `patience` seconds, as that of a process that has died. New pulls are asked for while fewer
    than `most` are open.
    """

    def __init__(self, name: str, *, storage: Any, patience: float, most: int) -> None:
        super().__init__(name, storage=storage)
        self.patience, self.most = patience, most
        self.told: Counter[Worker | None] = Counter()  # answers by worker
        self._heard: dict[Worker, float] = {}
        self._opened = time.monotonic()
        self._handover.pause = LAPSES
        self._again: dict[str, list[str]] = {}  # pulls handed out anew, by the token of the request
        self._handover.is_gone = self._is_gone
        self._skipped: dict[Worker, set[str]] = {}  # pulls that a worker gave back to be spared
        self._skips = 0  # how many
        holders = self._fold.holders
        for key in self._fold.answers:
            self.told[Worker.of(holders[key])] += 1
        for key, holder in holders.items():
            if key in self._fold.open:
                self._again.setdefault(holder, []).append(key)

    @property
    def is_ahead(self) -> bool:
        """Whether the study must be opened again: what it knows could not be written."""
        return self._journal.is_ahead

    @property
    def events(self) -> int:
        """How many events are known."""
        return self._fold.seen

    @property
    def item_count(self) -> int | None:
        """How many items an evaluation has."""
        items = self.specification.items
        return None if items is None else items.count

    @property
    def is_certified(self) -> bool:
        """Whether it has stopped, by a rule of which something is proved."""
        return self.is_stopped and self._fold.configured.guarantee is not None

    def look(self) -> int:
        """Read what others have written; how many events there are then."""
        with self._lock:
            self._journal.sync()
            return self._fold.seen

    # --- who holds what ---------------------------------------------------------------------------

    def hear(self, worker: Worker) -> None:
        """A worker lives."""
        if max(len(self._heard), len(self._again)) > MANY + 2 * self.n_open:
            self._tidy()
        self._heard[worker] = time.monotonic()

    def _hear_of(self, pull: str, owner: str) -> Worker | None:
        """Who has an open pull; that worker lives if it is the owner who says what became of it."""
        worker = self.holder(pull)
        if worker is not None and worker.owner == owner:
            self.hear(worker)
        return worker

    def _tidy(self) -> None:
        """Forget workers and requests that hold no open pull: nobody asks about them.

        Such a request would get new pulls if it were repeated, as after a restart.
        """
        holders = {self._fold.holders[key] for key in self._fold.open}
        workers = set(map(Worker.of, holders))
        self._heard = {each: at for each, at in self._heard.items() if each in workers}
        self._again = {token: keys for token, keys in self._again.items() if token in holders}

    def _is_gone(self, holder: str) -> bool:
        worker = Worker.of(holder)
        if worker is None:
            return is_gone(holder)
        return time.monotonic() - self._heard.get(worker, self._opened) > self.patience

    def holder(self, pull: str) -> Worker | None:
        """The worker that has a pull, or had it."""
        return Worker.of(self._fold.holders[pull])

    def owns(self, owner: str, pull: str) -> bool:
        """Whether a pull was handed to that owner's workers."""
        worker = self.holder(pull)
        return worker is not None and worker.owner == owner

    def held(self) -> Counter[Worker | None]:
        """How many open pulls every worker has; None stands for those of other processes."""
        return Counter(map(self.holder, self._fold.open))

    @property
    def n_open(self) -> int:
        """How many pulls are open."""
        return len(self._fold.open)

    # --- many requests at once --------------------------------------------------------------------

    @contextmanager
    def together(self) -> Iterator[None]:
        """What happens in the block is written in one transaction, at its end."""
        with self._lock, self._journal.together():
            yield

    def take_answers(self, answers: Sequence[Answer], owner: str = "") -> int:
        """Those of one request of that owner, all or none; how many were new."""
        fresh = self._fresh((key, reward, extras.written(extra)) for key, reward, extra in answers)
        for event in fresh:
            worker = self._hear_of(event.key, owner)
            self._journal.append(event)
            self.told[worker] += 1
        return len(fresh)

    def hand_out(self, request: Request) -> list[Pull]:
        """The pulls of one request; those that it has already if it is repeated."""
        worker, names = request.worker, request.worker.request(request.id)
        self.hear(worker)
        open_, known = self._fold.open, list[str]()
        while self._fold.knows(key := names.name(len(known) + 1)):
            known.append(key)
        known += self._again.get(names.token, [])
        if known:  # without those that were given back: they may be with somebody else
            holders = self._fold.holders
            own = (key for key in known if key in open_ and holders[key] == names.token)
            return [self._pull(key) for key in own]
        if request.rating is not None:
            mine = [key for key in open_ if self._fold.holders[key].startswith(worker.token)]
            if mine:
                return [self._pull(key) for key in mine[: request.n]]
            self._require_few(worker.owner, request.rating)
            if self._is_anothers_turn():
                return []
        spared = self._spared(worker)
        pulls = self._ask(n, names, spared) if (n := self._room(request.n, spared)) else []
        if spared and not pulls:  # nothing else is left
            pulls = self._ask(n, names) if (n := self._room(request.n)) else []
        if not n:
            raise TooManyOpen(f"at most {self.most:,} pulls may be open")
        for pull in pulls:
            if not pull.id.startswith(names.token):
                self._again.setdefault(names.token, []).append(pull.id)
        return pulls

    def _is_anothers_turn(self) -> bool:
        """Whether a policy of one pull at a time waits for one that somebody makes: people wait."""
        if self._fold.spec.family != LIL_UCB:
            return False
        self._handover.lapse()
        return bool(self._fold.open) and not self._handover.free(self._fold.open)

    def _require_few(self, owner: str, most: int) -> None:
        """Refuse more pulls for an owner who has so many: workers are called as they like."""
        self._handover.lapse()
        holders, start = self._fold.holders, f"{WORKER}{owner}/"
        has = [key for key in self._fold.open if holders[key].startswith(start)]
        if len(has) >= most and len(has) - len(self._handover.free(has)) >= most:
            raise TooManyOpen(
                f"at most {most:,} pulls of one rating token may be open (--max-rating)"
            )

    def _room(self, n: int, spared: Collection[str] = ()) -> int:
        """Of n pulls, how many may be handed out: those that nobody makes any more add none."""
        self._handover.lapse()
        room = max(0, self.most - len(self._fold.open))
        if room < n and not self.is_stopped:
            room += self._handover.look(spared)
        return n if self.is_stopped else min(n, room)

    def _spared(self, worker: Worker) -> set[str]:
        """What a worker skipped and is still open; of lil-ucb's one pull at a time, nothing."""
        skipped = self._skipped.get(worker)
        if not skipped or self._fold.spec.family == LIL_UCB:
            return set()
        skipped &= self._fold.open.keys()
        return skipped

    # --- repeated, they change nothing ------------------------------------------------------------

    def give_up(self, pull: str, why: str | None = None) -> None:
        """`fail` with a reason, `forget` without one; nothing if the pull was given up before."""
        if pull in self._fold.gone:
            return
        if why is None:
            self.forget(pull)
        else:
            self.fail(pull, why)

    def try_again(self, pull: str, why: str, request: str, owner: str = "") -> None:
        """`retry`, once for each request."""
        if pull in self._fold.open:
            self._hear_of(pull, owner)
        said = f"{why} [{request}]" if request else why
        if not request or self._fold.tried.get(pull) != said:
            self.retry(pull, said)

    def release_all(self, pulls: Sequence[str], by: Worker | None = None) -> None:
        """`release` those that are open and that somebody has, or that worker.

        Who says which worker it is may say it again after somebody else was given the pulls.
        """
        held = [key for key in pulls if key in self._fold.open]
        if by is not None:
            held = [key for key in held if self.holder(key) == by]
        self.release(self._pull(key) for key in held if not self._handover.is_free(key))

    def skip(self, pulls: Sequence[str], owner: str, name: str | None = None) -> None:
        """Give back those that the owner's workers have, or the one of that name; these are given
        others before them.
        """
        held = [key for key in pulls if key in self._fold.open and self.owns(owner, key)]
        if name is not None:
            held = [key for key in held if self.holder(key) == Worker(owner, name)]
        self._skips += len(held)
        if self._skips > MANY:  # forgotten, at worst somebody sees again what they skipped
            self._skipped, self._skips = {}, 0
        for key in held:
            worker = self.holder(key)
            if worker is not None:
                self._skipped.setdefault(worker, set()).add(key)
        self.release_all(held)

    def admit(self, arm: Hashable) -> None:
        """`add_arm`, unless it is there."""
        if arm not in self.arms:
            self.add_arm(arm)

    def dismiss(self, arm: Hashable) -> None:
        """`withdraw_arm`, unless it has left."""
        if arm in self.arms or arm not in self._fold.numbers:
            self.withdraw_arm(arm)
