"""A pull that is a command: fill in the arm, run it, read the reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bestk.commands.output import NoReward, json_number, last_number
from bestk.commands.process import how_it_failed, run_command
from bestk.commands.template import Template


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
        if finished.timed_out or finished.code:
            raise NoReward(how_it_failed(finished, self.timeout))
        if self.json_field is None:
            return last_number(finished.output)
        return json_number(finished.output, self.json_field)
