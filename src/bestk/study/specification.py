"""What a study is about, as the first event of its log holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bestk.arguments import as_float, duration, integer, shown
from bestk.decisions import DecisionClass, TopK
from bestk.decisions.base import require_decision
from bestk.decisions.labels import freeze, label, thaw
from bestk.errors import BestkError, InputError, StorageError
from bestk.policies import Configured
from bestk.problem import Problem, plain

FORMAT = 1  # of the specification; a newer one is refused


@dataclass(frozen=True)
class Specification:
    """Labels, problem, seed and lease of a study; `max_arms` where arms may come and go.

    The labels and the decision class are those it was begun with.
    """

    labels: tuple[Hashable, ...]
    problem: Problem
    seed: int
    lease: float | None = None
    max_arms: int | None = None

    def configure(self, n_arms: int) -> tuple[DecisionClass, Configured]:
        """What may be answered, and the policy, while there are so many arms."""
        problem = self.problem
        if isinstance(problem.decision, TopK) and n_arms != problem.decision.n_arms:
            problem = replace(problem, decision=TopK(n_arms, problem.decision.k))
        return problem.decision, problem.configure(self.seed, self.max_arms)

    def to_json(self) -> str:
        """What the log holds; refuses labels that a file cannot hold."""
        return json.dumps(
            {
                "format": FORMAT,
                "arms": [thaw(name) for name in self.labels],
                "problem": self.problem.to_dict(),
                "seed": self.seed,
                "lease": self.lease,
                "max_arms": self.max_arms,
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
                freeze(data["arms"]),
                Problem.from_dict(data["problem"]),
                data["seed"],
                data["lease"],
                data.get("max_arms"),
            )
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            if isinstance(error, BestkError):
                raise
            raise StorageError(f"the study's specification cannot be read: {error!r}") from error

    def check_given(
        self,
        labels: tuple[Hashable, ...] | None,
        k: int | None,
        decision: DecisionClass | None,
        settings: Mapping[str, Any],
        seed: int | None,
        lease: float | None,
        max_arms: int | None,
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
            "max_arms": self.max_arms,
        }
        given = dict(settings)
        given |= {"k": k, "seed": seed, "lease": lease, "max_arms": max_arms}
        if decision is not None:
            require_decision(decision)
        given["decision"] = None if decision is None else decision.to_dict()
        for key, value in given.items():
            if value is not None and not _is_same(plain(value), plain(own[key])):
                given_as = value if isinstance(value, str) else shown(value)
                raise InputError(
                    f"{key}={given_as} was refused: the study was begun with {own[key]}, and"
                    " the guarantee holds for what was fixed before the data"
                )


def _is_same(given: Any, own: Any) -> bool:
    return bool(given == own or (as_float(given) is not None and as_float(given) == as_float(own)))


def specify(
    arms: Iterable[Hashable] | None,
    k: int | None,
    decision: DecisionClass | None,
    settings: Mapping[str, Any],
    seed: int,
    lease: float | None,
    max_arms: int | None,
) -> Specification:
    """Check what the user gave."""
    if (k is None) == (decision is None):
        raise InputError("give either k, how many of the arms are wanted, or a decision class")
    if decision is not None:
        require_decision(decision)
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
    seed = integer(seed, "seed")
    lease = None if lease is None else duration(lease, "lease")
    if lease == math.inf:
        raise InputError("lease=inf was refused: leave it out, and no pull lapses")
    max_arms = None if max_arms is None else integer(max_arms, "max_arms")
    made = Specification(labels, Problem(decision, **settings), seed, lease, max_arms)
    made.configure(len(labels))  # refuses what cannot be an open study
    return made
