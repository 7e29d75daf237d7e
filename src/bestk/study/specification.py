"""What a study is about, as the first event of its log holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bestk.arguments import as_float, duration, integer, shown, string
from bestk.decisions import DecisionClass, TopK
from bestk.decisions.base import require_decision
from bestk.decisions.labels import freeze, label, thaw
from bestk.errors import BestkError, InputError, StorageError, UnknownName
from bestk.policies import Configured
from bestk.policies.catalogue import STOP
from bestk.problem import Problem, plain

FORMAT = 2  # of the specification; a newer one is refused
ORDERS = ("asked", "told")  # in which observations count; the second is that of version 0.1
LOST = ("skip", "worst")  # what a pull without a value counts as


@dataclass(frozen=True)
class Specification:
    """Labels, problem, seed and lease of a study; `max_arms` where arms may come and go.

    The labels and the decision class are those it was begun with. `order` and `lost` say which
    observations count when (docs/studies.md, "The order of answers").
    """

    labels: tuple[Hashable, ...]
    problem: Problem
    seed: int
    lease: float | None = None
    max_arms: int | None = None
    lost: str = "skip"
    order: str = "asked"

    @property
    def orders_by_arm(self) -> bool:
        """Whether an observation waits for earlier pulls of its own arm alone.

        Theorem 5 has no product of two arms' evidence, so that each arm has an order of its own,
        and one that leaves holds nobody up.
        """
        return self.max_arms is not None

    def require_max_arms(self, arm: Hashable) -> int:
        """How many arms there may ever be; refuses a change of arms where they are fixed."""
        if self.max_arms is None:
            raise InputError(
                f"changing the arms was refused ({shown(arm)}): the study is closed, its levels"
                " were split over the arms it was begun with; one made with max_arms=M may change"
            )
        return self.max_arms

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
                "lost": self.lost,
                "order": self.order,
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
            is_old = data["format"] < 2
            read = cls(
                freeze(data["arms"]),
                Problem.from_dict(data["problem"]),
                data["seed"],
                data["lease"],
                data.get("max_arms"),
                "skip" if is_old else data["lost"],
                "told" if is_old else data["order"],
            )
            if read.order not in ORDERS or read.lost not in LOST:
                raise KeyError(f"order {read.order}, lost {read.lost}")
            return read
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
        lost: str | None,
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
            "seed": self.seed,
            "lease": self.lease,
            "max_arms": self.max_arms,
            "lost": self.lost,
        }
        if STOP not in (settings.get("params") or {}) and isinstance(own.get("params"), Mapping):
            own["params"] = {key: each for key, each in own["params"].items() if key != STOP}
        given = dict(settings)
        given |= {"k": k, "seed": seed, "lease": lease, "max_arms": max_arms, "lost": lost}
        if decision is not None and decision is not self.problem.decision:
            require_decision(decision)
            given["decision"], own["decision"] = (
                each.to_dict() for each in (decision, self.problem.decision)
            )
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
    lost: str = "skip",
) -> Specification:
    """Check what the user gave."""
    if string(lost, "lost") not in LOST:
        raise UnknownName("lost", lost, LOST)
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
    made = Specification(labels, Problem(decision, **settings), seed, lease, max_arms, lost)
    _, configured = made.configure(len(labels))  # refuses what cannot be an open study
    if lost == "worst" and not configured.bets:
        raise InputError(
            f"lost='worst' was refused: a lost reward has a worst value only if rewards have a"
            f" range, and {made.problem.policy} can count it only where it bets on them: use"
            " Ratings or Bounded rewards with e-lucb or e-clucb, or lost='skip'"
        )
    return made
