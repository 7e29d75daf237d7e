"""Docstrings as the code has them, plain English with `names` in backticks, made into pages.

Backticks become code, or a link where a public name stands in them; a mention of docs/page.md
becomes a link to that page; whatever else reStructuredText would read as markup is text. Types in
signatures lead to the public name of a class, whichever module it is defined in.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import bestk

_PARTS = re.compile(r"(`[^`\n]+`|\*\*?\w+\*\*?|docs/[\w-]+\.md)")
_ENTRY = re.compile(r"([a-z]\w*(?:, \w+)*) : (.*)")
_MARKUP = re.compile(r"([\\*_|])")


def _part(text: str) -> str:
    name = text.strip("`").removesuffix("()")
    if text.startswith("`"):
        known = name in bestk.__all__ and name != "__version__"
        return f":py:obj:`{name} <bestk.{name}>`" if known else f"``{text[1:-1]}``"
    if text.startswith("docs/"):
        return f":doc:`{text} </{text[5:-3]}>`"
    if text.startswith("*") and text.endswith("*") and len(text) > 2:
        return text
    return _MARKUP.sub(r"\\\1", text)


def marked_up(line: str) -> str:
    """One line of a docstring as reStructuredText."""
    return "".join(map(_part, _PARTS.split(line)))


def listed(lines: list[str]) -> list[str]:
    """Sections as scikit-learn writes them: a title underlined, then `names : text` as a list."""
    found: list[str] = []
    for number, line in enumerate(lines):
        if line and not line.strip("-"):
            found[-1:] = [f"**{lines[number - 1]}**", ""]
        elif (entry := _ENTRY.match(line)) is not None:
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            found.append(f"- {names}: {entry[2]}")
        else:
            found.append(line.replace("    ", "  ", 1) if line.startswith("    ") else line)
    return found


def _process(
    _app: Sphinx, _what: str, name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    if name.startswith("bestk"):
        lines[:] = map(marked_up, listed(lines))


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """A type of a signature: its page if it has one, otherwise its name as it is."""
    if node.get("refdomain") != "py" or node.get("reftype") not in ("class", "obj", "exc"):
        return None
    short = node["reftarget"].rpartition(".")[2]
    domain = env.domains.python_domain
    for name in (f"bestk.{short}", f"bestk.study.{short}", f"bestk.storage.{short}"):
        if name in domain.objects and name != node["reftarget"]:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
    written = node["reftarget"].startswith("bestk.") and short in bestk.__all__
    return None if written or node.get("refexplicit") else content


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
