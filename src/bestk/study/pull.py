"""Pulls, and how they are named."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from bestk.arguments import string


@dataclass(frozen=True, slots=True)
class Pull:
    """One sample to take: of `arm`, the index-th pull of the study."""

    id: str
    arm: Hashable
    index: int


def key_of(pull: Pull | str) -> str:
    """The name of a pull, which may be given in its place."""
    return pull.id if isinstance(pull, Pull) else string(pull, "pull")
