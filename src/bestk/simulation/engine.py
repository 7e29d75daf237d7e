"""The Monte Carlo engine: replicates of one policy on one instance, with known means.

The numbers do not depend on how runs are spread over threads, processes or machines.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bestk.arguments import count, integer, require_executor, shown, string
from bestk.compiled.programs import seconds_waited
from bestk.decisions import DecisionClass
from bestk.errors import InputError, TiedMeansWarning
from bestk.kernels.types import BERNOULLI
from bestk.policies import Policy, default_policy, find
from bestk.policies.budgets import spend
from bestk.policies.catalogue import BUDGET
from bestk.problem import Problem
from bestk.rewards import Bounded, Gaussian, Quantile, Rewards
from bestk.simulation.batch import Batch
from bestk.simulation.distribution import play_here, play_on
from bestk.simulation.instances import TIE, Instance, make_instance, structured
from bestk.simulation.laws import Law, law_of
from bestk.simulation.own_draws import check_draws
from bestk.simulation.records import SimulationResult
from bestk.simulation.spreading import Progress, ignore

MAX_SAMPLES = 10**9  # per run


def whole(value: object, name: str) -> int:
    """A positive number of runs, jobs or samples, as large as kernels count."""
    found = count(value, name, 1)
    if found >= 1 << 63:
        raise InputError(
            f"{name}={shown(value)} was refused: it must be an integer of at least 1, below 2^63"
        )
    return found


def _check(instance: Instance, problem: Problem, cap: int | None) -> None:
    if np.any(instance.values > instance.decision.ceiling):
        value = instance.means[np.argmax(instance.values)]
        raise InputError(
            f"mean {value} was refused: in a graph with cycles costs must not be negative"
        )
    if instance.pool is not None:
        instance.pool.check(problem.rewards)
    elif instance.draws is not None:
        check_draws(instance, problem.rewards)
    elif isinstance(problem.rewards, Quantile):
        (instance.law or Law()).check(instance.means, problem.rewards)
    elif problem.rewards.law is None:
        raise InputError(
            f"{problem.rewards.name} rewards were refused: a mean alone does not say how to draw"
            " them; simulate gaussian, subgaussian or bernoulli rewards, replay data, or draw them"
            " yourself (bestk.custom)"
        )
    if instance.law is not None and not isinstance(problem.rewards, Quantile):
        raise InputError(
            f"law {instance.law.name} was refused: it is for rewards compared by a quantile;"
            f" {problem.rewards.name} rewards have one of their own"
        )
    outside = instance.means[(instance.means < 0) | (instance.means > 1)]
    if problem.rewards.law == BERNOULLI and outside.size:
        raise InputError(f"mean {outside[0]} was refused: Bernoulli means lie in [0, 1]")
    has_budget = problem.params.get(BUDGET.name) is not None  # its runs end in any case
    if instance.tied and problem.epsilon == 0 and instance.items is None and not has_budget:
        tie = f"another answer is as good as the best (to {TIE:g})"
        if instance.k is not None:
            both = instance.threshold if instance.maximize else -instance.threshold
            tie = f"the K-th and the next mean are both {both:g}"
        if cap is None:
            raise InputError(
                f"{tie}, so no run can end: give a slack epsilon > 0, or max_samples to cap it"
            )
        warnings.warn(
            f"{tie}: runs end at max_samples, or by chance", TiedMeansWarning, stacklevel=3
        )


def _limits(
    entry: Policy, params: Any, instance: Instance, budget: Any, max_samples: object
) -> tuple[Any, int | None, bool]:
    """The policy's parameters, where a run is cut off, and whether its answer counts then."""
    given = {} if params is None else params
    most = None if max_samples is None else whole(max_samples, "max_samples")
    if budget is None:
        return given, most, False
    pulls = whole(budget, "budget")
    if most is not None:
        raise InputError("max_samples was refused: with a budget runs end there")
    if entry.budget:
        return spend(entry.name, given, pulls)[0], None, False
    n_arms = instance.decision.n_arms
    if pulls < n_arms:
        raise InputError(
            f"budget={pulls} was refused: {entry.name} answers once each of the {n_arms} arms was"
            " sampled"
        )
    return given, pulls, True


def as_instance(
    instance: Instance | str | Sequence[float],
    arms: int | None,
    k: int | str | None,
    alpha: float | None,
    decision: DecisionClass | None,
    maximize: bool,
) -> Instance:
    """What a user may call an instance: one that is made, a name of the paper, or means."""
    if isinstance(instance, Instance):
        if any(value is not None for value in (arms, k, alpha, decision)) or not maximize:
            raise InputError("an Instance has its own arms, k, alpha, decision and direction")
        return instance
    if decision is not None:
        if isinstance(instance, str) or any(value is not None for value in (arms, k, alpha)):
            raise InputError(
                "a decision class goes with a sequence of means, and without arms, k or alpha"
            )
        return structured(decision, instance, maximize=maximize)
    if isinstance(instance, str):
        return make_instance(instance, arms=arms, k=k, alpha=alpha, maximize=maximize)
    return make_instance(arms=arms, k=k, alpha=alpha, means=instance, maximize=maximize)


