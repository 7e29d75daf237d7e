"""What a study is about, as the first event of its log holds it."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
from bestk.rewards import Bounded
from bestk.study.items import ItemSet
from bestk.study.stepped import Stepped

FORMAT = 2  # of the specification; a newer one is refused
OF_ITEMS = 3  # that of an evaluation, which older versions must not take for a study of samples
ORDERS = ("asked", "told")  # in which observations count; the second is that of version 0.1
LOST = ("skip", "worst")  # what a pull without a value counts as
DEFAULTS: dict[str, Any] = {"rewards": Bounded(), "delta": 0.05}  # of a study's problem
Costs = Mapping[Any, float] | Iterable[float]  # of a pull: by arm, or in the order of the arms


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
    items: ItemSet | None = None  # of an evaluation

    @property
    def worst_reward(self) -> float | None:
        """The lowest reward there is, the highest where these are costs; None without a range."""
        end = getattr(self.problem.rewards, "low" if self.problem.maximize else "high", None)
        return None if end is None else float(end)

    def refuse_in_evaluation(self, what: str) -> None:
        """Refuse `what` where every score has to count."""
        if self.items is not None:
            raise InputError(
                f"{what} was refused: every arm scores the items in an order that was drawn before,"
                " and no score may be chosen or skipped; tell it, or let it fail"
            )

    def refuse_from_elsewhere(self) -> None:
        """Refuse an observation that nobody asked for, where none may be."""
        self.refuse_in_evaluation("an observation from elsewhere")
        if self.problem.judge is not None:
            raise InputError(
                f"an observation from elsewhere was refused: {self.problem.policy}, a policy in"
                " Python, is told what it asked for and nothing else"
            )

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
        rest = {key: getattr(self, key) for key in ("seed", "lease", "max_arms", "lost", "order")}
        arms, problem = [thaw(name) for name in self.labels], self.problem.to_dict()
        if self.items is not None:
            rest["items"] = self.items.to_dict()
        format_ = FORMAT if self.items is None else OF_ITEMS
        return json.dumps({"format": format_, "arms": arms, "problem": problem, **rest})

    @classmethod
    def from_json(cls, text: str) -> Specification:
        """Read it back."""
        try:
            data = json.loads(text)
            if data["format"] > OF_ITEMS:
                raise StorageError(
                    f"the study was refused: it was written by a newer bestk (format"
                    f" {data['format']}, this one reads {OF_ITEMS})"
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
                None if data.get("items") is None else ItemSet.from_dict(data["items"]),
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
        decision: DecisionClass | None,
        settings: Mapping[str, Any],
        rest: Mapping[str, Any],
    ) -> None:
        """Refuse to go on with other arms or another problem than the study was begun with."""
        if labels is not None and self.labels != labels:
            raise InputError(
                f"the arms were refused: the study has {len(self.labels)} arms that differ from the"
                f" {len(labels)} given; open it without arms, or give name= to begin another study"
            )
        own = {key: getattr(self.problem, key) for key in settings} | {
            key: getattr(self.problem.decision if key == "k" else self, key, None) for key in rest
        }
        if STOP not in (settings.get("params") or {}) and isinstance(own.get("params"), Mapping):
            own["params"] = {key: each for key, each in own["params"].items() if key != STOP}
        asked = {**settings, **rest}
        if "costs" in asked:
            asked["costs"] = read_costs(asked["costs"], self.labels)
        if decision is not None and decision is not self.problem.decision:
            require_decision(decision)
            asked["decision"], own["decision"] = decision.to_dict(), self.problem.decision.to_dict()
        for key, value in asked.items():
            if not _is_same(plain(value), plain(own[key])):
                given_as = value if isinstance(value, str) else shown(value)
                raise InputError(
                    f"{key}={given_as} was refused: the study was begun with {own[key]}, and"
                    " the guarantee holds for what was fixed before the data"
                )


def _is_same(one: Any, other: Any) -> bool:
    return bool(one == other or (as_float(one) is not None and as_float(one) == as_float(other)))


def read_costs(costs: object, labels: Sequence[Hashable]) -> tuple[Any, ...]:
    """What a pull of each arm costs, in the order of the arms, from a mapping or a sequence."""
    if isinstance(costs, Mapping):
        named = {label(arm, "arm"): cost for arm, cost in costs.items()}
        if named.keys() != set(labels):
            odd = sorted(map(repr, named.keys() ^ set(labels)))[0]
            raise InputError(
                f"costs were refused: arm {odd} is an arm without a cost, or a cost without an arm"
            )
        return tuple(named[arm] for arm in labels)
    if isinstance(costs, str) or not isinstance(costs, Iterable):
        raise InputError(
            f"costs={shown(costs)} were refused: give a positive number for each arm, as a mapping"
            " from arms or in their order"
        )
    return tuple(costs)


def given(**values: Any) -> dict[str, Any]:
    """Of some arguments those that were given."""
    return {key: value for key, value in values.items() if value is not None}


def _of_items(items: ItemSet, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What an evaluation adds to the problem.

    If the items are a sample of a population, whose means are wanted, other arms tell whether the
    sample is an easy one: each arm's own scores alone may be used, and the split stop.
    """
    if items.target == "items":
        return {"items": items.count}
    return {"params": {**settings.get("params", {}), "independent": False}}


