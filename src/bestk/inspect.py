"""The K best models, or tasks, of Inspect (inspect_ai) on the samples of one dataset.

Inspect lets code feed a running task with samples (`SampleSource`) and hear how each one ended.
Every arm is such a task, all of them in one `eval`: the study says which arm gets which sample
next, each arm in its own random order, and ends them all when the answer is certain. Inspect never
chooses a sample, nor skips one: the proof needs that (docs/evaluation.md).
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any

from bestk.arguments import as_float, count, require_function, shown
from bestk.errors import ArmFailedError, InputError, UnknownName
from bestk.rewards import Bounded
from bestk.storage import Storage
from bestk.study import Evaluation, Pull, Study
from bestk.study.evaluation import ON_FAIL, summarise
from bestk.study.result import Stopped
from bestk.study.runner import Progress

try:
    import anyio
    from inspect_ai import SampleSource, Task, TaskSource, enqueue_sample, eval, task_with
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, value_to_float
except ImportError as error:
    raise ImportError(
        f"bestk.inspect needs inspect_ai 0.3.268 or newer ({error}): pip install 'bestk[inspect]'"
    ) from error

ARM = "bestk_arm"  # in the metadata of a log: which arm it is of
OURS = {  # options of `eval` that say what runs: the study does
    "tasks", "model", "limit", "sample_id", "sample_shuffle", "epochs", "max_tasks", "score",
    "fail_on_error", "continue_on_fail", "score_on_error", "retry_on_error", "run_samples",
}  # fmt: skip
WORDS = (CORRECT, INCORRECT, PARTIAL, NOANSWER)  # "C", "I", "P", "N": 1, 0, 0.5, 0
TRUTHS = ("yes", "no", "true", "false")
Value = Callable[[Any], float]


def compare(
    tasks: Any,
    models: Any = None,
    *,
    k: int,
    delta: float = 0.05,
    epsilon: float = 0.0,
    scorer: str | None = None,
    value: Value | None = None,
    low: float = 0.0,
    high: float = 1.0,
    maximize: bool = True,
    params: Mapping[str, Any] | None = None,
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
        raise InputError(f"{taken[0]} was refused: which samples run, and how often, is the study's")
    if on_fail not in ON_FAIL:
        raise UnknownName("on_fail", on_fail, ON_FAIL)
    for function, called in ((value, "value"), (progress, "progress")):
        if function is not None:
            require_function(function, called)
    parallel, retries = count(parallel, "parallel", 1), count(retries, "retries", 0)
    budget = None if budget is None else count(budget, "budget", 0)
    arms = _arms(tasks, models)
    for task, _ in arms.values():
        _require_plain(task, scorer)
    samples = {label: _samples(task) for label, (task, _) in arms.items()}
    items = _items(samples)
    study = Study(
        name, arms, k=k, delta=delta, epsilon=epsilon, rewards=Bounded(low, high),
        maximize=maximize, params=params, storage=storage, seed=seed, items=items,
    )  # fmt: skip
    comparison = Comparison(study, parallel, budget, on_fail == "stop", progress)
    for label, (task, model) in arms.items():
        comparison.add(label, Feed(comparison, task, model, samples[label], scorer, value))
    try:
        return summarise(study, comparison.run(retries, options))
    finally:
        comparison.close()


class Comparison:
    """A study whose pulls are samples of running tasks."""

    def __init__(
        self, study: Study, parallel: int, budget: int | None, stops: bool,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.study, self.parallel, self.budget, self._stops = study, parallel, budget, stops
        self.has_ended = False
        self._progress = progress
        self._feeds: dict[Hashable, Feed] = {}
        self._trouble: Exception | None = None
        self._is_interrupted = False

    def add(self, label: Hashable, feed: Feed) -> None:
        """One arm more."""
        self._feeds[label] = feed

    def run(self, retries: int, options: Mapping[str, Any]) -> Any:
        """Until the rule stops, the budget is spent, or an interrupt: the result."""
        study, ended = self.study, None
        self.fill()
        try:
            if not self.has_ended:
                tasks = [feed.task(label) for label, feed in self._feeds.items()]
                source = TaskSource.from_tasks(tasks, task_complete=self._task_complete)
                # all arms at once: one that had not begun could not be given samples
                eval(
                    source, model=None, max_tasks=len(tasks), fail_on_error=False,
                    retry_on_error=retries or None, **options,
                )  # fmt: skip
        except KeyboardInterrupt:
            self._is_interrupted = True
        finally:
            self.has_ended = True
            study.release(pull for feed in self._feeds.values() for pull in feed.open)
        if self._trouble is not None:
            raise self._trouble
        if not study.check():
            ended = _reason(self._is_interrupted)
        return study.summary(ended)

    def fill(self) -> None:
        """Hand out pulls until enough are under way; if none is, that was all."""
        study = self.study
        under_way = sum(len(feed.open) for feed in self._feeds.values())
        while not self.has_ended and under_way < self.parallel:
            if self.budget is not None and study.samples + under_way >= self.budget:
                break
            pulls = study.ask(1)
            if not pulls:
                break
            self._feeds[pulls[0].arm].start(pulls[0])
            under_way += 1
        if study.is_stopped or not under_way:
            self.end()

    def end(self, trouble: Exception | None = None) -> None:
        """No more samples; those that run are finished, and counted."""
        self._trouble = self._trouble or trouble
        self.has_ended = True
        for feed in self._feeds.values():
            feed.wake()

    def tell(self, pull: Pull, score: float) -> None:
        """The score of a sample; one out of range ends the run."""
        try:
            self.study.tell(pull, score)
        except InputError as error:
            raise ArmFailedError(
                f"arm {pull.arm!r} broke the assumption on item {pull.position}: {error}. All"
                " scores so far are kept"
            ) from error
        if self._progress is not None:
            self._progress(self.study)

    def fail(self, pull: Pull, why: str) -> None:
        """A sample that came to nothing: the worst score, or the end."""
        if self._stops:
            self.study.release([pull])
            raise ArmFailedError(
                f"arm {pull.arm!r} failed on item {pull.position} with {why}; all scores so far are"
                " kept, and the comparison can be resumed"
            )
        self.study.fail(pull, why)

    async def _task_complete(self, log: Any) -> None:
        """A task has ended; if not because it was told to, the others would wait for it for ever."""
        if self.has_ended:
            return
        if log.status == "error":
            why = "an error" if log.error is None else log.error.message
            arm = (log.eval.metadata or {}).get(ARM)
            self.end(ArmFailedError(f"the task of arm {arm!r} ended with {why}"))
        else:
            self._is_interrupted = True
            self.end()

    def close(self) -> None:
        """Let go of the study: Inspect may keep its tasks, and whoever resumes must not wait."""
        self._feeds.clear()
        self._trouble = self._progress = None
        del self.study


class Feed:
    """One arm: its samples, those under way, and the task that runs them."""

    def __init__(
        self, comparison: Comparison, task: Any, model: Any, samples: Mapping[str, Any],
        scorer: str | None, value: Value | None,
    ) -> None:  # fmt: skip
        self._comparison, self._task, self._model = comparison, task, model
        self._samples, self._scorer, self._value = list(samples.items()), scorer, value
        self._epochs = int(task.epochs or 1)
        self._open: dict[str, Pull] = {}  # by the id of the sample
        self._scores: dict[str, list[float]] = {}  # of epochs so far
        self._queue: list[Any] = []  # samples for a task that waits for some
        self._context: Context | None = None  # of the task while it is busy
        self._awake: Any = None

    @property
    def open(self) -> list[Pull]:
        """Pulls under way."""
        return list(self._open.values())

    def task(self, label: Hashable) -> Any:
        """The task as given, but fed from here."""
        source = SampleSource.from_samples(
            [], next_samples=self._next_samples, sample_complete=self._sample_complete,
            sample_abandoned=self._sample_abandoned,
        )  # fmt: skip
        metadata = {**(self._task.metadata or {}), ARM: label}
        more = {} if self._model is None else {"model": self._model}
        own = copy.copy(self._task)  # task_with changes what it is given
        return task_with(own, dataset=source, metadata=metadata, fail_on_error=False, **more)

    def start(self, pull: Pull) -> None:
        """Let the sample of a pull run."""
        assert pull.position is not None
        key, sample = self._samples[pull.position]
        self._open[key], self._scores[key] = pull, []
        if self._context is None:
            self._queue.append(sample)
            self.wake()
        else:
            self._context.run(enqueue_sample, sample)

    def wake(self) -> None:
        """There is something to run, or nothing any more."""
        if self._awake is not None:
            self._awake.set()

    async def _next_samples(self) -> list[Any] | None:
        """Called whenever none of the task's samples is left."""
        self._context = None
        while not self._queue and not self._comparison.has_ended:
            self._awake = anyio.Event()
            await self._awake.wait()
        if self._comparison.has_ended:
            return None
        self._context = copy_context()
        samples, self._queue = self._queue, []
        return samples

    async def _sample_complete(self, sample: Any) -> None:
        """Called for every sample (and epoch) that ended, after its retries."""
        self._settle(str(sample.id), sample)

    async def _sample_abandoned(self, sample: Any, epoch: int) -> None:  # noqa: ARG002
        """Called for a sample that somebody cancelled before it ran."""
        self._settle(str(sample.id), None)

    def _settle(self, key: str, sample: Any) -> None:
        pull, comparison = self._open.get(key), self._comparison
        if pull is None:  # another epoch of it failed, or somebody let it run again
            return
        try:
            score, why = self._read(sample)
            if score is None:
                del self._open[key]
                comparison.fail(pull, why)
            else:
                self._scores[key].append(score)
                if len(self._scores[key]) < self._epochs:
                    return
                comparison.tell(pull, sum(self._scores[key]) / self._epochs)
                del self._open[key]
            comparison.fill()
        except Exception as trouble:  # an arm that raised would leave the others waiting
            comparison.end(trouble)

    def _read(self, sample: Any) -> tuple[float | None, str]:
        """The number that counts, or None and why there is none."""
        if sample is None or sample.error is not None:
            return None, "cancelled" if sample is None else str(sample.error.message)
        scores = sample.scores or {}
        names = [self._scorer] if self._scorer is not None else list(scores)
        if len(names) != 1 or names[0] not in scores:
            raise InputError(
                f"scorer={self._scorer!r} was refused: a sample has the scores {sorted(scores)}"
            )
        given = scores[names[0]].value
        if self._value is None and not _is_number(given):
            raise InputError(
                f"the value {shown(given)} of the scorer {names[0]!r} was refused: it is no number;"
                " say with value= how to make one of it"
            )
        score = as_float((self._value or value_to_float())(given))
        return score, f"the score {shown(given)}"


