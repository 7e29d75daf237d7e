"""`bestk reproduce`: both figures of the paper, and a verdict on every claim of its text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bestk.cli.cluster import Dask, workers
from bestk.cli.console import note, progress, say, show


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="N up to 200 and 20 runs: about a minute.")
    ] = False,
    panels: Annotated[
        str | None,
        typer.Option(
            help="Only these: fig1a to fig1h, fig2a to fig2f, cpe.", show_default="the paper's 14"
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs per point.", show_default="200, quick: 20")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy to add to the panels of both figures, such as one of your own (bestk"
            " --load FILE.py); may be repeated."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    dask: Dask = None,
) -> None:
    """Reproduce Figures 1 and 2 of the paper and test its claims.

    The panel cpe draws what the paper states about combinatorial pure
    exploration. Writes results.csv, the figures asked for (figure1, figure2, cpe;
    .png and .svg), claims.json and report.html, and added.json for added policies.
    If interrupted, run it again to resume.
    """
    from bestk.output import make_folder
    from bestk.paper.reproduce import choose_experiment
    from bestk.paper.results import ResultsFile
    from bestk.report import reproduction
    from bestk.report.figures.drawing import load_matplotlib
    from bestk.report.terminal import tables

    experiment = choose_experiment(panels, quick, runs, policy or ())
    load_matplotlib()  # before hours of work, not after
    with workers(dask, jobs) as (threads, executor):
        make_folder(out)
        file = ResultsFile(out / "results.csv")
        try:
            found = experiment.run(file, threads or os.cpu_count(), executor, progress)
        except KeyboardInterrupt:
            note(f"{len(file.rows)} points are in {file.path}; run it again to resume")
            raise
    written = reproduction.write(found, out)
    show(tables.claims(found.claims))
    for each in found.added:
        show(tables.added(each))
    for path in written:
        say(str(path))
