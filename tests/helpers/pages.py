"""Pages of the documentation, and running their code blocks as a reader would, top to bottom."""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

from helpers.command import call

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

RUN = ("python", "sh")
COMPARED = "output"  # what the block before it prints; ... stands for anything
SHOWN = ("text", "toml", "json", "bibtex")  # what is no code: formats, set-up of a machine
_FENCE = re.compile(r"^(`{3,})(\S*)[^\n]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
# one bestk command, nothing for a shell to do; `run` and `race` want a process of their own
_PLAIN = re.compile(r"bestk (?!run|race)[^|<>&;$`*()]+?(\s#.*)?")


class Block(NamedTuple):
    """One code block."""

    language: str
    text: str
    line: int  # of its first line of text, from 1


def blocks(page):
    """The code blocks of a page; directives of the site, such as {toctree}, are none."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        if not fence[2].startswith("{"):
            line = text.count("\n", 0, fence.start(3)) + 1
            found.append(Block(fence[2], fence[3], line))
    return found


class Session:
    """What a reader has who runs the blocks of a page: one folder, one interpreter."""

    def __init__(self, page):
        self.page, self.names, self.printed = page, {"__name__": "__main__"}, ""

    def run(self, block):
        """Run a block, in the present folder, or compare what the last one printed."""
        if block.language == "python":
            self.printed = self._python(block)
        elif block.language == "sh":
            self.printed = self._shell(block)
        elif block.language == COMPARED:
            self._compare(block)

    def _where(self, block):
        return f"{self.page.relative_to(ROOT)}, line {block.line}"

    def _python(self, block):
        # empty lines in front: a traceback names the line of the page
        source = "\n" * (block.line - 1) + block.text
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(source, str(self.page), "exec"), self.names)
        return out.getvalue()

    def _shell(self, block):
        """As `sh` runs it, except that plain bestk commands spare the start of a process each."""
        lines = block.text.replace("\\\n", "").splitlines()
        return "".join(
            self._command(block, line) if _PLAIN.fullmatch(line) else self._line(block, line)
            for line in lines
        )

    def _command(self, block, line):
        done = call(*shlex.split(line, comments=True)[1:])
        assert done.returncode == 0, f"{self._where(block)}: {line}: {done.stderr}{done.stdout}"
        return done.stdout

    def _line(self, block, line):
        programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            ["sh", "-eu", "-c", line], capture_output=True, text=True, check=False,
            env=os.environ | {"PATH": programs},
        )  # fmt: skip
        assert done.returncode == 0, f"{self._where(block)}: {line}: {done.stderr}{done.stdout}"
        return done.stdout

    def _compare(self, block):
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        alike = doctest.OutputChecker().check_output(block.text, self.printed, flags)
        assert alike, f"{self._where(block)} says\n{block.text}\nbut it prints\n{self.printed}"
