"""What verification says: a list of checks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what was required, and what was found."""

    name: str
    holds: bool
    required: str
    found: str

    @property
    def detail(self) -> str:
        """Both in one line."""
        return f"{self.required} was required; found: {self.found}"


@dataclass
class Report:
    """All that was looked at; the certificate is verified if every check holds."""

    study: str
    checks: list[Check] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Whether the certificate follows from the log."""
        return bool(self.checks) and all(check.holds for check in self.checks)

    @property
    def failed(self) -> list[Check]:
        """What does not hold."""
        return [check for check in self.checks if not check.holds]

    def add(self, name: str, holds: bool, required: str, found: str) -> bool:
        """One more check."""
        self.checks.append(Check(name, bool(holds), printable(required), printable(found)))
        return bool(holds)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        checks = [{**asdict(check), "detail": check.detail} for check in self.checks]
        return {"verified": self.verified, "checks": checks}


def printable(text: str) -> str:
    """Without what would steer a terminal: certificates and logs are written by others."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def some(labels: list[Any]) -> str:
    """A few labels for a line of text."""
    shown = ", ".join(map(str, labels[:5]))
    return shown if len(labels) <= 5 else f"{shown}, ... ({len(labels)} in all)"
