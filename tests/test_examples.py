"""Every example runs, says its stopping statistic, and draws its answer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(example, tmp_path):
    picture = tmp_path / "answer.png"
    done = subprocess.run(
        [sys.executable, str(example), str(picture)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "at most" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    truth = [line for line in done.stdout.splitlines() if line.startswith("true ")]
    answer, best = re.findall(r"\d+\.\d+", truth[0])
    assert answer == best
