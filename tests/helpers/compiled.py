"""The same decisions by interpreted kernels, by compiled ones, and by both in turn."""

from contextlib import contextmanager

from bestk.compiled import live
from bestk.compiled.modes import VARIABLE


@contextmanager
def kernels(monkeypatch, mode):
    """Steppers made in the block have kernels of that mode of their own."""
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, mode)
        patch.setattr(live, "_known", {})
        yield


def check(monkeypatch, journal):
    """Interpreted and compiled kernels write the same journal."""
    with kernels(monkeypatch, "never"):
        interpreted = journal()
    with kernels(monkeypatch, "now"):
        compiled = journal()
    for one, other in zip(interpreted, compiled, strict=True):
        assert one == other


def switch(machine):
    """Use compiled kernels from now on."""
    machine.kernels.loaded = machine.kernels.program.acquire()
