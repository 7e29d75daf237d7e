"""The table of all policies."""

from __future__ import annotations

from rich.table import Table

from bestk.policies import CATALOGUE


def table() -> Table:
    """The catalogue."""
    found = Table(title="Policies", show_lines=True)
    for column in ("policy", "source", "guarantee", "parameters"):
        found.add_column(column, overflow="fold")
    for policy in CATALOGUE.values():
        name = f"[bold]{policy.name}[/bold]\n{policy.title}"
        guarantee = f"error <= delta: {policy.theorem}" if policy.proved else policy.theorem
        if policy.variants:
            guarantee = f"faithful: {guarantee}\nheuristic: none"
        settings = [
            f"{p.name}={p.default}" + (f" ({' | '.join(p.choices)})" if p.choices else "")
            for p in policy.parameters
        ]
        if policy.combinatorial:
            settings.append("any decision class")
        if policy.single:
            settings.append("K = 1 only")
        if not policy.slack:
            settings.append("no slack epsilon")
        found.add_row(name, f"{policy.source}\n{policy.about}", guarantee, "\n".join(settings))
    return found
