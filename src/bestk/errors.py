"""Errors a person can act on: what was wrong, what was expected."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class BestkError(Exception):
    """Base of every error that bestk raises on purpose."""


class InputError(BestkError, ValueError):
    """A value from the user that cannot be used; nothing was changed."""


class UnknownName(InputError):
    """A name that is not in a catalogue."""

    def __init__(self, kind: str, name: object, known: Iterable[str], more: str = "") -> None:
        known = list(known)
        if not isinstance(name, str):
            name = f"of type {type(name).__name__}"
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        super().__init__(f"unknown {kind} '{name}': {hint}known are {', '.join(known)}{more}")


class ResultsFileError(InputError):
    """A results file that cannot be read back; it was left as it is."""


class StorageError(InputError):
    """A study's file that cannot be used; what is in it was left as it is."""


class PullError(InputError):
    """An answer to a pull that is not open: given up, answered before, or never asked for."""


class ArmFailedError(BestkError):
    """An arm failed too often in a row; the study is as it was, and can be resumed."""


class ExecutorError(BestkError):
    """An executor that takes no more work; the study is as it was, and can be resumed."""


class MissingPackageError(BestkError, ImportError):
    """Something that needs a package which is not installed; the message says how to get it."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}, which is not installed: pip install 'bestk[{extra}]'",
            name=package,
        )


class OracleError(BestkError):
    """A maximisation oracle that contradicts itself; the message shows the weights it was given."""


class PolicyError(BestkError):
    """A policy in Python that broke its contract, or is not here; the message says how."""


class NothingToCertifyError(BestkError):
    """A study whose answer is not proved."""


class TiedMeansWarning(UserWarning):
    """The K-th and the next mean are equal: exact identification cannot end."""
