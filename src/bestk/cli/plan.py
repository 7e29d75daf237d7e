"""`bestk plan`: what finding the K best will cost, before the first sample is paid for."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from bestk.cli.console import announce_compilation, note, progress, show, show_json
from bestk.cli.inputs import assumed_rewards, top_k_instance
from bestk.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from bestk.simulation import Instance, Plan, SimulationResult

AUTO = "auto"
PLOTS = (".png", ".svg")
MOST_ARMS = 10  # that drive the cost: shown one by one


class PlanCommand(TyperCommand):
    """Lets `--epsilon-sweep` stand without a value, which then is `auto`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, the value filled in where none follows."""
        whole = []
        for arg, following in zip(args, [*args[1:], "--"], strict=True):
            whole.append(arg)
            if arg == "--epsilon-sweep" and re.match(r"-\D", following):
                whole.append(AUTO)
        return super().parse_args(ctx, whole)


def plan(
    means: Annotated[
        str | None,
        typer.Option(help="Your guesses: a comma list, or a file with one number a line."),
    ] = None,
    k: Annotated[
        str | None, typer.Option(help="How many arms to find: an integer, or N/2.")
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option(help="1-sparse, exponential, lil-exponential, means or replay."),
    ] = None,
    arms: Annotated[int | None, typer.Option(help="Number of arms N.")] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Exponent of exponential and lil-exponential.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="With --instance replay: an .npz file of observed rewards.")
    ] = None,
    array: Annotated[str | None, typer.Option(help="Its array.")] = None,
    draw: Annotated[
        str | None, typer.Option(help="table or gaussian, as in simulate.", show_default="table")
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize", help="Rewards are costs: find the smallest.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="May be repeated; a variant after a colon, as in lil-rand-lucb:heuristic. Shares"
            " are those of the first.",
            show_default="e-lucb, lil-rand-lucb and uniform",
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Wanted error probability (the paper's nu).")] = 0.01,
    epsilon: Annotated[
        float, typer.Option(help="Slack: arms this close to the K-th best may be answered.")
    ] = 0.0,
    epsilon_sweep: Annotated[
        str | None,
        typer.Option(
            metavar="[LIST]",
            help="Cost against slack: a comma list of slacks; auto, or no value: slacks around the"
            " gap between the K-th and the next mean.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the sweep, as .png or .svg; sweeps if not asked."),
    ] = None,
    rewards: Annotated[
        str,
        typer.Option(
            help="What is assumed: gaussian, subgaussian, bernoulli; of replayed data also ratings"
            " and bounded."
        ),
    ] = "gaussian",
    sigma: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation, or a bound of it, of gaussian and subgaussian rewards.",
            show_default="0.5; the pooled one with --draw gaussian",
        ),
    ] = None,
    low: Annotated[
        float | None, typer.Option(help="Least bounded reward.", show_default="0")
    ] = None,
    high: Annotated[
        float | None, typer.Option(help="Largest bounded reward.", show_default="1")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many runs a policy and slack.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 1,
    max_samples: Annotated[
        int | None,
        typer.Option(help="Cut a run off here: it is then unfinished.", show_default="10^9"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Threads; results do not depend on it.", show_default="all cores"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what finding the K best will cost, from guessed means, before you start.

    Example: bestk plan --means 0.8,0.7,0.6,0.5,0.4 --k 2 --delta 0.05 --epsilon-sweep
    """
    from bestk.simulation import planning

    made = top_k_instance(
        instance,
        arms=arms,
        k=k,
        alpha=alpha,
        means=means,
        data=data,
        array=array,
        draw=draw,
        minimize=minimize,
    )
    assumed = assumed_rewards(made, rewards, sigma, low, high)
    if plot is not None:
        _check_plot(plot)  # before the work, not after
        epsilon_sweep = epsilon_sweep or AUTO
    slacks = _slacks(epsilon_sweep, made, epsilon)
    policies = policy or planning.POLICIES
    announce_compilation()
    with (
        warnings.catch_warnings(record=True) as caught,
        progress("planning", planning.total_runs(policies, runs, epsilon, slacks)) as advance,
    ):
        warnings.simplefilter("always")
        found = planning.plan(
            made,
            policies=policies,
            delta=delta,
            epsilon=epsilon,
            epsilons=slacks,
            rewards=assumed,
            runs=runs,
            seed=seed,
            max_samples=max_samples,
            jobs=jobs,
            progress=advance,
        )
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        note(f"warning: {message}")
    if plot is not None:
        from bestk.report import plan_figure

        plan_figure.save(found, plot)
    if json:
        show_json(found.to_dict())
        return
    show(_summary(found))
    show(_costs(found))
    for result in found.results:
        if result.unfinished:
            show(
                f"{result.unfinished} of {result.runs} runs of {planning.full_name(result)} were"
                f" cut off at {result.max_samples:,} samples: it costs more than shown."
            )
    show(_drivers(found))
    if found.sweep is not None:
        show(_sweep(found))
        show(f"Drawn in {plot}." if plot else "--plot FILE.png draws this table.")
    show(planning.CAUTION)


