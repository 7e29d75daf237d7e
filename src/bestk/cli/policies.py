"""`bestk policies` and `bestk compile`: the catalogue, and its kernels compiled ahead."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bestk.cli.console import progress, say, show, show_json, warnings_noted
from bestk.cli.inputs import Json, JsonList
from bestk.errors import InputError


def policies(json: JsonList = False) -> None:
    """List every policy with its source, its guarantee and its parameters."""
    from bestk.policies import load_installed

    with warnings_noted():
        found = list(load_installed().values())
    if json:
        show_json([_described(policy) for policy in found])
    else:
        from bestk.report.terminal.tables import policies as table

        show(table(found))


def _described(policy: Any) -> dict[str, Any]:
    parameters = [
        {"name": p.name, "default": p.default, "choices": list(p.choices) or None, "about": p.about}
        for p in policy.parameters
    ]
    return {
        **{name: getattr(policy, name) for name in ("name", "title", "source", "about")},
        "guarantee": policy.theorem if policy.proved else None,
        "note": None if policy.proved else policy.theorem,
        "claim": policy.claim,
        "python": policy.is_python,
        "budget": policy.budget,
        "variants": list(policy.variants),
        "slack": policy.slack,
        "k": "1" if policy.single else "any",
        "combinatorial": policy.combinatorial,
        "parameters": parameters,
    }


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
    json: Json = False,
) -> None:
    """Compile kernels ahead of time, for an image; you never need this otherwise.

    They go to the folder BESTK_CACHE_DIR, or to the user's cache folder.
    """
    from bestk import ahead
    from bestk.compiled import cache

    if not cache.is_kept():
        raise InputError(
            "compiled programs cannot be stored: neither BESTK_CACHE_DIR nor the user's cache"
            " folder is writable"
        )
    classes = None if all_ else class_ or ["top-k"]
    wanted = ahead.programs_for(policy, rewards, classes)
    took: dict[str, float] = {}
    with progress("compiling", sum(not program.is_ready() for program in wanted)) as advance:

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
