"""Compiled kernels: kept for the next process, never stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import bestk.kernels

KERNELS = Path(bestk.kernels.__file__).parent

# A kernel that calls one in another file: the callee is what gets edited.
CALLER = """
from bestk.kernels.callee import answer
from bestk.kernels.jit import kernel

@kernel
def ask():
    return answer() + 1
"""
CALLEE = """
from bestk.kernels.jit import kernel

@kernel
def answer():
    return {value}
"""
REPORT = (
    "from bestk.kernels.caller import ask; v = ask();"
    "print(v, sum(ask.stats.cache_hits.values()), sum(ask.stats.cache_misses.values()))"
)


def ask(root, cache):
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        env={**os.environ, "PYTHONPATH": str(root), "BESTK_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(map(int, done.stdout.split()))


def test_an_edited_callee_is_recompiled_and_an_unchanged_one_is_not(tmp_path):
    kernels = tmp_path / "bestk" / "kernels"
    kernels.mkdir(parents=True)
    (tmp_path / "bestk" / "__init__.py").touch()
    (kernels / "__init__.py").touch()
    shutil.copy(KERNELS / "jit.py", kernels)
    (kernels / "caller.py").write_text(CALLER)
    (kernels / "callee.py").write_text(CALLEE.format(value=41))
    cache = tmp_path / "cache"
    assert ask(tmp_path, cache) == (42, 0, 1)
    assert ask(tmp_path, cache) == (42, 1, 0)
    (kernels / "callee.py").write_text(CALLEE.format(value=99))
    assert ask(tmp_path, cache) == (100, 0, 1)
    assert len(list(cache.glob("kernels-*"))) == 2


def test_a_cache_folder_that_cannot_be_made_falls_back_to_a_temporary_one(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()  # a file where the folder should be
    code = "from bestk.kernels import jit; print(jit.cache_directory())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "BESTK_CACHE_DIR": str(blocked), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path / "bestk-") in done.stdout


def test_importing_bestk_loads_neither_numba_nor_scipy():
    code = (
        "import sys, bestk, bestk.cli.main; print({'numba', 'scipy', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
