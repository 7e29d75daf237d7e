"""The README and the documentation: code runs, links lead somewhere, nothing is left out."""

import gc
import importlib.util
import re
import sys
from pathlib import Path

import matplotlib.pyplot
import pytest

import bestk
from bestk.compiled.programs import PLAY
from helpers.command import call
from helpers.compiled import what_is_ready
from helpers.pages import COMPARED, PAGES, ROOT, RUN, SHOWN, Session, blocks
from helpers.python_policies import forgotten
from helpers.warm_up import PROGRAMS

matplotlib.use("Agg")

SIMULATES = re.compile(r"bestk.(simulate|plan|reproduce)")
README = (ROOT / "README.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "docs" / "extensions"))
NEEDS = {"evaluate-with-inspect.md": "inspect_ai"}  # packages that not everybody has


def name(page):
    return str(page.relative_to(ROOT))


def with_needs(page):
    """A page for a test, skipped where the package that it is about is missing."""
    package = NEEDS.get(page.name)
    if package is None:
        return page
    is_missing = importlib.util.find_spec(package) is None
    marks = (
        pytest.mark.skipif(is_missing, reason=f"{package} is not installed"),
        pytest.mark.filterwarnings("ignore"),  # of what is not ours to mend
    )
    return pytest.param(page, marks=marks)


@pytest.mark.parametrize(
    "page",
    [with_needs(page) for page in PAGES if any(b.language in RUN for b in blocks(page))],
    ids=name,
)
def test_the_code_of_a_page_runs_as_it_stands(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = Session(page)
    if any(SIMULATES.search(block.text) for block in blocks(page)):
        for program in PROGRAMS:
            if program.kind == PLAY and not program.axes.structure:
                program.compile()
    try:
        with what_is_ready(monkeypatch), forgotten():
            for block in blocks(page):
                session.run(block)
    finally:
        matplotlib.pyplot.close("all")
        gc.collect()  # what a package left open warns here, in no other test


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is(page):
    unknown = [b for b in blocks(page) if b.language not in (*RUN, COMPARED, *SHOWN)]
    assert unknown == []
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_a_page_links_to_is_there(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_commands_that_are_only_shown_are_those_that_set_a_machine_up_or_take_minutes():
    shown = {
        line.split("#")[0].strip()
        for page in PAGES
        for block in blocks(page)
        if block.language == "text"
        for line in block.text.splitlines()
        if re.match(r"\$? ?(bestk|pip|make|python3?|sh) ", line)
    }
    for command in shown:
        assert re.match(
            r"(pip install|make [\w-]+$|bestk reproduce|bestk (certify|verify) )", command
        ) or (
            re.match(r"bestk (serve|token) |bestk .*postgresql://", command)  # need a server
        )


def test_every_command_of_the_pages_is_a_target_or_a_command():
    makefile = (ROOT / "Makefile").read_text()
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    targets = set(re.findall(r"(?:^|`)make ([\w-]+)", text, flags=re.MULTILINE))
    assert {"setup", "test", "docs"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    code = "\n".join(block.text for page in PAGES for block in blocks(page))
    commands = re.findall(r"^bestk (\w+)", code, flags=re.MULTILINE)
    for command in {*commands, *re.findall(r"`bestk (\w+)", text)}:
        assert call(command, "--help").returncode == 0, command


def test_the_readme_says_how_to_install_and_what_for_before_anything_else():
    commands = [b.text for b in blocks(ROOT / "README.md")]
    assert commands[0] == "pip install bestk\n"
    assert re.search(r"!\[[^]]+\]\((docs/[^)]+\.png)\)", README.split("\n## ")[0])
    for needed in ("identify", "bestk race", "simulate", "storage="):
        assert needed in README


def test_the_readme_says_with_which_token_a_team_begins():
    said = (ROOT / "README.md").read_text(encoding="utf-8")
    said = said.partition("## With a team")[2].partition("\n## ")[0]
    for word in ("token create --role admin", "export BESTK_TOKEN=", "name=", "an admin token"):
        assert word in said


def test_what_must_pass_runs_the_commands_of_the_readme():
    steps = (ROOT / ".ci" / "run").read_text()
    for target in ("check", "test", "docs"):
        assert f"make {target}" in README
        assert re.search(rf"^make {target}$", steps, flags=re.MULTILINE)


def test_every_public_name_has_its_place_in_the_reference():
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    documented = set(re.findall(r"^\.\. (?:auto|py:)\w+:: bestk\.(\w+)$", text, flags=re.MULTILINE))
    assert set(bestk.__all__) - documented == {"__version__"}


def test_docstrings_become_pages():
    from docstrings import listed, marked_up

    assert marked_up("`pull` of mu_(K+1), see docs/studies.md") == (
        "``pull`` of mu\\_(K+1), see :doc:`docs/studies.md </studies>`"
    )
    assert marked_up("a `Result`; *total* x*y") == (
        "a :py:obj:`Result <bestk.Result>`; *total* x\\*y"
    )
    given = [
        "Parameters",
        "----------",
        "low, high : the range;",
        "    known before.",
        "k : how many.",
    ]
    assert listed(given) == [
        "**Parameters**", "", "- `low`, `high`: the range;", "  known before.", "- `k`: how many.",
    ]  # fmt: skip


def test_the_reference_has_every_command_with_its_options():
    from command_line import helps

    found = helps()
    assert {"bestk", "bestk race", "bestk simulate", "bestk list"} <= set(found)
    assert "--variant" in found["bestk simulate"]
    assert all("Usage: bestk" in text and "\x1b" not in text for text in found.values())


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    from links import broken

    Path(tmp_path, "page.html").write_text('<a href="other.html#here">x</a><h1 id="top">t</h1>')
    Path(tmp_path, "other.html").write_text(
        '<p id="here"><a href="page.html#top">x</a><a href="https://example.org">x</a></p>'
    )
    assert broken(tmp_path) == []
    Path(tmp_path, "third.html").write_text(
        '<a href="page.html#gone">x</a><img src="no.png"><a href="#no">x</a>'
    )
    assert broken(tmp_path) == [
        "third.html: page.html#gone",
        "third.html: no.png",
        "third.html: #no",
    ]
