"""Kernels without compilation: a test file run as a script prints its journal of decisions."""

import json
import os
import subprocess
import sys

from bestk.kernels import step


def journal_of(file):
    """What `print_journal` prints in a process of its own, with NUMBA_DISABLE_JIT=1."""
    printed = subprocess.run(
        [sys.executable, "-W", "error", file],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)


def check(journal, file):
    """Compiled kernels, here, and interpreted ones, there, write the same journal."""
    for compiled, interpreted in zip(journal(), journal_of(file), strict=True):
        assert compiled == interpreted


def print_journal(journal):
    """The script's side."""
    assert not hasattr(step.ask, "py_func"), "this script is for interpreted kernels"
    json.dump(journal(), sys.stdout)
