"""The paper's instances (Section 5), means of the user's own, and families by their name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bestk.arguments import array, integer, real, shown, string
from bestk.decisions import DecisionClass, TopK
from bestk.decisions.base import require_decision
from bestk.decisions.topk import parse_k
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import GAUSSIAN, BoolArray, FloatArray, World
from bestk.problem import Problem
from bestk.rewards import Quantile, Rewards
from bestk.simulation.families import call_maker, find_maker, known_instances
from bestk.simulation.laws import Law
from bestk.simulation.streams import Draw

if TYPE_CHECKING:
    from bestk.simulation.pools import Pool

TIE = 1e-9  # relative: totals of a combinatorial class closer than this count as tied


@dataclass(frozen=True, eq=False)
class Instance:
    """True means, and which question is asked of them.

    Where rewards are compared by a quantile, `means` are the arms' true quantiles.
    """

    name: str
    alpha: float | None
    means: FloatArray
    decision: DecisionClass
    maximize: bool = True
    pool: Pool | None = None  #: what rewards are drawn from, where means do not say it all
    draws: tuple[Draw, ...] | None = None  #: or what draws them, the user's own functions
    law: Law | None = None  #: how rewards are drawn around a quantile; None: `Law()`
    assumed: Rewards | None = None  #: of rewards, where a simulation is not told

    def under(self, rewards: Rewards) -> Instance:
        """The same arms by what rewards compare: of replayed data, means or quantiles."""
        if self.pool is None or not isinstance(rewards, Quantile):
            return self
        return replace(self, means=self.pool.quantiles(rewards.q))

    def world(self, rewards: Rewards) -> World:
        """How rewards are drawn: normal with the assumption's sigma, coins, or from the pool."""
        if self.pool is not None:
            return self.pool.world(self.means)
        if self.draws is not None:
            return World(GAUSSIAN, self.means, rewards.sigma)  # nothing is drawn from it
        if isinstance(rewards, Quantile):
            return (self.law or Law()).world(self.means, rewards.q)
        assert rewards.law is not None
        return World(rewards.law, self.means, rewards.sigma)

    def problem(self, rewards: Rewards, delta: float, epsilon: float, **policy: Any) -> Problem:
        """What is asked of these arms; `policy` may be its name, variant and parameters."""
        given = self.decision, rewards, delta, epsilon
        return Problem(*given, maximize=self.maximize, items=self.items, **policy)

    @property
    def items(self) -> int | None:
        """How many items every arm scores, each once; None if samples never end."""
        return None if self.pool is None else self.pool.items

    @property
    def k(self) -> int | None:
        """The size of the answer, where all answers have one."""
        return self.decision.k if isinstance(self.decision, TopK) else None

    @property
    def values(self) -> FloatArray:
        """The means as the policy sees them: negated to minimise."""
        return self.means if self.maximize else -self.means

    @cached_property
    def optimum(self) -> BoolArray:
        """The best feasible set."""
        return self.decision.best(self.values)

    @property
    def size(self) -> int:
        """How many arms the best set has."""
        return int(self.optimum.sum())

    @property
    def best_total(self) -> float:
        """The total of the best feasible set, as the policy sees it."""
        return float(self.values[self.optimum].sum())

    @property
    def threshold(self) -> float:
        """The lowest value in the best set; of the K largest, mu_(K)."""
        return float(self.values[self.optimum].min())

    @property
    def tied(self) -> bool:
        """Whether another set is as good as the best, so that no sampling can tell them apart."""
        if isinstance(self.decision, TopK):
            return int(np.sum(self.values >= self.threshold)) > self.decision.k
        size = TIE * (1.0 + float(np.abs(self.values).max()))
        # a rival within rounding gains by leaving arms of the best set out, or by taking others in
        rival = self.decision.best(self.values + size * np.where(self.optimum, -1.0, 1.0))
        return not np.array_equal(rival, self.optimum)


def exponential(n: int, k: int, alpha: float) -> FloatArray:
    """Means that leave the boundary (N-K)/N like a power alpha, on both sides."""
    i = np.arange(1, n + 1)
    top = (n - k) / n + k / n * (np.maximum(k - i, 0) / k) ** alpha
    rest = (n - k) / n - (n - k) / n * (np.maximum(i - k, 0) / (n - k)) ** alpha
    means: FloatArray = np.where(i <= k, top, rest)
    return means


