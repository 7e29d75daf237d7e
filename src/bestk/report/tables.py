"""Terminal tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from bestk.paper.verdicts import Claim
from bestk.policies import CATALOGUE
from bestk.report.text import printable
from bestk.simulation import SimulationResult


def policies() -> Table:
    """The catalogue."""
    table = Table(title="Policies", show_lines=True)
    for column in ("policy", "source", "guarantee", "parameters"):
        table.add_column(column, overflow="fold")
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
        table.add_row(name, f"{policy.source}\n{policy.about}", guarantee, "\n".join(settings))
    return table


def simulation(result: SimulationResult) -> Table:
    """One simulation, for people."""
    data, samples = result.to_dict(), result.summary()
    variant = f" ({data['variant']})" if data["variant"] else ""
    table = Table(show_header=False, title=f"{data['policy']}{variant}")
    alpha = "" if data["alpha"] is None else f", alpha={data['alpha']:g}"
    what = f"K={data['k']}" if data["k"] else data["decision"]
    goal = "largest" if result.instance.maximize else "smallest"
    name = printable(data["instance"])  # a file may have any
    table.add_row("instance", Text(f"{name}{alpha}, N={data['arms']}, {what}, {goal} means"))
    table.add_row("rewards", f"{data['rewards']}, sigma={data['sigma']:g}")
    table.add_row("wanted", f"error <= {data['delta']:g}, slack {data['epsilon']:g}")
    table.add_row("samples", f"{samples['mean']:,.0f} ± {samples['sem']:,.0f} (mean, std. error)")
    table.add_row("", f"median {samples['median']:,.0f}, 95% of runs <= {samples['p95']:,.0f}")
    table.add_row("runs", f"{data['runs']}: {data['wrong']} wrong, {data['unfinished']} unfinished")
    proved = "none (heuristic)" if data["guarantee"] is None else f"error <= {data['guarantee']:g}"
    table.add_row("proved", proved)
    if data["lower_bound"] is not None:
        table.add_row("lower bound", f"{data['lower_bound']:,.0f} samples for any proved policy")
    rate = data["steps_per_second"]
    table.add_row("speed", f"{data['seconds']:.2f} s, {rate / 1e6:.2f} million samples a second")
    return table


def claims(found: Sequence[Claim]) -> Table:
    """Verdicts on the paper's claims."""
    table = Table(title="What the paper's text claims, and what we find")
    for column in ("id", "claim", "statistic", "95% interval", "verdict"):
        table.add_column(column)
    for claim in found:
        verdict = "[green]holds[/green]" if claim.holds else "[red]does not hold[/red]"
        interval = f"[{claim.ci[0]:.3g}, {claim.ci[1]:.3g}]".replace("[", r"\[")
        table.add_row(claim.id, claim.claim, f"{claim.statistic:.3g}", interval, verdict)
    return table
