"""One study at work: the requests of one moment are answered in one transaction.

Everything happens on the event loop's own thread. Kernels and SQLite let other threads run at every
call, so that a thread of its own would wait for the interpreter thousands of times a second; and
requests that come while a transaction is under way are the next one's. A commit costs the same for
one answer as for hundreds: that is what lets hundreds of clients be served. A database that is away
is not waited for (`open_storage`, `is_impatient`): the answer is 503, and clients try again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from bestk.errors import BestkError, StorageError
from bestk.study.shared import SharedStudy

T = TypeVar("T")
TOLD, ASKED = 0, 1  # what is done first: answers change what is asked for


class _Wish(NamedTuple):
    rank: int
    act: Callable[[SharedStudy], Any]
    done: asyncio.Future[Any]


class Desk:
    """Where the requests of one study come in; `reopen` opens the study anew from its log."""

    def __init__(self, study: SharedStudy, reopen: Callable[[], SharedStudy]) -> None:
        self.study, self._reopen = study, reopen
        self._wishes: list[_Wish] = []
        self._loop = asyncio.get_running_loop()
        self.transactions = self.requests = 0
        self.has_items = study.item_count is not None

    def do(self, act: Callable[[SharedStudy], T], rank: int = TOLD) -> asyncio.Future[T]:
        """Let that be done with the study, together with what else is wished for now.

        It may raise an error of bestk's only if it has changed nothing.
        """
        done: asyncio.Future[T] = self._loop.create_future()
        self._wishes.append(_Wish(rank, act, done))
        if len(self._wishes) == 1:
            self._loop.call_soon(self._work)
        return done

    def _work(self) -> None:
        wishes = [wish for wish in self._wishes if not wish.done.cancelled()]
        self._wishes = []
        wishes.sort(key=lambda wish: wish.rank)  # stable
        self.transactions += 1
        self.requests += len(wishes)
        outcomes: list[tuple[_Wish, Any, BaseException | None]] = []
        broken: _Wish | None = None
        try:
            if self.study.is_ahead:
                self.study = self._reopen()
            with self.study.together():
                for wish in wishes:
                    try:
                        outcomes.append((wish, wish.act(self.study), None))
                    except StorageError:
                        raise
                    except BestkError as error:
                        outcomes.append((wish, None, error))
                    except Exception:  # a mistake of ours, of which the others know nothing
                        broken = wish
                        raise
        except Exception as error:  # nothing was written, and nobody is told otherwise
            outcomes = [(wish, None, error) for wish in wishes if broken in (None, wish)]
            self._wishes = [wish for wish in wishes if broken not in (None, wish)]
            if self._wishes:
                self._loop.call_soon(self._work)
        for wish, value, trouble in outcomes:
            if wish.done.cancelled():
                continue
            if trouble is None:
                wish.done.set_result(value)
            else:
                wish.done.set_exception(trouble)
