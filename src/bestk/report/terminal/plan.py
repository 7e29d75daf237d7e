"""Terminal tables of a plan."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from bestk.report.terminal.tables import columns, proved
from bestk.simulation import Plan, SimulationResult
from bestk.simulation.planning import full_name, spread

MOST_ARMS = 10  # that drive the cost: shown one by one


def summary(found: Plan) -> Table:
    """The question, the gap and the lower bound."""
    instance, problem = found.instance, found.problem
    alpha = "" if instance.alpha is None else f", alpha={instance.alpha:g}"
    goal = "largest" if instance.maximize else "smallest"
    table = Table(show_header=False, title="Plan")
    table.add_row(
        "instance", f"{instance.name}{alpha}, N={len(found.shares)}, K={instance.k}, {goal} means"
    )
    table.add_row("rewards", f"{problem.rewards.name}, sigma={problem.rewards.sigma:g}")
    table.add_row("wanted", f"error <= {problem.delta:g}, slack {problem.epsilon:g}")
    table.add_row("gap", f"{found.gap:.4g} between the K-th and the next mean")
    bound = f"none: {found.unsolved}"
    if found.lower_bound is not None:
        bound = f"{found.lower_bound:,.0f} samples on average, for any proved policy"
    table.add_row("lower bound", bound)
    return table


def costs(found: Plan) -> Table:
    """What every policy needs."""
    numbers = ("median", "5% to 95% of runs", "mean / lower bound", "wrong")
    title = f"Samples until it stops, {found.results[0].runs} runs each"
    table = columns("policy", "proved", *numbers, title=title, right=numbers)
    for result, entry in zip(found.results, found.cost.policies(), strict=True):
        low, median, high = _quantiles(result)
        ratio = entry["ratio_to_lower_bound"]
        cost = median, f"{low} to {high}", "-" if ratio is None else f"{ratio:.1f}"
        table.add_row(full_name(result), Text(proved(result)), *cost, str(result.wrong))
    return table


def _quantiles(result: SimulationResult) -> list[str]:
    """5%, 50% and 95%; a plus where the runs were cut off there."""
    cap = result.max_samples if result.unfinished else None
    return [f"{value:,.0f}{'+' if value == cap else ''}" for value in spread(result)]


def drivers(found: Plan) -> Table:
    """The arms that most samples go to."""
    names = ("rank", "arm (from 0)", "mean", "gap", "share")
    title = f"What drives the cost of {full_name(found.results[0])}"
    table = columns(*names, title=title, right=names)
    ranks, gaps, order = found.ranks, found.gaps, found.by_share
    for arm in order[:MOST_ARMS]:
        numbers = f"{found.instance.means[arm]:.4g}", f"{gaps[arm]:.4g}", f"{found.shares[arm]:.1%}"
        table.add_row(f"{ranks[arm]}", f"{arm}", *numbers)
    if rest := order[MOST_ARMS:]:
        table.add_section()
        what = "the other arm" if len(rest) == 1 else f"the other {len(rest):,} arms"
        table.add_row("", what, "", "", f"{found.shares[rest].sum():.1%}")
    return table


def sweep(found: Plan) -> Table:
    """Cost against slack."""
    names = ("epsilon", *map(full_name, found.results))
    title = "Samples against slack: median (5% to 95% of runs)"
    table = columns(*names, title=title, right=names)
    for at in found.sweep or ():
        quantiles = map(_quantiles, at.results)
        cells = [f"{median} ({low} to {high})" for low, median, high in quantiles]
        table.add_row(f"{at.epsilon:.4g}", *cells)
    return table
