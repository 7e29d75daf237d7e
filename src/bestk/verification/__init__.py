"""Checking a certificate against the log it was made from.

Everything is computed anew from the log, by code that shares nothing with the kernels, the policies
or the storage: formulas and stopping rules are restated from docs/theory.md, docs/evidence.md and
docs/e-lucb.md (an import-linter contract holds it). docs/certificate.md says what is proved.
"""

from bestk.verification.check import verify
from bestk.verification.reading import read_certificate
from bestk.verification.report import Check, Report

__all__ = ["Check", "Report", "read_certificate", "verify"]
