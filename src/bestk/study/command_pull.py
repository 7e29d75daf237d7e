"""A pull that is a command: fill in the arm, run it, read the reward."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bestk.study.commands import Finished, run_command
from bestk.study.printed import NoReward, json_number, last_number, plain
from bestk.study.template import Template


@dataclass(frozen=True)
class CommandPull:
    """Called with an arm's name it returns the arm's next reward, or raises `NoReward`."""

    template: Template
    values: Mapping[str, Mapping[str, str]]  # of every arm, its placeholders'
    folder: Path  # where the command runs
    json_field: str | None = None
    timeout: float | None = None

    def __call__(self, label: str) -> float:
        """Run the command of that arm."""
        command, env = self.template.fill(label, self.values[label])
        finished = run_command(
            command, shell=self.template.shell, timeout=self.timeout, cwd=self.folder, env=env
        )
        if finished.timed_out:
            raise NoReward(f"no end within {self.timeout:g} seconds{_last_words(finished)}")
        if finished.code:
            raise NoReward(f"{_ending(finished.code)}{_last_words(finished)}")
        if self.json_field is None:
            return last_number(finished.output)
        return json_number(finished.output, self.json_field)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:  # real-time signals have no names
        return f"ended by signal {-code}"


def _last_words(finished: Finished) -> str:
    """The last line of what it complained about, or else of what it printed."""
    for text in (finished.errors, finished.output):
        if lines := text.strip().splitlines():
            return f": {plain(lines[-1]).strip()[-200:]}"
    return ""
