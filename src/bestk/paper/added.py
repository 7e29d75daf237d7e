"""Policies that the paper does not have, added to its panels: `bestk reproduce --policy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bestk.errors import InputError
from bestk.paper import statistics as st
from bestk.paper.panels import OURS, Panel
from bestk.paper.results import Row, Rows
from bestk.policies import find


def add_policies(panels: Sequence[Panel], names: Sequence[str]) -> tuple[Panel, ...]:
    """The panels with these policies too, where they are not yet and can answer for K arms."""
    for name in dict.fromkeys(names):
        policy = find(name)
        if policy.budget:
            raise InputError(
                f"policy {name} was refused: it spends a fixed budget, and the panels show how many"
                " samples a policy needs; `bestk simulate --budget` shows the error at a budget"
            )
        fits = [panel.k == "1" or not policy.single for panel in panels]
        if not any(fits):
            raise InputError(f"policy {name} was refused: it finds one arm, and no panel has K=1")
        panels = [
            replace(panel, policies=(*panel.policies, name))
            if fit and name not in panel.policies
            else panel
            for panel, fit in zip(panels, fits, strict=True)
        ]
    return tuple(panels)


@dataclass(frozen=True)
class Added:
    """A policy that was added, and the points at which it was run."""

    policy: str
    title: str
    proved: bool  # by bestk, for the faithful variant
    claim: str | None  # of its author, of a policy in Python; nothing we checked
    points: tuple[tuple[Row, st.Interval], ...]  # with the samples relative to e-lucb's

    @property
    def words(self) -> str:
        """What is known of its error, for people."""
        if self.claim is not None:
            return f"its author claims: {self.claim}"
        return "error <= delta proved (faithful)" if self.proved else "nothing is claimed"

    def to_dict(self) -> dict[str, Any]:
        """One entry of added.json."""
        points = [
            {**asdict(row), "ratio": ratio.value, "ratio_ci": [ratio.low, ratio.high]}
            for row, ratio in self.points
        ]
        return {
            "policy": self.policy,
            "title": self.title,
            "proved": self.proved,
            "claim": self.claim,
            "points": points,
        }


def added(rows: Rows, names: Sequence[str], paper: Sequence[Panel]) -> list[Added]:
    """What was found of these policies in the panels that have them only because of it."""
    policies = {panel.id: panel.policies for panel in paper}
    found = []
    for name in dict.fromkeys(names):
        entry = find(name)
        points = tuple(
            (row, st.ratio(row.samples, rows[row.panel, row.arms, OURS].samples))
            for row in sorted(rows.values(), key=lambda row: (row.panel, row.arms))
            if row.policy == name and name not in policies[row.panel]
        )
        if points:
            found.append(Added(name, entry.title, entry.proved, entry.claim, points))
    return found
