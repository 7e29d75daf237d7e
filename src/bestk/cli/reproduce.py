"""`bestk reproduce`: both figures of the paper, and a verdict on every claim of its text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli.cluster import Dask, workers
from bestk.cli.console import announce_compilation, note, progress, say, show
from bestk.errors import InputError

if TYPE_CHECKING:
    from bestk.paper.results import Row, Rows
    from bestk.paper.verdicts import Claim

FULL_RUNS, QUICK_RUNS = 200, 20


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="N up to 200 and 20 runs: a minute or so.")
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
    jobs: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    dask: Dask = None,
) -> None:
    """Reproduce Figures 1 and 2 of the paper and test its claims.

    The panel cpe draws what the paper states of combinatorial pure exploration. Writes results.csv,
    figure1, figure2 and cpe (.png and .svg) where asked for, claims.json and report.html. An
    interrupted run resumes where it stopped: run it again.
    """
    from bestk.paper import claims, cpe, further_claims, run
    from bestk.paper.panels import FULL_ARMS, QUICK_ARMS, choose
    from bestk.paper.results import ResultsFile
    from bestk.report import figures, tables

    if runs is None:
        runs = QUICK_RUNS if quick else FULL_RUNS
    if runs < 2:
        raise InputError(f"runs={runs} was refused: an interval needs at least 2")
    chosen, with_cpe = choose(panels)
    figures.load_matplotlib()  # before hours of work, not after
    with workers(dask, jobs) as who:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {out}: {error.strerror}") from error
        file = ResultsFile(out / "results.csv")
        wanted = list(run.points(chosen, QUICK_ARMS if quick else FULL_ARMS))
        combinatorial = cpe.points(quick) if with_cpe else []
        if dask is None:
            announce_compilation()
        try:
            with progress("reproducing", len(wanted) + len(combinatorial)) as advance:
                run.run_points(
                    file,
                    wanted,
                    runs,
                    who.jobs,
                    lambda p: advance(1, f"{p.panel.id} N={p.arms} {p.policy}"),
                    who.executor,
                )
                cpe.run_points(
                    file,
                    combinatorial,
                    runs,
                    who.jobs,
                    lambda p: advance(1, f"{p.structure.name} G={p.gap} {p.policy}"),
                    who.executor,
                )
        except KeyboardInterrupt:
            note(f"{len(file.rows)} points are in {file.path}; run it again to resume")
            raise
        tested = []
        if panels is None:
            with progress("testing claims", len(further_claims.FURTHER)) as advance:
                for test in further_claims.FURTHER:
                    tested.append(test(further_claims.Lab(runs, who.jobs, who.executor)))
                    advance(1, "testing claims")
    rows = {point.key: file.rows[point.key] for point in wanted}
    cpe_rows = [file.rows[point.key] for point in combinatorial]
    found = claims.from_panels(rows) + tested
    found += cpe.fewer(cpe_rows)
    if (growth := cpe.growth(cpe_rows)) is not None:
        found.append(growth)
    found.sort(key=lambda claim: (int(claim.id.split("-")[0]), claim.id))
    command = "bestk reproduce" + " --quick" * quick + (f" --panels {panels}" if panels else "")
    written = _write(out, rows, cpe_rows, found, f"{command} --runs {runs}")
    show(tables.claims(found))
    for path in written:
        say(str(path))


def _write(
    out: Path, rows: Rows, cpe_rows: Sequence[Row], found: Sequence[Claim], command: str
) -> list[Path]:
    """Draw the figures and write the verdicts."""
    from bestk.report import cpe_figure, figures, html
    from bestk.report.output import write_text

    verdicts, page = out / "claims.json", out / "report.html"
    try:
        pictures = figures.save(rows, out)
        if cpe_rows:
            pictures += cpe_figure.save(cpe_rows, out)
        text = json.dumps([claim.to_dict() for claim in found], indent=1) + "\n"
        write_text(verdicts, text)
        html.write(page, [path for path in pictures if path.suffix == ".png"], found, command)
    except OSError as error:
        raise InputError(f"cannot write {error.filename}: {error.strerror}") from error
    return [*pictures, verdicts, page]
