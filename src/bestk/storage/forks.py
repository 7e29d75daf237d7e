"""Locks and forks: no fork happens while another thread holds one of the locks given here.

Otherwise the child would have the lock for ever, and what it guards half changed. They are taken
before a fork in the order in which threads nest them: first those of studies, then of storages.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

STUDY, STORAGE = 0, 1  # a study's lock is taken before its storage's
InChild = Callable[[Any], None]  # called with the owner, lets go of what belongs to the parent
Guard = tuple[int, threading.RLock, InChild | None]

_guards: weakref.WeakKeyDictionary[object, Guard] = weakref.WeakKeyDictionary()
_registry = threading.Lock()
_held: list[tuple[object, Guard]] = []


def guard(owner: object, lock: threading.RLock, rank: int, in_child: InChild | None = None) -> None:
    """No fork cuts through what holds this lock."""
    with _registry:
        _guards[owner] = rank, lock, in_child


def _before() -> None:
    _registry.acquire()
    for owner, each in sorted(_guards.items(), key=lambda item: item[1][0]):
        each[1].acquire()
        _held.append((owner, each))


def _after(is_child: bool) -> None:
    held = list(_held)
    while _held:
        _held.pop()[1][1].release()
    _registry.release()
    for owner, (_, _, in_child) in held:
        if is_child and in_child is not None:
            in_child(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(False),
        after_in_child=lambda: _after(True),
    )