def _reason(is_interrupted: bool) -> Stopped:
    return "interrupted" if is_interrupted else "budget"


def _is_number(given: Any) -> bool:
    """Whether Inspect makes a number of it, rather than 0 with a warning."""
    if not isinstance(given, str) or given in WORDS:
        return isinstance(given, str | int | float)
    try:
        return given.lower() in TRUTHS or math.isfinite(float(given))
    except ValueError:
        return False


# --- what is compared -------------------------------------------------------------------------


def _arms(tasks: Any, models: Any) -> dict[Hashable, tuple[Any, Any]]:
    """Of every arm its task and its model, which may be None."""
    given = _labelled(tasks, "task", _name)
    for task in given.values():
        _name(task)
    if models is None:
        return {label: (task, None) for label, task in given.items()}
    found = _labelled(models, "model", str)
    if len(given) == 1:
        task = next(iter(given.values()))
        return {label: (task, model) for label, model in found.items()}
    if len(found) == 1:
        model = next(iter(found.values()))
        return {label: (task, model) for label, task in given.items()}
    return {
        (first, second): (task, model)
        for first, task in given.items()
        for second, model in found.items()
    }


def _name(task: Any) -> str:
    if not isinstance(task, Task):
        raise InputError(
            f"the task {shown(task)} was refused: give an inspect_ai.Task, as @task functions return"
        )
    return str(task.name)


