"""What an identification will cost, from guessed means, before the first sample is paid for."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bestk.arguments import real, string
from bestk.compiled.rent import loaded_at_once
from bestk.decisions.labels import items
from bestk.errors import InputError
from bestk.hardness import kl_of_error
from bestk.kernels.types import FloatArray, IntArray
from bestk.policies import find
from bestk.policies.checks import SLACK
from bestk.problem import Problem
from bestk.rewards import Quantile, Rewards
from bestk.simulation.batch import Batch
from bestk.simulation.engine import as_instance, assumed_by_default, simulate, whole
from bestk.simulation.instances import Instance
from bestk.simulation.records import SimulationResult, best_k_limit
from bestk.simulation.spreading import blocks_of, ignore, spread_over_threads

POLICIES = ("e-lucb", "lil-rand-lucb", "uniform")  # ours, the paper's, what people do without
AUTO = "auto"
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the automatic sweep, times the gap at the boundary
RUNS = 200
SHARE_RUNS = 50  # enough for shares: each run averages over all of its samples

CAUTION = (
    "Simulated from guessed means: guesses that lie too far apart make the plan too cheap"
    " (with half the gaps it costs about four times as much)."
)

Progress = Callable[[int, str], None]  # how many more runs are done, and what is being done


@dataclass(frozen=True, eq=False)
class SlackCost:
    """What all chosen policies cost at one slack."""

    epsilon: float
    results: tuple[SimulationResult, ...]
    lower_bound: float | None  #: mean samples that any policy with this error needs, where solved

    def policies(self) -> list[dict[str, Any]]:
        """A JSON-ready entry a policy."""
        entries, bound = [], self.lower_bound
        for result in self.results:
            low, median, high = spread(result)
            samples = {"median": median, "p5": low, "p95": high, "mean": result.mean}
            entries.append(
                {
                    "policy": result.problem.policy,
                    "variant": result.variant,
                    "guarantee": result.guarantee,
                    "samples": samples | {"sem": result.sem},
                    "wrong": result.wrong,
                    "unfinished": result.unfinished,
                    # the bound is on the mean number of samples, so the mean is compared with it
                    "ratio_to_lower_bound": result.mean / bound if bound else None,
                }
            )
        return entries


@dataclass(frozen=True, eq=False)
class Plan:
    """The simulated cost of finding the K best if the means are what they are guessed to be.

    Cost grows like one over the squared gaps, so guesses that lie too far apart make a plan too
    cheap. `to_dict()` is what `bestk plan --json` prints.
    """

    instance: Instance
    cost: SlackCost  #: at the slack that was asked for
    shares: FloatArray  #: of each arm in the samples of the first policy, in the order of the means
    sweep: tuple[SlackCost, ...] | None
    t_star: float | None  #: the part of the lower bound that does not depend on delta
    unsolved: str | None  #: why there is no lower bound

    @property
    def results(self) -> tuple[SimulationResult, ...]:
        """One simulation a policy, at the slack that was asked for."""
        return self.cost.results

    @property
    def problem(self) -> Problem:
        """The problem of the first policy."""
        return self.results[0].problem

    @property
    def gap(self) -> float:
        """mu_K - mu_(K+1), which decides the cost more than any other."""
        return float(self.gaps.min())

    @property
    def gaps(self) -> FloatArray:
        """Delta_i: mu_i - mu_(K+1) in the top, mu_K - mu_i outside."""
        values, top = self.instance.values, self.instance.optimum
        with np.errstate(over="ignore"):  # gaps that are too large for a number need no samples
            gaps: FloatArray = np.where(
                top, values - values[~top].max(), values[top].min() - values
            )
        return gaps

    @property
    def ranks(self) -> IntArray:
        """1 for the best arm, N for the worst; equal means in the order they were given."""
        ranks = np.empty(len(self.shares), np.int64)
        ranks[np.argsort(-self.instance.values, kind="stable")] = np.arange(1, len(ranks) + 1)
        return ranks

    @property
    def by_share(self) -> list[int]:
        """The arms, the most sampled first."""
        order: list[int] = np.argsort(-self.shares, kind="stable").tolist()
        return order

    @property
    def lower_bound(self) -> float | None:
        """Mean samples that any policy with this error needs; None where unsolved."""
        return self.cost.lower_bound

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form: finite numbers and nulls only, the most sampled arms first."""
        instance, problem, first = self.instance, self.problem, self.results[0]
        gaps = self.gaps
        return {
            "instance": instance.name,
            "alpha": instance.alpha,
            "arms": len(self.shares),
            "k": instance.k,
            "maximize": instance.maximize,
            "rewards": problem.rewards.name,
            "sigma": problem.rewards.sigma,
            "delta": problem.delta,
            "epsilon": problem.epsilon,
            "runs": first.runs,
            "seed": first.seed,
            "max_samples": first.max_samples,
            "gap": _finite(self.gap),
            "lower_bound": self.lower_bound,
            "t_star": self.t_star,
            "policies": self.cost.policies(),
            "shares": [
                {
                    "arm": arm,
                    "mean": float(instance.means[arm]),
                    "gap": _finite(gaps[arm]),
                    "share": float(self.shares[arm]),
                }
                for arm in self.by_share
            ],
            "sweep": None
            if self.sweep is None
            else [{"epsilon": at.epsilon, "policies": at.policies()} for at in self.sweep],
        }

    def __str__(self) -> str:
        lines = []
        for result in self.results:
            low, median, high = spread(result)
            lines.append(
                f"{full_name(result)}: {median:,.0f} samples ({low:,.0f} to {high:,.0f} in 90% of"
                f" {result.runs} runs)"
            )
        bound = self.unsolved if self.lower_bound is None else f"{self.lower_bound:,.0f} samples"
        return "\n".join([*lines, f"lower bound: {bound}", CAUTION])


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def spread(result: SimulationResult) -> tuple[float, float, float]:
    """The 5%, 50% and 95% points of the number of samples."""
    low, median, high = np.percentile(result.samples, [5, 50, 95]).tolist()
    return low, median, high