def assumed_by_default(instance: Instance) -> Rewards:
    """What the instance says; else scores of items lie in [0, 1], other rewards are normal."""
    if instance.assumed is not None:
        return instance.assumed
    return Gaussian() if instance.items is None else Bounded()


def simulate(
    instance: Instance | str | Sequence[float],
    policy: str | None = None,
    variant: str | None = None,
    *,
    k: int | str | None = None,
    decision: DecisionClass | None = None,
    maximize: bool = True,
    arms: int | None = None,
    alpha: float | None = None,
    delta: float = 0.01,
    epsilon: float = 0.0,
    rewards: Rewards | None = None,
    law: str | None = None,
    spread: float | None = None,
    params: Mapping[str, Any] | None = None,
    runs: int = 100,
    seed: int = 1,
    max_samples: int | None = None,
    budget: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SimulationResult:
    """Run a policy many times on an instance with known means.

    `instance` is a name of the paper with `arms`, `k` and `alpha`, or of a registered family
    (`bestk.register_instance`), a sequence of means with `k` or with a `decision` class, or an
    `Instance`, such as one of rewards that you draw yourself (`bestk.custom`). `delta` is the
    error probability allowed (nu in the paper, whose 0.01 is the default). With `maximize`
    False the smallest means are wanted. With `epsilon` > 0 every answered arm is within epsilon
    of the K-th best; for other decision classes the *total* of the answer is within epsilon of
    the best total. The same seed gives the same numbers every time, on any number of `jobs`
    (default: one a core), and all policies see the same rewards. A run that reaches
    `max_samples` (default 10^9) is unfinished and never right. With a `budget` every run ends
    there, or before, and its answer counts: `wrong` out of `runs` estimates the error
    probability at that budget; policies that spend a fixed budget need it. Policies and rewards
    in Python (`bestk.policies.register`, `bestk.custom`) run in this process, or in `jobs`
    processes if `jobs` is given. Otherwise runs are spread over `jobs` threads, or over an
    `executor` of `jobs` processes or machines (any `concurrent.futures.Executor`, such as
    Dask's `client.get_executor()`). `rewards` are by default `Gaussian()`, of a replay without
    replacement `Bounded()`. With `Quantile(q)` the numbers of the instance are the arms'
    q-quantiles, and rewards are drawn around them by a `law`: "normal" with standard deviation
    `spread` (default 0.5), or "log-normal", `spread` being that of the logarithm.
    """
    instance = as_instance(instance, arms, k, alpha, decision, maximize)
    assumed = rewards if rewards is not None else assumed_by_default(instance)
    if law is not None or spread is not None:
        instance = replace(instance, law=law_of(law, spread))
    instance = instance.under(assumed)
    entry = find(default_policy(instance.decision) if policy is None else string(policy, "policy"))
    own, max_samples, to_budget = _limits(entry, params, instance, budget, max_samples)
    problem = instance.problem(assumed, delta, epsilon, policy=policy, variant=variant, params=own)
    in_python = entry.is_python or instance.draws is not None
    usual = 1 if in_python else os.cpu_count() or 1
    runs, jobs = whole(runs, "runs"), whole(usual if jobs is None else jobs, "jobs")
    if executor is not None:
        require_executor(executor)
    _check(instance, problem, max_samples)
    seed = integer(seed, "seed")
    configured = problem.configure(seed)
    cap = max_samples if max_samples is not None else MAX_SAMPLES
    make = partial(Batch, instance, problem, seed, cap, to_budget=to_budget)
    progress = progress or ignore
    started = time.perf_counter() - seconds_waited()
    if executor is None:
        outcome = play_here(make(range(runs)), jobs, progress)
    else:
        sent = entry if entry.is_python else None
        outcome = play_on(executor, make, range(runs), jobs, progress, sent)
    seconds = time.perf_counter() - seconds_waited() - started
    return SimulationResult(
        instance=instance,
        problem=problem,
        variant=configured.variant,
        params=configured.params,
        guarantee=None if to_budget else configured.guarantee,
        seed=seed,
        max_samples=cap,
        seconds=seconds,
        budget=configured.params.get(BUDGET.name) if entry.budget else cap if to_budget else None,
        claim=None if to_budget else entry.claim,  # it is about the policy's own stop
        **outcome._asdict(),
    )
