"""The README's example runs as it stands, and its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_examples_run(tmp_path):
    simulated, live = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    shown = {
        example: subprocess.run(
            [sys.executable, "-c", example],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        ).stdout
        for example in (simulated, live)
    }
    assert "error <= 0.01 proved" in shown[simulated]
    assert "best shares" in shown[simulated]
    assert "certified: error <= 0.05" in shown[live]
    assert (tmp_path / "raters.db").exists()


def test_every_file_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_of_the_readme_is_a_target_or_a_command():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`)make (\w+)", TEXT, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    bestk = str(Path(sys.executable).with_name("bestk"))
    for command in set(re.findall(r"^bestk (\w+)", TEXT, flags=re.MULTILINE)):
        subprocess.run([bestk, command, "--help"], capture_output=True, check=True)
