"""What is compared: arms of tasks and models, and the samples that they share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from inspect_ai import Task

from bestk.arguments import shown
from bestk.errors import InputError


def read_arms(tasks: Any, models: Any) -> dict[Hashable, tuple[Any, Any]]:
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
            f"the task {shown(task)} was refused: give an inspect_ai.Task, which @task functions"
            " return"
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
                f"the {what} {label!r} was refused: it is there twice; give a mapping from labels"
                f" to {what}s"
            )
        found[label] = one
    return found


def require_plain(task: Any, scorer: str | None) -> None:
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


def read_samples(task: Any) -> dict[str, Any]:
    """The samples by id, which Inspect compares as texts; those without are numbered."""
    found: dict[str, Any] = {}
    for position, sample in enumerate(task.dataset):
        id = position + 1 if sample.id is None else sample.id
        if str(id) in found:
            raise InputError(f"the task {task.name!r} was refused: two samples have the id {id!r}")
        found[str(id)] = sample.model_copy(update={"id": id})
    return found


def read_items(samples: Mapping[Hashable, Mapping[str, Any]]) -> list[dict[str, Any]]:
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