def specify(
    labels: tuple[Hashable, ...] | None,
    decision: DecisionClass | None,
    settings: Mapping[str, Any],
    k: int | None = None,
    seed: int | None = None,
    lease: float | None = None,
    max_arms: int | None = None,
    lost: str = "skip",
    items: ItemSet | None = None,
) -> Specification:
    """Check what the user gave."""
    if items is not None:
        settings = {**settings, **_of_items(items, settings)}
        if lease is not None or lost != "skip":
            raise InputError(
                "a lease and lost='worst' were refused: in an evaluation no score is given up, and"
                " one that fails counts as the worst there is"
            )
    if string(lost, "lost") not in LOST:
        raise UnknownName("lost", lost, LOST)
    if (k is None) == (decision is None):
        raise InputError("give either k, how many of the arms are wanted, or a decision class")
    if decision is not None:
        require_decision(decision)
        if labels is None:
            labels = tuple(label(name, "arm") for name in decision.names)
    if labels is None:
        raise InputError("the arms are missing: which options are there?")
    if len(set(labels)) < len(labels):
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InputError(
            f"arm {twice!r} was refused: it is listed twice, and an arm never differs from itself"
        )
    if decision is None:
        decision = TopK(len(labels), 0 if k is None else k)
    elif decision.n_arms != len(labels):
        raise InputError(
            f"{len(labels)} arms were refused: the class {decision.kind} has {decision.n_arms}"
        )
    if "costs" in settings:
        settings = {**settings, "costs": read_costs(settings["costs"], labels)}
    seed = secrets.randbits(48) if seed is None else integer(seed, "seed")
    lease = None if lease is None else duration(lease, "lease")
    if lease == math.inf:
        raise InputError("lease=inf was refused: leave it out, and no pull expires")
    max_arms = None if max_arms is None else integer(max_arms, "max_arms")
    problem = Problem(decision, **{**DEFAULTS, **settings})
    made = Specification(labels, problem, seed, lease, max_arms, lost, items=items)
    _, configured = made.configure(len(labels))  # refuses what cannot be an open study
    if configured.judge is not None and items is not None:
        raise InputError(
            f"items were refused: {problem.policy}, a policy in Python, cannot use them"
        )
    if isinstance(configured.policy.python, str):  # one of ours
        Stepped(configured, problem, made.seed)  # refuses what it cannot start with
    if lost == "worst" and not configured.bets:
        raise InputError(
            f"lost='worst' was refused: a lost reward has a worst value only if rewards have a"
            f" range, and {problem.policy} can count it only where it bets on them: use Ratings or"
            " Bounded rewards with e-lucb or e-clucb, or lost='skip'"
        )
    return made
