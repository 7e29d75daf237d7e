"""Where the command line writes, and how it shows progress."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bestk.report.text import printable


def show(renderable: Any) -> None:
    """Print something for people on standard output; a text is a text, not markup."""
    from rich.console import Console
    from rich.text import Text

    if isinstance(renderable, str):
        renderable = Text(printable(renderable))
    # in a pipe there is no width to keep to
    Console(width=None if sys.stdout.isatty() else 160).print(renderable)


def show_json(data: Any) -> None:
    """Print one JSON value: finite numbers and nulls only."""
    print(json.dumps(data, allow_nan=False))


def say(message: str) -> None:
    """A line on standard output, safe for a terminal whatever the names in it hold."""
    print(printable(message))


def note(message: str) -> None:
    """A line on standard error, as safe."""
    print(printable(message), file=sys.stderr)


@contextmanager
def warnings_noted() -> Iterator[None]:
    """Say what is warned of meanwhile, at once and each warning once."""
    said = set[str]()

    def once(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)) not in said:
            said.add(text)
            note(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = once
        yield


@contextmanager
def progress(description: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """A progress bar on a terminal, silence in a pipe.

    It takes how many more are done, and what is being done.
    """
    if not sys.stderr.isatty():
        yield lambda _steps, _text: None
        return
    from rich import progress as rich
    from rich.console import Console

    with rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps, text: bar.update(task, advance=steps, description=text)
