"""`bestk compile`: kernels compiled ahead."""

from __future__ import annotations

from typing import Annotated

import typer

from bestk.cli.console import progress, say, show_json


def compile_(
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Only this policy; may be repeated.", show_default="all"),
    ] = None,
    rewards: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this reward family: gaussian, bernoulli or bounded (ratings too).",
            show_default="all",
        ),
    ] = None,
    class_: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            help="Decision class: top-k, partition, spanning-tree, acyclic-path, cyclic-path,"
            " explicit or oracle.",
            show_default="top-k",
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All decision classes.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes.", show_default="one per core")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile kernels ahead, for an image that is deployed; nothing else needs it.

    They go to the folder that BESTK_CACHE_DIR names, or to the user's cache.
    """
    from bestk import ahead
    from bestk.compiled import cache

    classes = None if all_ else class_ or ["top-k"]
    wanted = ahead.programs_for(policy, rewards, classes)
    missing = [program for program in wanted if not program.is_ready()]
    took: dict[str, float] = {}
    with progress("compiling", len(missing)) as advance:

        def finished(name: str, seconds: float) -> None:
            took[name] = seconds
            advance(1, name)

        names = ahead.compile(
            policy, rewards=rewards, classes=classes, jobs=jobs, finished=finished
        )
    if json:
        show_json({"folder": str(cache.folder()), "programs": names, "compiled": took})
        return
    for name, seconds in took.items():
        say(f"{name}: {seconds:.0f} s")
    say(f"{len(names)} programs are in {cache.folder()}")
