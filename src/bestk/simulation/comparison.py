"""Several policies on one instance, on the same rewards run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bestk.errors import InputError
from bestk.policies import find
from bestk.simulation.engine import simulate
from bestk.simulation.instances import Instance
from bestk.simulation.records import SimulationResult, frame

if TYPE_CHECKING:
    from pandas import DataFrame


class Entry(NamedTuple):
    """One policy to be simulated; None: the default."""

    policy: str | None
    variant: str | None
    params: dict[str, Any]


def entries(policies: Sequence[str], variant: str | None, params: dict[str, Any]) -> list[Entry]:
    """Policies as people name them, `lil-rand-lucb` or `lil-rand-lucb:heuristic`.

    `variant` is for those that have variants and name none. Of several policies each takes the
    parameters that it has, and every parameter must be one of some policy's.
    """
    if not policies:
        return [Entry(None, variant, params)]
    split = [each.partition(":") for each in policies]
    if len(split) == 1:
        name, _, own = split[0]
        return [Entry(name, own or variant, params)]
    found: list[Entry] = []
    used: set[str] = set()
    for name, _, own in split:
        policy = find(name)
        known = {parameter.name for parameter in policy.parameters}
        mine = {key: value for key, value in params.items() if key in known}
        used |= mine.keys()
        found.append(Entry(name, own or (variant if policy.variants else None), mine))
    for key in params.keys() - used:
        raise InputError(f"param {key} was refused: none of {', '.join(policies)} has it")
    return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """Simulations of several policies; the first is what the others are compared with."""

    results: tuple[SimulationResult, ...]

    def ratio(self, result: SimulationResult) -> tuple[float, float, float] | None:
        """Mean samples over those of the first policy, and a 95% interval for paired runs.

        By the delta method on the log, with Student's quantile for few runs; None where a run was
        cut off, for a single run, and where one of the two takes no sample at all.
        """
        from scipy.special import stdtrit

        first = self.results[0]
        if first.unfinished or result.unfinished or first.runs < 2:
            return None
        x, y = result.samples.astype(float), first.samples.astype(float)
        if not (x.any() and y.any()):
            return None
        value = float(x.mean() / y.mean())
        error = float(np.std(x - value * y, ddof=1)) / math.sqrt(len(x)) / float(y.mean())
        factor = math.exp(error / value * float(stdtrit(len(x) - 1, 0.975)))
        return value, value / factor, value * factor

    @property
    def budget(self) -> int | None:
        """After how many samples the runs of all policies end; None where some stop themselves."""
        budgets = {result.budget for result in self.results}
        return budgets.pop() if len(budgets) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """What `bestk simulate --json` prints of several policies."""
        rows = []
        for result in self.results:
            found = self.ratio(result)
            ci = None if found is None else list(found[1:])
            rows.append(
                {**result.to_dict(), "ratio": None if found is None else found[0], "ratio_ci": ci}
            )
        return {"reference": self.results[0].problem.policy, "results": rows}

    def rows(self) -> list[tuple[Any, ...]]:
        """Every run of every policy, by `RUN_COLUMNS`."""
        return [row for result in self.results for row in result.rows()]

    def to_pandas(self) -> DataFrame:
        """A row for every run of every policy; needs pandas."""
        return frame(self.rows())


def compared(instance: Instance, policies: Sequence[Entry], **settings: Any) -> Comparison:
    """Simulations of these policies, with the same settings of `simulate`."""
    results = (
        simulate(instance, each.policy, each.variant, params=each.params, **settings)
        for each in policies
    )
    return Comparison(tuple(results))
