"""What a study is about, as the first event of its log holds it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bestk.decisions import DecisionClass, TopK
from bestk.decisions.labels import label, thaw
from bestk.errors import InputError, StorageError
from bestk.problem import Problem

FORMAT = 1  # of the specification; a newer one is refused


@dataclass(frozen=True)
class Specification:
    """Labels, problem, seed and lease of a study."""

    labels: tuple[Hashable, ...]
    problem: Problem
    seed: int
    lease: float | None = None

    def to_json(self) -> str:
        """What the log holds; refuses labels that a file cannot hold."""
        return json.dumps(
            {
                "format": FORMAT,
                "arms": [thaw(name) for name in self.labels],
                "problem": self.problem.to_dict(),
                "seed": self.seed,
                "lease": self.lease,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Specification:
        """Read it back."""
        try:
            data = json.loads(text)
            if data["format"] > FORMAT:
                raise StorageError(
                    f"the study was refused: it was written by a newer bestk (format"
                    f" {data['format']}, this one reads {FORMAT})"
                )
            return cls(
                tuple(_frozen(name) for name in data["arms"]),
                Problem.from_dict(data["problem"]),
                data["seed"],
                data["lease"],
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise StorageError(f"the study's specification cannot be read: {error!r}") from error

    def check_given(
        self,
        labels: tuple[Hashable, ...] | None,
        k: int | None,
        decision: DecisionClass | None,
        settings: Mapping[str, Any],
        seed: int | None,
        lease: float | None,
    ) -> None:
        """Refuse to go on with other arms or another problem than the study was begun with."""
        if labels is not None and self.labels != labels:
            raise InputError(
                f"the arms were refused: the study has {len(self.labels)} arms that differ from the"
                f" {len(labels)} given; open it without arms, or under another name"
            )
        own: dict[str, Any] = {
            **{key: getattr(self.problem, key) for key in settings},
            "k": getattr(self.problem.decision, "k", None),
            "decision": self.problem.decision.to_dict(),
            "seed": self.seed,
            "lease": self.lease,
        }
        given = dict(settings)
        given |= {"k": k, "seed": seed, "lease": lease}
        given["decision"] = None if decision is None else decision.to_dict()
        for key, value in given.items():
            if value is not None and value != own[key]:
                raise InputError(
                    f"{key}={value} was refused: the study was begun with {own[key]}, and the"
                    " guarantee holds for what was fixed before the data"
                )


def specify(
    arms: Iterable[Hashable] | None,
    k: int | None,
    decision: DecisionClass | None,
    settings: Mapping[str, Any],
    seed: int,
    lease: float | None,
) -> Specification:
    """Check what the user gave."""
    if (k is None) == (decision is None):
        raise InputError("give either k, how many of the arms are wanted, or a decision class")
    if arms is None:
        if decision is None:
            raise InputError("the arms are missing: which options are there?")
        arms = decision.names
    labels = tuple(label(name, "arm") for name in arms)
    if len(set(labels)) < len(labels):
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InputError(
            f"arm {twice!r} was refused: it is listed twice, and an arm never differs from itself"
        )
    if decision is None:
        decision = TopK(len(labels), k if k is not None else 0)
    elif decision.n_arms != len(labels):
        raise InputError(
            f"{len(labels)} arms were refused: the class {decision.kind} has {decision.n_arms}"
        )
    if lease is not None and not lease > 0:
        raise InputError(f"lease={lease} was refused: it must be a positive number of seconds")
    return Specification(labels, Problem(decision, **settings), seed, lease)


def _frozen(name: Any) -> Hashable:
    return tuple(_frozen(part) for part in name) if isinstance(name, list) else name
