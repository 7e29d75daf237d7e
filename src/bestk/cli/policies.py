"""`bestk policies`: the catalogue."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bestk.cli.console import show, show_json


def policies(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List every policy with its source, its guarantee and its parameters."""
    if json:
        show_json(_data())
        return
    from bestk.report.terminal.tables import policies as table

    show(table())


def _data() -> list[dict[str, Any]]:
    from bestk.policies import CATALOGUE

    return [
        {
            "name": policy.name,
            "title": policy.title,
            "source": policy.source,
            "about": policy.about,
            "guarantee": policy.theorem if policy.proved else None,
            "note": None if policy.proved else policy.theorem,
            "variants": list(policy.variants),
            "slack": policy.slack,
            "k": "1" if policy.single else "any",
            "combinatorial": policy.combinatorial,
            "parameters": [
                {
                    "name": parameter.name,
                    "default": parameter.default,
                    "choices": list(parameter.choices) or None,
                    "about": parameter.about,
                }
                for parameter in policy.parameters
            ],
        }
        for policy in CATALOGUE.values()
    ]
