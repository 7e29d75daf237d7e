"""Compiled programs: kept for the next process, never stale."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import bestk
from bestk.compiled import cache

SOURCE = Path(bestk.__file__).parent


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_an_edited_kernel_has_a_folder_of_its_own(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "bestk", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from bestk.compiled import cache; print(cache.folder())"
    where = {"PYTHONPATH": str(tmp_path), "BESTK_CACHE_DIR": str(tmp_path / "cache")}
    first = run(code, **where)
    assert run(code, **where) == first
    with (tmp_path / "bestk" / "kernels" / "trees.py").open("a") as file:
        file.write("# edited\n")
    assert run(code, **where) != first


def test_programs_that_nobody_uses_are_dropped_after_a_month(tmp_path, monkeypatch):
    old, young = tmp_path / "programs-old", tmp_path / "kernels-young"
    for folder in (old, young):
        folder.mkdir()
    month_ago = time.time() - 31 * 86400
    os.utime(old, (month_ago, month_ago))
    monkeypatch.setenv("BESTK_CACHE_DIR", str(tmp_path))
    cache.folder.cache_clear()
    try:
        found = cache.folder()
    finally:
        cache.folder.cache_clear()
    assert sorted(tmp_path.iterdir()) == sorted([young, found])


def test_a_file_appears_whole_and_once(tmp_path):
    path = tmp_path / "a.py"
    cache.publish(path, b"one")
    before = path.stat().st_mtime_ns
    cache.publish(path, b"two")
    assert (path.read_text(), path.stat().st_mtime_ns) == ("one", before)
    assert list(tmp_path.iterdir()) == [path]


def test_importing_bestk_loads_neither_llvmlite_nor_scipy():
    unwanted = "{'llvmlite', 'scipy', 'numpy'}"
    code = f"import sys, bestk, bestk.cli.main; print({unwanted} & set(sys.modules))"
    assert run(code) == "set()"
