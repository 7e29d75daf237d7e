"""The K best models, or tasks, of Inspect (inspect_ai) on the samples of one dataset.

Inspect lets code feed a running task with samples (`SampleSource`) and hear how each one ended.
Every arm is such a task, all of them in one `eval`: the study says which arm gets which sample
next, each arm in its own random order, and ends them all when the answer is certain. Inspect never
chooses a sample, nor skips one: the proof needs that (docs/evaluation.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bestk.arguments import count, require_function
from bestk.errors import InputError, UnknownName
from bestk.rewards import Bounded
from bestk.storage import Storage
from bestk.study import Evaluation, Study
from bestk.study.evaluation import ON_FAIL
from bestk.study.runner import Progress
from bestk.study.specification import Costs

try:
    from bestk.inspect.comparison import Comparison, Feed
    from bestk.inspect.given import read_arms, read_items, read_samples, require_plain
    from bestk.inspect.scores import Reader, Value
except ImportError as error:
    raise ImportError(
        f"bestk.inspect needs inspect_ai 0.3.268 or newer ({error}): pip install 'bestk[inspect]'"
    ) from error

OURS = {  # options of `eval` that say what runs: the study does
    "tasks", "model", "limit", "sample_id", "sample_shuffle", "epochs", "max_tasks", "score",
    "fail_on_error", "continue_on_fail", "score_on_error", "retry_on_error", "run_samples",
}  # fmt: skip


def compare(
    tasks: Any,
    models: Any = None,
    *,
    k: int,
    delta: float = 0.05,
    epsilon: float = 0.0,
    target: str = "items",
    scorer: str | None = None,
    value: Value | None = None,
    low: float = 0.0,
    high: float = 1.0,
    maximize: bool = True,
    params: Mapping[str, Any] | None = None,
    costs: Costs | None = None,
    on_fail: str = "low",
    parallel: int = 10,
    budget: int | None = None,
    retries: int = 0,
    storage: Storage | str | os.PathLike[str] | None = None,
    name: str = "compare",
    seed: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Find the k best models (or tasks) by their mean score over all samples of the dataset.

    `tasks` is an Inspect task, or a list of tasks over the same samples (ids and targets), and
    `models` a model or a list of them, by name or as `Model`; None: each task's own. Arms are named
    after what there are several of; where names are not unique give a mapping from labels. With
    several of both, arms are pairs (task, model).

    About `parallel` samples run at a time, over all arms. `scorer` names the score that counts if
    there are several, `value` makes a number from `low` to `high` of its value (by default
    Inspect's `value_to_float`). With epochs a score is the mean over them. A sample that ends with
    an error is run `retries` times more, then counts as the worst score, or ends the run
    (`on_fail="stop"`). `options` go to `inspect_ai.eval` (`log_dir`, `display`, limits of a
    sample); its logs, one for each arm, have the name of the arm in their metadata.

    The other arguments, the result and its guarantee are those of `bestk.evaluate`.
    """
    if taken := sorted(OURS & set(options)):
        raise InputError(
            f"{taken[0]} was refused: the study decides which samples run, and how often"
        )
    if on_fail not in ON_FAIL:
        raise UnknownName("on_fail", on_fail, ON_FAIL)
    for function, called in ((value, "value"), (progress, "progress")):
        if function is not None:
            require_function(function, called)
    parallel, retries = count(parallel, "parallel", 1), count(retries, "retries", 0)
    budget = None if budget is None else count(budget, "budget", 0)
    arms = read_arms(tasks, models)
    for task, _ in arms.values():
        require_plain(task, scorer)
    samples = {label: read_samples(task) for label, (task, _) in arms.items()}
    reader = Reader(scorer, value)
    comparison = Comparison(
        Study(
            name, arms, k=k, delta=delta, epsilon=epsilon, rewards=Bounded(low, high),
            maximize=maximize, params=params, storage=storage, seed=seed, items=read_items(samples),
            target=target, costs=costs,
        ),
        parallel, budget, on_fail == "stop", progress,
    )  # fmt: skip
    for label, (task, model) in arms.items():
        comparison.add(label, Feed(comparison, task, model, samples[label], reader))
    try:
        return comparison.run(retries, options)
    finally:
        comparison.close()
