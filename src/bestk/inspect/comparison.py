"""A study whose pulls are samples of running tasks."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from contextvars import Context, copy_context
from typing import Any

import anyio
from inspect_ai import SampleSource, TaskSource, enqueue_sample, eval, task_with

from bestk.errors import ArmFailedError, InputError
from bestk.inspect.scores import Reader
from bestk.study import Evaluation, Pull, Study
from bestk.study.evaluation import summarise
from bestk.study.result import Stopped
from bestk.study.runner import Progress

ARM = "bestk_arm"  # in the metadata of a log: which arm it is of


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

    def run(self, retries: int, options: Mapping[str, Any]) -> Evaluation:
        """Until the rule stops, the budget is spent, or an interrupt."""
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
            self.study.release(pull for feed in self._feeds.values() for pull in feed.open)
        if self._trouble is not None:
            raise self._trouble
        ended: Stopped | None = None
        if not self.study.check():
            ended = "interrupted" if self._is_interrupted else "budget"
        return summarise(self.study, self.study.summary(ended))

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
        """A task has ended; unless it was told to, the others would wait for it for ever."""
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
        """Let go of the study, which whoever resumes it takes for alive while anything keeps it.

        Inspect keeps its tasks, and frames that lead here: hence the study is in no local name.
        """
        self._feeds.clear()
        self._trouble = self._progress = None
        del self.study


class Feed:
    """One arm: its samples, those under way, and the task that runs them."""

    def __init__(
        self, comparison: Comparison, task: Any, model: Any, samples: Mapping[str, Any],
        reader: Reader,
    ) -> None:  # fmt: skip
        self._comparison, self._task, self._model = comparison, task, model
        self._samples, self._reader = list(samples.items()), reader
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
            score, why = self._reader.read(sample)
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