def full_name(result: SimulationResult) -> str:
    """The policy, and its variant where it has one."""
    name = result.problem.policy or ""
    return f"{name} ({result.variant})" if result.variant else name


def sweep_slacks(instance: Instance, epsilon: float = 0.0) -> list[float]:
    """The automatic sweep: multiples of the gap at the boundary, or of `epsilon` if it is larger.

    0 is among them only if it is `epsilon` itself: where the gap is small, it may cost far more
    than what was asked for. Tied means have no gap: fractions of their range stand in for it.
    """
    values, top = instance.values, instance.optimum
    gap = float(values[top].min()) - float(values[~top].max())
    unit = max(gap, epsilon) or float(np.ptp(values)) / STEPS[-1]
    if not 0.0 < unit < math.inf:
        raise InputError(
            f"these means and epsilon={epsilon:g} suggest no slacks to sweep: name them, as in"
            " 0.01,0.02,0.05"
        )
    return sorted({epsilon, *(float(f"{step * unit:.3g}") for step in STEPS)})


def total_runs(
    policies: Sequence[str], runs: int, epsilon: float, epsilons: Sequence[float] | None
) -> int:
    """How many runs `plan` simulates, for a progress bar."""
    slacks = {epsilon, *(epsilons or ())}
    return runs * len(dict.fromkeys(policies)) * len(slacks) + min(runs, SHARE_RUNS)


