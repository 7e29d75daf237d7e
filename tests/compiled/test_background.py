"""Compiling beside a running program, and on disks that do not want it: real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bestk.compiled import background
from bestk.compiled.background import Compilation
from bestk.compiled.programs import LIVE, SEQUENCE, Axes, Program
from bestk.kernels.types import LIL, LIL_UCB

SMALL = Program(SEQUENCE, Axes())  # the quickest to compile

PARENT = """
import sys
from bestk.compiled.background import Compilation
from bestk.compiled.programs import LIVE, Axes, Program
compilation = Compilation(Program(LIVE, Axes(3, 0)))
print(compilation._process.pid, flush=True)
sys.stdin.read()
"""
STUDY = """
import bestk, sys
result = bestk.identify(["a", "b"], lambda arm: arm == "a", k=1, rewards=bestk.Bernoulli())
print(list(result.top), "llvmlite" in sys.modules)
"""


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def is_alive(pid):
    """Whether a process runs: neither gone nor a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(is_so):
    """Look until it is so; ten minutes are more than any machine needs."""
    end = time.monotonic() + 600
    while not is_so():
        assert time.monotonic() < end


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_compiling_process_ends_with_the_one_that_started_it(tmp_path, number):
    environment = {**os.environ, "BESTK_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    ) as parent:  # fmt: skip
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(number)
        parent.wait()
        wait_until(lambda: not is_alive(pid))
    assert not list(tmp_path.glob("*/*.done"))  # before it was through


def test_it_ends_when_its_program_ends_or_lets_it_go(tmp_path):
    environment = {**os.environ, "BESTK_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PARENT],
        input="", capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert not is_alive(int(done.stdout))
    assert not list(tmp_path.glob("*/*.done"))


def test_a_killed_compiler_leaves_a_study_as_it_is_and_the_next_one_compiles(tmp_path, monkeypatch):
    monkeypatch.setattr("bestk.compiled.cache.folder", lambda: tmp_path / "programs-x")
    (tmp_path / "programs-x").mkdir()
    compilation = Compilation(SMALL)
    compilation._process.kill()
    wait_until(lambda: not compilation.is_running())
    assert not SMALL.is_ready()
    SMALL.compile()
    assert SMALL.is_ready()
    assert SMALL.last_took() > 0


def test_it_makes_what_is_wanted(tmp_path, monkeypatch):
    made = tmp_path / background.cache.folder().name
    made.mkdir()
    monkeypatch.setattr("bestk.compiled.cache.folder", lambda: made)
    compilation, other = Compilation(SMALL), Compilation(SMALL)  # two at once: one waits
    wait_until(lambda: not compilation.is_running() and not other.is_running())
    assert SMALL.is_ready()
    assert len(list(made.glob("*.py"))) == 1


@pytest.mark.parametrize("where", ["file", "nowhere"])
def test_without_a_place_for_programs_everything_works(tmp_path, where):
    """A file where the folder should be, which root cannot write to either; and no home at all."""
    (tmp_path / "file").touch()
    environment = {"BESTK_CACHE_DIR": str(tmp_path / "file")}
    if where == "nowhere":
        environment = {"BESTK_CACHE_DIR": "", "XDG_CACHE_HOME": "/proc/nowhere", "HOME": "/proc"}
    done = run(STUDY, TMPDIR=str(tmp_path), **environment)
    assert done.stdout == "['a'] False\n", done.stderr
    assert done.stderr == ""
    code = STUDY + "from bestk.compiled import cache; print(cache.folder())"
    done = run(code, TMPDIR=str(tmp_path), **environment)
    assert str(tmp_path / "bestk-") in done.stdout
    assert not list(tmp_path.glob("bestk-*"))  # nothing stays behind


def test_now_compiles_before_the_first_decision_and_never_does_not(tmp_path):
    code = STUDY.replace("bestk.Bernoulli()", 'bestk.Gaussian(), policy="lil-ucb"')
    code = code.replace('arm == "a"', 'float(arm == "a")')
    cache = {"BESTK_CACHE_DIR": str(tmp_path)}
    assert run(code, BESTK_COMPILE="never", **cache).stdout == "['a'] False\n"
    assert not list(tmp_path.glob("*/*.done"))
    done = run(code, BESTK_COMPILE="now", **cache)
    assert done.stdout == "['a'] True\n", done.stderr
    wanted = Program(LIVE, Axes(LIL_UCB, LIL))
    found = [path.name.partition(".")[0] for path in tmp_path.glob("*/*.done")]
    assert found == [wanted.name]
