"""`bestk plan`: what finding the K best will cost, before the first sample is paid for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from bestk.cli import inputs
from bestk.cli.console import progress, show, show_json, warnings_noted
from bestk.errors import InputError

if TYPE_CHECKING:
    from bestk.simulation import Instance

AUTO = "auto"


class PlanCommand(TyperCommand):
    """Lets `--epsilon-sweep` stand without a value, which then is `auto`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, the value filled in where none follows."""
        whole = []
        for arg, following in zip(args, [*args[1:], "--"], strict=False):
            whole.append(arg)
            if arg == "--epsilon-sweep" and re.match(r"-\D", following):
                whole.append(AUTO)
        return super().parse_args(ctx, whole)


def plan(
    means: Annotated[
        str | None,
        typer.Option(help="Your guesses: comma-separated, or a file with one per line."),
    ] = None,
    k: inputs.K = None,
    instance: inputs.Name = None,
    arms: inputs.Arms = None,
    alpha: inputs.Alpha = None,
    data: inputs.Data = None,
    array: inputs.Array = None,
    draw: inputs.Draw = None,
    minimize: inputs.Minimize = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME:VARIANT, as in lil-rand-lucb:heuristic; may be repeated. Shares are"
            " those of the first.",
            show_default="e-lucb, lil-rand-lucb and uniform",
        ),
    ] = None,
    delta: inputs.Delta = 0.01,
    epsilon: inputs.Slack = 0.0,
    epsilon_sweep: Annotated[
        str | None,
        typer.Option(
            metavar="[LIST]",
            help="Cost against slack, for these slacks, comma-separated; with auto, or no value,"
            " for slacks around the gap between the K-th and the next mean.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the sweep, as .png or .svg; implies --epsilon-sweep."
        ),
    ] = None,
    rewards: inputs.Family = None,
    quantile: Annotated[float | None, typer.Option(hidden=True)] = None,  # refused with advice
    sigma: inputs.Sigma = None,
    low: inputs.Low = None,
    high: inputs.High = None,
    runs: Annotated[int, typer.Option(help="Runs per policy and slack.")] = 200,
    seed: inputs.Seed = 1,
    max_samples: inputs.MaxSamples = None,
    jobs: inputs.Jobs = None,
    json: inputs.Json = False,
) -> None:
    """Estimate what finding the K best will cost, from guessed means, before you start.

    Example: bestk plan --means 0.8,0.7,0.6,0.5,0.4 --k 2 --delta 0.05 --epsilon-sweep
    """
    from bestk.simulation import planning

    replay = data, array, draw
    made = inputs.top_k_instance(instance, k, arms, alpha, means, minimize, replay)
    family = rewards if quantile is None else "quantile"
    assumed = inputs.assumed_rewards(made, family, sigma, low, high)
    if plot is not None:
        inputs.check_plot(plot)
        epsilon_sweep = epsilon_sweep or AUTO
    slacks = _slacks(epsilon_sweep, made, epsilon)
    policies = policy or planning.POLICIES
    with (
        warnings_noted(),
        progress("planning", planning.total_runs(policies, runs, epsilon, slacks)) as advance,
    ):
        found = planning.plan(
            made, policies=policies, delta=delta, epsilon=epsilon, epsilons=slacks, rewards=assumed,
            runs=runs, seed=seed, max_samples=max_samples, jobs=jobs, progress=advance,
        )  # fmt: skip
    if plot is not None:
        from bestk.report.figures import plan as plan_figure

        plan_figure.save(found, plot)
    if json:
        show_json(found.to_dict())
        return
    from bestk.report.terminal import plan as plan_tables

    show(plan_tables.summary(found))
    show(plan_tables.costs(found))
    for result in found.results:
        if result.unfinished:
            show(
                f"{result.unfinished} of {result.runs} runs of {planning.full_name(result)} were"
                f" cut off at {result.max_samples:,} samples: it costs more than shown."
            )
    show(plan_tables.drivers(found))
    if found.sweep is not None:
        show(plan_tables.sweep(found))
        show(f"Drawn in {plot}." if plot else "--plot FILE.png draws this table.")
    show(planning.CAUTION)


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
