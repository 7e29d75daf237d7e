"""The page on extending bestk: its blocks are test files that pass; bestk does without pytest."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "extend.md"


def test_the_test_files_of_the_page_pass(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name, block in zip(("storage", "decision", "rewards", "policy"), blocks, strict=True):
        (tmp_path / f"test_{name}.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d+ passed, 6 skipped", done.stdout), done.stdout


def test_bestk_imports_no_pytest():
    code = (
        "import sys, bestk\n"
        "[getattr(bestk, name) for name in bestk.__all__]\n"
        "import bestk.cli.main\n"
        "print('pytest' in sys.modules, 'bestk.testing' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
