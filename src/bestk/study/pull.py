"""Pulls, and how they are named."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from bestk.arguments import string


@dataclass(frozen=True, slots=True)
class Pull:
    """One sample to take: of `arm`, the index-th pull of the study; in an evaluation on `item`."""

    id: str
    arm: Hashable
    index: int
    item: Any = None  #: what the arm is to be scored on, in an evaluation
    position: int | None = None  #: of that item in the list


def key_of(pull: Pull | str) -> str:
    """The name of a pull, which may be given in its place."""
    return pull.id if isinstance(pull, Pull) else string(pull, "pull")
