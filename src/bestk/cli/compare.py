"""`bestk compare`: several policies on several instances, as the table that a paper prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestk.cli import inputs
from bestk.cli.cluster import Dask, workers
from bestk.cli.console import progress, show, show_json, warnings_noted
from bestk.errors import InputError, UnknownName
from bestk.output import check_output, replacing

if TYPE_CHECKING:
    from bestk.simulation import Instance


def compare(
    instances: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE...",
            help="NAME:N:K, such as 1-sparse:50:5 or 1-sparse:50:N/2; NAME:N:K:ALPHA, such as"
            " exponential:50:2:0.3; FILE:K for a file with one mean per line; NAME for a family of"
            " your own that needs neither.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME:VARIANT; may be repeated. Ratios refer to the first.",
            show_default="e-lucb, lucb++, lil-rand-lucb:heuristic",
        ),
    ] = None,
    delta: inputs.Delta = 0.01,
    epsilon: inputs.Slack = 0.0,
    runs: Annotated[int, typer.Option(help="Independent runs of every policy.")] = 100,
    seed: inputs.Seed = 1,
    rewards: inputs.Family = None,
    sigma: inputs.Sigma = None,
    minimize: inputs.Minimize = False,
    max_samples: inputs.MaxSamples = None,
    budget: inputs.Budget = None,
    param: inputs.Params = None,
    jobs: inputs.Jobs = None,
    dask: Dask = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Output file (overwritten): .md, .tex or .csv; may be repeated."
        ),
    ] = None,
    json: inputs.Json = False,
) -> None:
    """Compare policies on several instances, on the same rewards, and print one table.

    Example: bestk compare 1-sparse:20:2 1-sparse:50:2 --policy e-lucb --policy lucb++ --out t.tex
    """
    from bestk.report.paper_table import KINDS, PaperTable
    from bestk.report.terminal import tables
    from bestk.simulation.comparison import compared, entries

    for file in out or ():
        if file.suffix not in KINDS:
            raise UnknownName("kind of table", file.suffix or file.name, KINDS)
        check_output(file)
    made = [_instance(text, minimize) for text in instances]
    todo = entries(
        policy or ["e-lucb", "lucb++", "lil-rand-lucb:heuristic"], None, inputs.read_params(param)
    )
    found = []
    with (
        workers(dask, jobs) as (threads, executor),
        warnings_noted(),
        progress("comparing", runs * len(todo) * len(made)) as advance,
    ):
        for text, each in zip(instances, made, strict=True):
            comparison = compared(
                each, todo, delta=delta, epsilon=epsilon, runs=runs, seed=seed,
                rewards=inputs.assumed_rewards(each, rewards, sigma, None, None),
                max_samples=max_samples, budget=budget, executor=executor, jobs=threads,
                progress=lambda done, text=text: advance(done, text),
            )  # fmt: skip
            found.append(comparison)
    table = PaperTable(found)
    for file in out or ():
        with replacing(file) as draft:
            draft.write_text(table.write(file.suffix), encoding="utf-8")
    if json:
        show_json({"instances": [each.to_dict() for each in found]})
    else:
        show(tables.paper(table))


def _instance(text: str, minimize: bool) -> Instance:
    """What a person wrote for one instance."""
    from bestk import simulation

    maximize = not minimize
    name, *sizes = text.split(":")
    if name in _families() and all(sizes) and len(sizes) in (0, 2, 3):
        options: dict[str, Any] = dict(zip(("arms", "k", "alpha"), sizes, strict=False))
        for option, kind in (("arms", int), ("alpha", float)):
            if option in options:
                options[option] = _number(kind, options[option], text)
        made = simulation.make_instance(name, maximize=maximize, **options)
        return replace(made, name=f"{name} ({sizes[2]})") if len(sizes) == 3 else made
    name, _, k = text.rpartition(":")
    if name and Path(name).is_file():
        means = simulation.read_means(name)
        made = simulation.make_instance("means", k=k, means=means, maximize=maximize)
        return replace(made, name=Path(name).name)
    raise _refused(text)


def _number(kind: type[int] | type[float], digits: str, text: str) -> float:
    try:
        return kind(digits)
    except ValueError:
        raise _refused(text) from None


def _families() -> list[str]:
    """Those of which a size says everything."""
    from bestk import simulation

    return [name for name in simulation.known_instances() if name not in ("means", "replay")]


def _refused(text: str) -> InputError:
    return InputError(
        f"instance '{text}' was refused: write NAME:N:K or NAME:N:K:ALPHA, where NAME is one of"
        f" {', '.join(_families())}, or FILE:K with a file of means"
    )
