"""The K best arms on a fixed set of items: `evaluate`, and what it gives back."""

from __future__ import annotations

import inspect
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from bestk.arguments import count, require_function
from bestk.errors import InputError, UnknownName
from bestk.rewards import Bounded
from bestk.storage import Storage
from bestk.study.calls import required
from bestk.study.extras import add_numbers, split
from bestk.study.hosting import hosted
from bestk.study.identification import how_to_resume, open_or_connect
from bestk.study.live import shown
from bestk.study.pulls import Pull
from bestk.study.result import Result
from bestk.study.runner import BACKOFF, RETRIES, AnyStudy, Progress, Runner
from bestk.study.specification import Costs

Score = Callable[..., Any]  # arm, item -> a number, or a coroutine that gives one
ON_FAIL = ("low", "stop")


@dataclass(frozen=True)
class Cell:
    """One score of the table: of an arm on the item at a position, the order-th that counted."""

    arm: Hashable
    position: int
    item: Any
    score: float
    order: int
    extra: Any = None  #: what the scorer returned beside the score


@dataclass(frozen=True)
class Evaluation(Result):
    """The result of an evaluation, with the part of the table that was scored."""

    items: int = 0  #: how many items there are
    cells: tuple[Cell, ...] = ()  #: in the order in which they count

    @property
    def table(self) -> int:
        """Cells of the whole table."""
        return self.items * len(self.arms)

    @property
    def share(self) -> float:
        """Of the whole table that was scored."""
        return self.samples / self.table

    def to_dict(self) -> dict[str, Any]:
        """As of any result, with how much of the table was scored."""
        found = super().to_dict()
        found.pop("cells", None)
        return {**found, "items": self.items, "table": self.table, "share": self.share}

    def __str__(self) -> str:
        scored = f"{self.samples:,} of {self.table:,} evaluations ({100 * self.share:.1f}%)"
        return f"{super().__str__()}\n{scored}"


def summarise(study: AnyStudy, result: Result) -> Evaluation:
    """The result of a study with items, as an evaluation."""
    assert study.specification.items is not None
    plain = {field.name: getattr(result, field.name) for field in fields(Result)}
    return Evaluation(**plain, items=study.specification.items.count, cells=tuple(cells(study)))


def cells(study: AnyStudy) -> Iterable[Cell]:
    """The scores that count, in order."""
    beside = {(arm, position): extra for arm, position, extra in study.beside()}
    for order, (arm, position, score) in enumerate(study.scored):
        item = None if study.items is None else study.items[position]
        yield Cell(study.arms[arm], position, item, score, order, beside.get((arm, position)))


def _mean_of(values: list[Any]) -> Any:
    """The mean score; beside it, if anything came beside the scores, sums of numbers, and all."""
    scores, extras = zip(*map(split, values), strict=True)
    mean = sum(map(float, scores)) / len(scores)
    if all(extra is None for extra in extras):
        return mean
    totals: defaultdict[str, float] = defaultdict(int)
    for extra in extras:
        add_numbers(totals, extra)
    return mean, {**totals, "repeats": list(extras)}


async def _awaited_mean(values: list[Any]) -> Any:
    return _mean_of([await value for value in values])


def _repeated(score: Score, repeats: int, arm: Any, item: Any) -> Any:
    """The mean of several scores of one cell, fixed in advance: a cell is never scored anew."""
    return _mean_over([score(arm, item) for _ in range(repeats)])


def _repeated_pull(score: Score, repeats: int, arm: Any, item: Any, pull: Pull) -> Any:
    """The same of a scorer that wants to know its pull."""
    return _mean_over([score(arm, item, pull) for _ in range(repeats)])


def repeated(score: Score, repeats: int) -> Score:
    """A scorer that is called so often for each cell, the mean of which counts."""
    repeats = count(repeats, "repeats", 1)
    again = _repeated_pull if required(score) == 3 else _repeated
    return score if repeats == 1 else partial(again, score, repeats)


def _mean_over(values: list[Any]) -> Any:
    return _awaited_mean(values) if inspect.isawaitable(values[0]) else _mean_of(values)


def evaluate(
    arms: Iterable[Hashable],
    items: Iterable[Any],
    score: Score,
    *,
    k: int,
    delta: float = 0.05,
    epsilon: float = 0.0,
    target: str = "items",
    history: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    maximize: bool = True,
    params: Mapping[str, Any] | None = None,
    costs: Costs | None = None,
    repeats: int = 1,
    on_fail: str = "low",
    executor: Executor | None = None,
    parallel: int = 1,
    budget: int | None = None,
    seconds: float | None = None,
    timeout: float | None = None,
    cost: float | None = None,
    retries: int = RETRIES,
    backoff: float = BACKOFF,
    rate: float | str | None = None,
    storage: Storage | str | os.PathLike[str] | None = None,
    name: str = "evaluate",
    seed: int | None = None,
    progress: Progress | bool | None = None,
) -> Evaluation:
    """Find the k arms with the best mean score over these items, scoring as few cells as possible.

    `score(arm, item)` returns a number from `low` to `high`, or a coroutine that gives one; with
    `repeats` it is called that many times for each cell and the mean counts. Every arm scores the
    items in a random order of its own, each at most once, and with probability at least 1 - delta
    every answered arm has a mean over all items within epsilon of the k-th best
    (docs/evaluation.md, Theorem 1). With `target="population"` the items are a sample of all that
    there could be, and the means over that population are compared, which takes more scores and
    may end without a certificate. The other arguments are those of `identify`.

    `history` holds known scores of *other* arms on these items: a table with one row per arm, NaN
    where a score is unknown. They show which items are hard, which saves scores; the guarantee
    does not depend on them.

    The scorer may return `(score, extra)`, and take a third argument, the pull. A call that fails
    is retried up to `retries` times, with growing pauses. After that its cell counts as the worst
    score (`on_fail="low"`; the result says how many), or the run ends with `ArmFailedError`
    (`"stop"`).
    """
    require_function(score, "score")  # before a file is made
    if on_fail not in ON_FAIL:
        raise UnknownName("on_fail", on_fail, ON_FAIL)
    count(repeats, "repeats", 1)
    if isinstance(items, str):
        raise InputError("items were refused: a text is not a list of items")
    study = open_or_connect(
        name, arms, storage, k=k, delta=delta, epsilon=epsilon, rewards=Bounded(low, high),
        maximize=maximize, params=params, seed=seed, items=items, target=target,
        history=history, costs=costs,
    )  # fmt: skip
    runner = Runner(
        study, repeated(score, repeats), executor=executor, parallel=parallel, budget=budget,
        seconds=seconds, cost=cost, timeout=timeout, retries=retries, backoff=backoff, rate=rate,
        on_fail=on_fail, resume=how_to_resume(storage, "evaluation"),
    )  # fmt: skip
    with shown(runner, progress):
        return summarise(study, runner.run())


aevaluate = hosted(evaluate)
