"""The same decisions by interpreted kernels, by compiled ones, and by both in turn."""

from contextlib import contextmanager
from functools import cache

from bestk.compiled import live, programs, rent
from bestk.compiled.modes import VARIABLE
from bestk.kernels import evidence


@contextmanager
def kernels(monkeypatch, mode):
    """Steppers made in the block have kernels of that mode of their own."""
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, mode)
        patch.setattr(live, "_known", {})
        yield


@contextmanager
def what_is_ready(monkeypatch):
    """Programs on disk are used as soon as they pay, others never compiled."""
    patience = 1e6  # seconds
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, "auto")
        patch.setattr(rent, "RENT", patience)
        patch.setattr(live, "COMPILING", patience)
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


class CompiledEvidence:
    """`bestk.kernels.evidence` with its two searches compiled, for tests that call them often."""

    def __getattr__(self, name):
        return getattr(evidence, name)

    def __init__(self):
        self.known = {}  # what was made of an evidence, which is kept so that its id stays its own

    def bound(self, e, *arguments):
        code, words, _ = self._made(e)
        return code["bound"](words, *arguments)

    def log_evidence(self, e, *arguments):
        code, words, _ = self._made(e)
        return code["log_evidence"](words, *arguments)

    def _made(self, e):
        if id(e) not in self.known:
            program = _compiled(e.kind)
            self.known[id(e)] = program.code, program.lean(e), e
        return self.known[id(e)]


@cache
def _compiled(kind):
    programs.KINDS.setdefault("evidence", (evidence.bound, evidence.log_evidence))
    return programs.Program("evidence", programs.Axes(kind=kind)).acquire()
