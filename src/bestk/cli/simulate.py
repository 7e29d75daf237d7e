"""`bestk simulate`: one or several policies on one instance, many runs."""

from __future__ import annotations

import csv as tables
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli import inputs
from bestk.cli.cluster import Dask, workers
from bestk.cli.console import progress, show, show_json, warnings_noted
from bestk.errors import InputError, UnknownName
from bestk.output import check_output, replacing

if TYPE_CHECKING:
    from bestk.simulation import Comparison, Instance


def simulate(
    k: inputs.K = None,
    instance: inputs.Name = None,
    data: inputs.Data = None,
    array: inputs.Array = None,
    draw: inputs.Draw = None,
    without_replacement: inputs.WithoutReplacement = False,
    arms: inputs.Arms = None,
    decision: Annotated[
        str,
        typer.Option(
            help="What is looked for: top-k, spanning-tree, matching, path, partition, explicit."
        ),
    ] = "top-k",
    graph: Annotated[
        Path | None, typer.Option(help="JSON or CSV file with the parts and their means.")
    ] = None,
    generate: Annotated[
        str | None, typer.Option(help="grid:RxC, layered:LxW or bipartite:NxM, with --gap.")
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Lead of the best parts, with --generate.", show_default="0.5"),
    ] = None,
    minimize: inputs.Minimize = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME:VARIANT (`bestk policies` lists them); repeat it to compare several"
            " on the same rewards.",
            show_default="e-lucb; e-clucb for decisions other than top-k",
        ),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(help="faithful (default) or heuristic, if the policy has both.")
    ] = None,
    delta: inputs.Delta = 0.01,
    runs: Annotated[int, typer.Option(help="Number of independent runs.")] = 100,
    seed: inputs.Seed = 1,
    alpha: inputs.Alpha = None,
    means: Annotated[
        str | None, typer.Option(help="Comma-separated, or a file with one number per line.")
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(
            help="Slack: arms this close to the K-th best may be answered; for decisions other"
            " than top-k, totals this close to the best total."
        ),
    ] = 0.0,
    rewards: inputs.Family = None,
    sigma: inputs.Sigma = None,
    low: inputs.Low = None,
    high: inputs.High = None,
    quantile: inputs.Quantile = None,
    relative: inputs.Relative = False,
    law: inputs.LawName = None,
    spread: inputs.Spread = None,
    max_samples: inputs.MaxSamples = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="B[,B...]",
            help="Samples after which every run ends and gives its answer; fixed-budget policies"
            " need it. Several: the share of wrong answers at each.",
        ),
    ] = None,
    jobs: inputs.Jobs = None,
    dask: Dask = None,
    param: inputs.Params = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Output file (overwritten): every run."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Output file (overwritten): samples of all runs, .png or .svg."
        ),
    ] = None,
    json: inputs.Json = False,
) -> None:
    """Run policies on an instance with known means, and count samples and errors.

    Example: bestk simulate --instance 1-sparse --arms 100 --k 2 --runs 200
    """
    from bestk import simulation
    from bestk.simulation.comparison import compared, entries

    replay = data, array, draw
    if decision == "top-k":
        if any(value is not None for value in (graph, generate, gap)):
            raise InputError("--graph, --generate and --gap need a --decision other than top-k")
        made = inputs.top_k_instance(
            instance, k, arms, alpha, means, minimize, replay, without_replacement
        )
    else:
        if decision not in simulation.DECISIONS:
            raise UnknownName("decision", decision, simulation.DECISIONS)
        if any(value is not None for value in (instance, arms, k, alpha, means)):
            raise InputError(f"--decision {decision} takes its arms from --graph or --generate")
        inputs.refuse_data(replay, without_replacement)
        made = _structured(decision, graph, generate, gap, not minimize)
    assumed = inputs.assumed_rewards(made, rewards, sigma, low, high, quantile, relative)
    if csv is not None:
        check_output(csv)
    if plot is not None:
        inputs.check_plot(plot)
    todo = entries(policy or [], variant, inputs.read_params(param))
    budgets = _budgets(budget)
    with (
        workers(dask, jobs) as (threads, executor),
        warnings_noted(),
        progress("simulating", runs * len(todo) * len(budgets)) as advance,
    ):
        found = [
            compared(
                made, todo, delta=delta, epsilon=epsilon, rewards=assumed, law=law, spread=spread,
                runs=runs, seed=seed, max_samples=max_samples, budget=size, jobs=threads,
                executor=executor, progress=lambda done: advance(done, "simulating"),
            )
            for size in budgets
        ]  # fmt: skip
    if csv is not None:
        _write(csv, found)
    _show(found, plot, json)


def _budgets(text: str | None) -> list[int | None]:
    if text is None:
        return [None]
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise InputError(
            f"--budget {text} was refused: give a whole number, or several with commas between"
        ) from None
    return [*found]


def _write(csv: Path, found: Sequence[Comparison]) -> None:
    """Every run of every policy, at every budget."""
    from bestk.simulation.records import RUN_COLUMNS

    with replacing(csv) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = tables.writer(file)
        writer.writerow(RUN_COLUMNS)
        for each in found:
            writer.writerows(each.rows())


def _show(found: Sequence[Comparison], plot: Path | None, json: bool) -> None:
    """Draw and print what was found, at one budget or at several."""
    from bestk.report.figures import budgets, comparison
    from bestk.report.terminal import tables as terminal

    first, several = found[0], len(found) > 1
    if plot is not None and several:
        budgets.save(found, plot)
    elif plot is not None:
        comparison.save(first, plot)
    if several and json:
        show_json({"budgets": [each.to_dict() for each in found]})
    elif several:
        show(terminal.budgets(found))
    elif json:
        show_json((first if len(first.results) > 1 else first.results[0]).to_dict())
    elif len(first.results) > 1:
        show(terminal.comparison(first))
    else:
        show(terminal.simulation(first.results[0]))


def _structured(
    decision: str, graph: Path | None, generate: str | None, gap: float | None, maximize: bool
) -> Instance:
    from bestk import simulation

    if (graph is None) == (generate is None):
        raise InputError(f"--decision {decision} needs either --graph or --generate")
    if graph is None:
        found = simulation.generate(generate or "", decision, 0.5 if gap is None else gap, maximize)
    elif gap is None:
        found = simulation.read_graph(graph, decision)
    else:
        raise InputError("--gap goes with --generate: a graph file has its own means")
    return simulation.structured(found.decision, found.means, maximize=maximize, name=found.name)