def own_means(values: Sequence[float] | FloatArray) -> FloatArray:
    """Means as users give them: finite numbers, one for each arm."""
    means = array(values, "means")
    if means.ndim != 1:
        raise InputError(f"means were refused: expected a flat list, got shape {means.shape}")
    for at in np.flatnonzero(~np.isfinite(means))[:1]:
        raise InputError(f"means were refused: number {at + 1} is {means[at]}, not finite")
    return means


def structured(
    decision: DecisionClass,
    means: Sequence[float] | FloatArray,
    *,
    maximize: bool = True,
    name: str = "means",
) -> Instance:
    """An instance of any decision class; `means` in the order of its arms."""
    require_decision(decision)
    values = own_means(means)
    if len(values) != decision.n_arms:
        raise InputError(
            f"{len(values)} means were refused: the class {decision.kind} has"
            f" {decision.n_arms} arms"
        )
    return Instance(name, None, values, decision, maximize)


def make_instance(
    name: str = "means",
    *,
    arms: int | None = None,
    k: int | str | None = None,
    alpha: float | None = None,
    means: Sequence[float] | FloatArray | None = None,
    maximize: bool = True,
) -> Instance:
    """An instance by its name in the paper, `means` of the user's own, or a registered family.

    A family (`bestk.register_instance`) is given what was named here, and may do without `k`.
    """
    if find_maker(string(name, "instance")) is not None:
        return _of_family(name, arms, k, alpha, means, maximize)
    if name not in (known := known_instances()):
        raise UnknownName("instance", name, known)
    if k is None:
        raise InputError("k is missing: how many arms should be found?")
    if name == "replay":
        raise InputError("instance 'replay' needs data: use bestk.replay, or --data and --array")
    if name == "means":
        if means is None:
            raise InputError("instance 'means' needs the means themselves")
        values = own_means(means)
        if alpha is not None:
            raise InputError(f"alpha={alpha} was refused: means of your own have none")
        if arms is not None and arms != len(values):
            raise InputError(f"arms={arms} was refused: there are {len(values)} means")
        return Instance(name, None, values, TopK(len(values), parse_k(k, len(values))), maximize)
    if means is not None:
        raise InputError(f"means were refused: instance '{name}' has its own")
    if arms is None:
        raise InputError(f"instance '{name}' needs the number of arms")
    arms = integer(arms, "arms")
    decision = TopK(arms, parse_k(k, arms))
    if name == "1-sparse":
        if alpha is not None:
            raise InputError(f"alpha={alpha} was refused: instance '1-sparse' has none")
        values = np.where(np.arange(arms) < decision.k, 0.5, 0.0)
    elif alpha is None:
        raise InputError(f"instance '{name}' needs alpha (the paper uses 0.3 and 0.6)")
    else:
        power = real(alpha, "alpha", "it must be a positive number")
        if power <= 0.0:
            raise InputError(f"alpha={alpha} was refused: it must be a positive number")
        alpha = power
        if name == "exponential":
            values = exponential(arms, decision.k, power)
        else:  # for K = 1 (Jamieson et al. 2014)
            values = 1.0 - (np.arange(arms) / arms) ** power
    return Instance(name, alpha, values, decision, maximize)


def _of_family(
    name: str,
    arms: int | None,
    k: int | str | None,
    alpha: float | None,
    means: object,
    maximize: bool,
) -> Instance:
    if means is not None:
        raise InputError(f"means were refused: instance '{name}' has its own")
    options = {"arms": arms, "k": k, "alpha": alpha, "maximize": None if maximize else False}
    made = call_maker(name, {key: value for key, value in options.items() if value is not None})
    if not isinstance(made, Instance):
        raise InputError(
            f"instance '{name}' was refused: its maker returned {shown(made)}, not a bestk.Instance"
        )
    return replace(made, name=name, alpha=made.alpha if alpha is None else alpha)


def read_means(text: str) -> list[float]:
    """Means from a comma list, or from a file with one number per line."""
    path = Path(text)
    try:
        from_file = "," not in text and path.is_file()
    except OSError:  # a name too long to be a file
        from_file = False
    if from_file:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read means from {path}: {error}") from error
        entries = [(f"{path}, line {n}", line) for n, line in enumerate(lines, 1) if line.strip()]
    else:
        entries = [(f"mean {n}", part) for n, part in enumerate(text.split(","), 1)]
    means = []
    for where, entry in entries:
        try:
            value = float(entry)
        except ValueError:
            hint = "" if from_file or "," in text else "; there is no file of that name either"
            raise InputError(f"{where}: '{entry.strip()}' is not a number{hint}") from None
        if not math.isfinite(value):
            raise InputError(f"{where}: '{entry.strip()}' is not finite")
        means.append(value)
    return means
