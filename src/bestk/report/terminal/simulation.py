"""The table of a simulation."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from bestk.report.text import printable
from bestk.simulation import SimulationResult


def table(result: SimulationResult) -> Table:
    """One simulation, for people."""
    data, samples = result.to_dict(), result.summary()
    variant = f" ({data['variant']})" if data["variant"] else ""
    found = Table(show_header=False, title=f"{data['policy']}{variant}")
    alpha = "" if data["alpha"] is None else f", alpha={data['alpha']:g}"
    what = f"K={data['k']}" if data["k"] else data["decision"]
    goal = "largest" if result.instance.maximize else "smallest"
    name = printable(data["instance"])  # a file may have any
    found.add_row("instance", Text(f"{name}{alpha}, N={data['arms']}, {what}, {goal} means"))
    found.add_row("rewards", f"{data['rewards']}, sigma={data['sigma']:g}")
    found.add_row("wanted", f"error <= {data['delta']:g}, slack {data['epsilon']:g}")
    found.add_row("samples", f"{samples['mean']:,.0f} ± {samples['sem']:,.0f} (mean, std. error)")
    found.add_row("", f"median {samples['median']:,.0f}, 95% of runs <= {samples['p95']:,.0f}")
    found.add_row("runs", f"{data['runs']}: {data['wrong']} wrong, {data['unfinished']} unfinished")
    proved = "none (heuristic)" if data["guarantee"] is None else f"error <= {data['guarantee']:g}"
    found.add_row("proved", proved)
    if data["lower_bound"] is not None:
        found.add_row("lower bound", f"{data['lower_bound']:,.0f} samples for any proved policy")
    rate = data["steps_per_second"]
    found.add_row("speed", f"{data['seconds']:.2f} s, {rate / 1e6:.2f} million samples a second")
    return found