def _check_plot(path: Path) -> None:
    from bestk.report.figures import load_matplotlib

    if path.suffix.lower() not in PLOTS:
        raise InputError(f"--plot {path} was refused: its name must end in {' or '.join(PLOTS)}")
    if not path.parent.is_dir():
        raise InputError(f"--plot {path} was refused: there is no folder {path.parent}")
    load_matplotlib()


def _slacks(text: str | None, made: Instance, epsilon: float) -> list[float] | None:
    from bestk.simulation.planning import sweep_slacks

    if text is None:
        return None
    if text.strip() == AUTO:
        return sweep_slacks(made, epsilon)
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"--epsilon-sweep '{text}' was refused: give numbers, as in 0.01,0.02,0.05, or {AUTO}"
        ) from None


def _summary(found: Plan) -> Table:
    from rich.table import Table

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


def _costs(found: Plan) -> Table:
    from rich.table import Table

    from bestk.simulation.planning import full_name

    table = Table(title=f"Samples until it stops, {found.results[0].runs} runs each")
    table.add_column("policy")
    table.add_column("proved")
    for column in ("median", "5% to 95% of runs", "mean / lower bound", "wrong"):
        table.add_column(column, justify="right")
    for result, entry in zip(found.results, found.cost.policies(), strict=True):
        low, median, high = _quantiles(result)
        ratio = entry["ratio_to_lower_bound"]
        table.add_row(
            full_name(result),
            "heuristic: none" if result.guarantee is None else f"error <= {result.guarantee:g}",
            median,
            f"{low} to {high}",
            "-" if ratio is None else f"{ratio:.1f}",
            str(result.wrong),
        )
    return table


def _quantiles(result: SimulationResult) -> list[str]:
    """5%, 50% and 95%; a plus where the runs were cut off there."""
    from bestk.simulation.planning import spread

    cap = result.max_samples if result.unfinished else None
    return [f"{value:,.0f}{'+' if value == cap else ''}" for value in spread(result)]


def _drivers(found: Plan) -> Table:
    from rich.table import Table

    from bestk.simulation.planning import full_name

    table = Table(title=f"What drives the cost of {full_name(found.results[0])}")
    for column in ("rank", "arm (from 0)", "mean", "gap", "share"):
        table.add_column(column, justify="right")
    ranks, gaps, order = found.ranks, found.gaps, found.by_share
    for arm in order[:MOST_ARMS]:
        table.add_row(
            f"{ranks[arm]}",
            f"{arm}",
            f"{found.instance.means[arm]:.4g}",
            f"{gaps[arm]:.4g}",
            f"{found.shares[arm]:.1%}",
        )
    if rest := order[MOST_ARMS:]:
        table.add_section()
        what = "the other arm" if len(rest) == 1 else f"the other {len(rest):,} arms"
        table.add_row("", what, "", "", f"{found.shares[rest].sum():.1%}")
    return table


def _sweep(found: Plan) -> Table:
    from rich.table import Table

    from bestk.simulation.planning import full_name

    table = Table(title="Samples against slack: median (5% to 95% of runs)")
    table.add_column("epsilon", justify="right")
    for result in found.results:
        table.add_column(full_name(result), justify="right")
    for at in found.sweep or ():
        cells = []
        for result in at.results:
            low, median, high = _quantiles(result)
            cells.append(f"{median} ({low} to {high})")
        table.add_row(f"{at.epsilon:.4g}", *cells)
    return table
