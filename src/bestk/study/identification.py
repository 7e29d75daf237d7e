"""`identify` and `aidentify`: the best arms by calling a function until they are certain."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

from bestk.arguments import require_function
from bestk.client import is_server
from bestk.decisions import DecisionClass
from bestk.policies.budgets import spend
from bestk.rewards import Rewards
from bestk.storage import Storage
from bestk.storage.addresses import read_address
from bestk.study.calls import Measure
from bestk.study.hosting import hosted
from bestk.study.live import shown
from bestk.study.remote import connect
from bestk.study.result import Result
from bestk.study.runner import BACKOFF, RETRIES, AnyStudy, Progress, Runner
from bestk.study.specification import Costs
from bestk.study.study import Study


def identify(
    arms: Iterable[Hashable],
    pull: Measure,
    *,
    k: int | None = None,
    decision: DecisionClass | None = None,
    delta: float = 0.05,
    epsilon: float = 0.0,
    rewards: Rewards | None = None,
    maximize: bool = True,
    policy: str | None = None,
    variant: str | None = None,
    params: Mapping[str, Any] | None = None,
    costs: Costs | None = None,
    executor: Executor | None = None,
    parallel: int = 1,
    budget: int | None = None,
    seconds: float | None = None,
    cost: float | None = None,
    timeout: float | None = None,
    retries: int = RETRIES,
    backoff: float = BACKOFF,
    rate: float | str | None = None,
    on_fail: str = "stop",
    storage: Storage | str | os.PathLike[str] | None = None,
    name: str = "identify",
    seed: int | None = None,
    lease: float | None = None,
    max_arms: int | None = None,
    lost: str | None = None,
    progress: Progress | bool | None = None,
) -> Result:
    """Find the best arms by calling `pull(arm)`, which returns one noisy reward.

    `pull` may be a coroutine function; all its calls share one event loop. It may return
    `(reward, extra)`, where extra is JSON that is kept with the reward (a transcript, tokens,
    costs), and may take `(arm, pull)`, where `pull.index` is the pull's number. Up to `parallel`
    calls run at once, by default in threads, or on `executor` (any `concurrent.futures.Executor`),
    at most `rate` per second (or "600/min"); an endpoint that answers 429 slows down all calls.

    A call has failed if it raises, takes longer than `timeout` seconds or does not return a valid
    reward. The pull is retried up to `retries` times, after `backoff` seconds and twice as long
    each time, or as long as the exception's Retry-After says. After that the run ends with
    `ArmFailedError` (`on_fail="stop"`), the arm leaves (`"withdraw"`, in a study with `max_arms`),
    or the pull counts as the lowest reward (`"low"`, if rewards have a range).

    `costs` says what pulls cost, by arm or in the order of the arms: cheap arms are pulled more
    often. The run ends without a certificate after `budget` pulls, after `seconds`, or when the
    numbers `extra["cost"]` add up to `cost` (if pulls return none, the `costs` do). A fixed-budget
    policy spends `budget` pulls and stops by itself. With `storage` (a file name, a database
    address, or the address of a `bestk serve`: `http://HOST:PORT`, with its token in BESTK_TOKEN)
    the same call resumes a run that ended early. If several processes share the study, set a
    `lease` longer than a pull takes. `progress` is called after every reward; True and False turn
    the display on and off, which by default is shown on terminals and in notebooks.

    Rewards count in the order asked, so how long a pull takes may depend on its reward. Whether it
    fails may not, unless `lost="worst"` (docs/studies.md, "The order of answers").
    """
    require_function(pull, "pull")  # before a file is made
    params, budget = spend(policy, params, budget)
    study = open_or_connect(
        name, arms, storage, k=k, decision=decision, delta=delta, epsilon=epsilon, rewards=rewards,
        maximize=maximize, policy=policy, variant=variant, params=params,
        seed=seed, lease=lease, max_arms=max_arms, lost=lost, costs=costs,
    )  # fmt: skip
    runner = Runner(
        study, pull, executor=executor, parallel=parallel, budget=budget, seconds=seconds,
        cost=cost, timeout=timeout, retries=retries, backoff=backoff, rate=rate, on_fail=on_fail,
        resume=how_to_resume(storage),
    )  # fmt: skip
    with shown(runner, progress):
        return runner.run()


def open_or_connect(
    name: str,
    arms: Iterable[Hashable],
    storage: Storage | str | os.PathLike[str] | None,
    **settings: Any,
) -> AnyStudy:
    """A study in a storage, or that of a server whose address is given in its place."""
    if isinstance(storage, str) and is_server(storage):
        return connect(storage).study(name, arms, **settings)
    return Study(name, arms, storage=storage, **settings)


def how_to_resume(storage: Storage | str | os.PathLike[str] | None, what: str = "study") -> str:
    """What an error says of how to go on after it."""
    if storage is None:
        return (
            f"the {what} was in memory alone: with storage='{what}.db' the same call would go on"
            " where it was cut short"
        )
    where = ""
    if isinstance(storage, str | os.PathLike):
        shown = storage if is_server(storage) else read_address(storage)
        where = f"={os.fspath(shown)!r}"
    return (
        f"all answers so far are kept, and the {what} can be resumed by the same call, with the"
        f" same storage{where}"
    )


aidentify = hosted(identify)