def plan(
    instance: Instance | str | Sequence[float],
    *,
    k: int | str | None = None,
    policies: Sequence[str] = POLICIES,
    maximize: bool = True,
    arms: int | None = None,
    alpha: float | None = None,
    delta: float = 0.01,
    epsilon: float = 0.0,
    epsilons: Sequence[float] | str | None = None,
    rewards: Rewards | None = None,
    runs: int = RUNS,
    seed: int = 1,
    max_samples: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Estimate what finding the K best will cost if the means are about what you guess.

    `instance` is a sequence of guessed means with `k`, a name of the paper with `arms`, `k` and
    `alpha`, or an `Instance`. Every policy of `policies` (a variant is named after a colon, as in
    "lil-rand-lucb:heuristic") is simulated `runs` times; the first one also shows which arms its
    samples go to. `epsilons` asks for the cost at these slacks too, "auto" for slacks around the
    gap at the boundary. The rest is as in `simulate`; the same seed gives the same plan.
    """
    made = as_instance(instance, arms, k, alpha, None, maximize)
    if made.k is None:
        raise InputError(
            f"the class {made.decision.kind} was refused: plans are made for the K best;"
            " simulate has all classes"
        )
    if isinstance(rewards, Quantile):
        raise InputError(
            "quantile rewards were refused: what they cost depends on how rewards scatter, not on"
            " the quantiles alone. Simulate a scatter: bestk simulate --quantile 0.5 --law"
            " log-normal --spread 0.1, or your data with --instance replay; in Python"
            " bestk.simulate(..., rewards=bestk.Quantile(), law='log-normal', spread=0.1)"
        )
    epsilon = real(epsilon, "epsilon", SLACK)
    runs, jobs = whole(runs, "runs"), whole(os.cpu_count() or 1 if jobs is None else jobs, "jobs")
    if isinstance(epsilons, str):
        if epsilons != AUTO:
            raise InputError(f"epsilons='{epsilons}' was refused: give numbers, or '{AUTO}'")
        epsilons = sweep_slacks(made, epsilon)
    elif epsilons is not None:
        epsilons = [real(each, "epsilon", SLACK) for each in items(epsilons, "epsilons")]
        if not epsilons:
            raise InputError("epsilons were refused: there is none to sweep")
    names: list[tuple[str, str | None]] = []
    for each in dict.fromkeys(items(policies, "policies")):
        name, colon, own = (part.strip() for part in string(each, "policy").partition(":"))
        if find(name).budget:
            raise InputError(
                f"policy {name} was refused: it costs the budget that it is given; how often it"
                " is then wrong, simulate(budget=B) says (bestk simulate --budget B)"
            )
        names.append((name, own if colon else None))
    if not names:
        raise InputError("policies were refused: there is none to simulate")
    assumed = rewards if rewards is not None else assumed_by_default(made)
    watcher = progress if progress is not None else ignore

    def tell(text: str) -> Callable[[int], None]:
        return lambda done: watcher(done, text)

    # a smaller slack costs more: the longest work comes first, and what cannot end is refused there
    slacks = sorted({epsilon, *(epsilons or ())})
    for slack in slacks:
        for policy, variant in names:  # refuse what cannot run before anything runs
            made.problem(assumed, delta, slack, policy=policy, variant=variant)
    solved, unsolved = best_k_limit(made, assumed)
    bound = None if solved is None else kl_of_error(delta) * solved
    if epsilon > 0:
        solved, unsolved = None, "not known with a slack"
    costs = {}
    for slack in slacks:
        results = [
            simulate(
                made, policy, variant, delta=delta, epsilon=slack, rewards=assumed, runs=runs,
                seed=seed, max_samples=max_samples, jobs=jobs,
                progress=tell(f"{policy}, slack {slack:g}"),
            )
            for policy, variant in names
        ]  # fmt: skip
        costs[slack] = SlackCost(float(slack), tuple(results), None if slack > 0 else bound)
    shared = min(runs, SHARE_RUNS)
    shares = _shares(costs[epsilon].results[0], shared, jobs, tell(f"shares of {names[0][0]}"))
    sweep = None if epsilons is None else tuple(costs[slack] for slack in sorted(set(epsilons)))
    return Plan(made, costs[epsilon], shares, sweep, solved, unsolved)


def _shares(
    result: SimulationResult, runs: int, jobs: int, progress: Callable[[int], None]
) -> FloatArray:
    """The share of each arm in all samples of the first `runs` runs of a simulation.

    The runs are played again, for their counts. These are summed over runs before they are divided:
    a share of the expected cost, and the same on any number of threads.
    """
    batch = Batch(result.instance, result.problem, result.seed, result.max_samples, range(runs))
    loaded, blocks = loaded_at_once(batch.program), blocks_of(batch.runs, jobs)
    play = partial(batch.counted, loaded=loaded)
    counts = np.sum(spread_over_threads(jobs, play, blocks, batch.cancel, progress), axis=0)
    shares: FloatArray = counts / counts.sum()
    return shares