def _labelled(given: Any, what: str, name: Callable[[Any], str]) -> dict[Hashable, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    many = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    found: dict[Hashable, Any] = {}
    for one in many:
        label = name(one)
        if label in found:
            raise InputError(
                f"the {what} {label!r} was refused: it is there twice; name the {what}s by a mapping"
            )
        found[label] = one
    return found


def _require_plain(task: Any, scorer: str | None) -> None:
    """Refuse a task that chooses its samples itself."""
    if task.sample_source is not None or task.early_stopping is not None:
        raise InputError(
            f"the task {task.name!r} was refused: it chooses its samples itself, by a SampleSource"
            " or early stopping, and no score may be chosen or skipped"
        )
    if not task.scorer:
        raise InputError(f"the task {task.name!r} was refused: it has no scorer")
    if scorer is None and len(task.scorer) > 1:
        raise InputError(
            f"the task {task.name!r} was refused: it has {len(task.scorer)} scorers; name the one"
            " that counts (scorer=)"
        )


def _samples(task: Any) -> dict[str, Any]:
    """The samples by id, which Inspect compares as texts; those without are numbered."""
    found: dict[str, Any] = {}
    for position, sample in enumerate(task.dataset):
        id = position + 1 if sample.id is None else sample.id
        if str(id) in found:
            raise InputError(f"the task {task.name!r} was refused: two samples have the id {id!r}")
        found[str(id)] = sample.model_copy(update={"id": id})
    return found


def _items(samples: Mapping[Hashable, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the arms are compared on, the same for all of them."""
    first, *others = samples.values()
    targets = [(key, sample.target) for key, sample in first.items()]
    for other in others:
        if [(key, sample.target) for key, sample in other.items()] != targets:
            raise InputError(
                "tasks were refused: they have different samples; ids and targets must agree"
            )
    return [
        {"id": sample.id, "input": _text(sample.input), "target": sample.target}
        for sample in first.values()
    ]


def _text(messages: Any) -> Any:
    """An input, without the ids that messages get anew each time."""
    if isinstance(messages, str):
        return messages
    return [[message.role, message.text] for message in messages]
