"""The directive `command-line`: a section for each command, with what its --help says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

WIDTH = 92


@contextmanager
def _plain_terminal() -> Iterator[None]:
    """What is printed has no colours and one width, wherever the pages are built."""
    wanted = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def helps() -> dict[str, str]:
    """What --help prints: of bestk, and of each of its commands."""
    with _plain_terminal():
        from bestk.cli.main import app

        group = get_command(app)
        commands = {"bestk": []} | {f"bestk {name}": [name] for name in sorted(group.commands)}
        found = {}
        for title, arguments in commands.items():
            with redirect_stdout(StringIO()) as out, suppress(SystemExit):
                group([*arguments, "--help"], prog_name="bestk")
            found[title] = "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())
    return found


class CommandLine(SphinxDirective):
    """One section for each command."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        made: list[nodes.Node] = []
        for title, text in helps().items():
            section = nodes.section(ids=[title.replace(" ", "-")], names=[title])
            heading = nodes.title(title, title)
            section += [heading, nodes.literal_block(text, text, language="text")]
            self.state.document.note_explicit_target(section)
            made.append(section)
        return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
