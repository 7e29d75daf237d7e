"""Checking a certificate against the log it was made from.

Everything is computed anew from the log, by code that shares nothing with the kernels, the policies
or the storage: formulas and stopping rules are restated from docs/theory.md, docs/evidence.md and
docs/e-lucb.md (an import-linter contract holds it). docs/certificate.md says what is proved.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bestk.verification.check import verify
    from bestk.verification.reading import read_certificate
    from bestk.verification.report import Check, Report

__all__ = ["Check", "Report", "read_certificate", "verify"]

_HOMES = {"Check": "report", "Report": "report", "read_certificate": "reading", "verify": "check"}


def __getattr__(name: str) -> Any:
    """Names load when first used: reports read a log's lines, and need no special functions."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bestk.verification' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"bestk.verification.{_HOMES[name]}"), name)
