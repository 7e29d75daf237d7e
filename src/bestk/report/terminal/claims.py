"""The table of verdicts on the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from bestk.paper.verdicts import Claim


def table(claims: Sequence[Claim]) -> Table:
    """Verdicts on the paper's claims."""
    found = Table(title="What the paper's text claims, and what we find")
    for column in ("id", "claim", "statistic", "95% interval", "verdict"):
        found.add_column(column)
    for claim in claims:
        verdict = "[green]holds[/green]" if claim.holds else "[red]does not hold[/red]"
        interval = f"[{claim.ci[0]:.3g}, {claim.ci[1]:.3g}]".replace("[", r"\[")
        found.add_row(claim.id, claim.claim, f"{claim.statistic:.3g}", interval, verdict)
    return found
