"""Starting processes: what they used, where their output goes, and that both ways do alike."""

import os
import sys
from pathlib import Path

import pytest

from bestk.commands import spawn
from bestk.commands.process import run_command

BUSY = "x = 0\nwhile __import__('time').process_time() < 0.2: x += 1"


@pytest.fixture(params=["posix_spawn", "subprocess"])
def _way(request, monkeypatch):
    if request.param == "subprocess":
        monkeypatch.delattr(spawn.os, "posix_spawnp")


@pytest.mark.usefixtures("_way")
def test_a_process_leads_a_session_and_heeds_broken_pipes():
    look = "import os, signal; print(os.getsid(0) == os.getpid(), signal.getsignal(signal.SIGPIPE))"
    own = [sys.executable, "-S", "-c", look]  # Python itself ignores it: ask what it was given
    assert run_command(own).output.startswith("True")
    status = run_command("cat /proc/self/status").output
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    assert int(ignored.split()[1], 16) >> (13 - 1) & 1 == 0  # SIGPIPE is 13


@pytest.mark.usefixtures("_way")
def test_processor_time_and_memory_are_those_of_the_command():
    usage = run_command([sys.executable, "-S", "-c", BUSY]).usage
    assert 0.2 <= usage.user + usage.system < 60.0
    assert 1 << 20 < usage.memory < 1 << 30
    assert run_command("sleep 0.01").usage.user < 0.2
    assert run_command("no-such-program").usage is None


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd_open")
def test_a_limit_is_kept_without_pidfd_too(monkeypatch):
    monkeypatch.delattr(spawn.os, "pidfd_open")
    late = run_command("sleep 100", timeout=0.2)
    assert late.timed_out
    assert 0.2 <= late.seconds < 60.0
    assert not run_command("true", timeout=100.0).timed_out


def test_output_goes_where_it_is_sent(tmp_path, capfd):
    file, command = tmp_path / "out", "echo printed; echo complaint >&2"
    for output in ("null", "pipe", file):
        done = run_command(command, shell=True, output=output)
        assert done[:3] == (0, "", "complaint\n")
    assert file.read_text() == "printed\n"
    assert capfd.readouterr() == ("", "")
    assert run_command(command, shell=True, output="inherit")[:3] == (0, "", "")
    assert capfd.readouterr() == ("printed\n", "complaint\n")


def test_a_pipe_takes_more_than_it_holds():
    assert run_command("head -c 1000000 /dev/zero", output="pipe", timeout=60.0).code == 0


def test_input_is_a_text_a_file_or_nothing(tmp_path):
    file = Path(tmp_path, "in")
    file.write_text("from a file")
    assert run_command("cat", given=file).output == "from a file"
    assert run_command("cat", given="a text").output == "a text"
    assert run_command("cat").output == ""
