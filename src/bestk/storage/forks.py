"""Locks and forks: no fork happens while another thread holds one of the locks given here.

Otherwise the child would have the lock for ever, and what it guards half changed. They are taken
before a fork in the order in which threads nest them: first those of studies, then of storages.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

STUDY, STORAGE = 0, 1  # a study's lock is taken before its storage's


class Guard(NamedTuple):
    """A lock that a child must find free."""

    rank: int
    lock: threading.RLock
    in_child: Callable[[Any], None] | None  # lets go of what belongs to the parent


_guards: weakref.WeakKeyDictionary[object, Guard] = weakref.WeakKeyDictionary()
_registry = threading.Lock()
_held: list[tuple[object, Guard]] = []


def guard(
    owner: object,
    lock: threading.RLock,
    rank: int,
    in_child: Callable[[Any], None] | None = None,
) -> None:
    """No fork cuts through what holds this lock; `in_child` is called with its owner."""
    with _registry:
        _guards[owner] = Guard(rank, lock, in_child)


def _before() -> None:
    _registry.acquire()
    for owner, each in sorted(_guards.items(), key=lambda item: item[1].rank):
        each.lock.acquire()
        _held.append((owner, each))


def _after() -> list[tuple[object, Guard]]:
    held = list(_held)
    while _held:
        _held.pop()[1].lock.release()
    _registry.release()
    return held


def _in_child() -> None:
    for owner, each in _after():
        if each.in_child is not None:
            each.in_child(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=lambda: _after() and None, after_in_child=_in_child
    )
