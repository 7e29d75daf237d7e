"""The Monte Carlo engine: replicates of one policy on one instance, spread over threads.

Kernels release the GIL, and every draw is a function of (seed, run, arm, n), so the numbers do not
depend on how runs are spread over `jobs`.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from bestk.decisions import DecisionClass, Oracle, TopK
from bestk.errors import InputError, TiedMeansWarning
from bestk.kernels import loop, step
from bestk.kernels.types import TOTAL, BoolArray, IntArray, World
from bestk.policies import Configured
from bestk.policies.combinatorial import Stepper, is_python
from bestk.problem import Problem
from bestk.rewards import Bernoulli, Bounded, Gaussian, Ratings, Rewards
from bestk.simulation.instances import TIE, Instance, make_instance, structured
from bestk.simulation.records import SimulationResult

MAX_SAMPLES = 10**9  # per run
ROUNDING = 1e-12  # forgiven when a total or a difference is compared
CHUNKS = 8  # pieces of work per job: small enough to share, large enough to amortise

Progress = Callable[[int], None]  # called with the number of runs just finished


@dataclass(frozen=True, eq=False)
class _Batch:
    """All runs of one simulation: what kernels read, and the arrays they fill, an entry a run."""

    configured: Configured
    world: World
    instance: Instance
    acceptable: BoolArray
    least: float
    max_samples: int
    samples: IntArray
    top_samples: IntArray
    finished: BoolArray
    right: BoolArray
    cancel: IntArray

    @classmethod
    def of(
        cls, configured: Configured, instance: Instance, problem: Problem, runs: int, cap: int
    ) -> _Batch:
        rounding = ROUNDING * (1.0 + abs(instance.best_total))
        return cls(
            configured=configured,
            world=instance.world(problem.rewards),
            instance=instance,
            acceptable=_acceptable(instance, problem.epsilon),
            least=instance.best_total - problem.epsilon - rounding,
            max_samples=cap,
            samples=np.zeros(runs, np.int64),
            top_samples=np.zeros(runs, np.int64),
            finished=np.zeros(runs, np.bool_),
            right=np.zeros(runs, np.bool_),
            cancel=np.zeros(1, np.int64),
        )

    def play(self, part: range) -> int:
        """Run the runs of `part`, return how many."""
        if is_python(self.configured.spec):
            self._play_in_python(part)
        else:
            self._play_compiled(part)
        return len(part)

    def _play_compiled(self, part: range) -> None:
        where = slice(part.start, part.stop)
        spec = self.configured.spec
        loop.play_many(
            self.configured.new_state(),
            spec,
            self.world,
            part.start,
            self.max_samples,
            self.instance.values,
            self.acceptable,
            self.least,
            self.samples[where],
            self.top_samples[where],
            self.finished[where],
            self.right[where],
            np.zeros(max(spec.n_arms, 2), np.int64),
            self.cancel,
        )

    def _play_in_python(self, part: range) -> None:
        """The same loop around a Python oracle."""
        stepper = Stepper(self.instance.decision, self.configured)
        state, spec, out = stepper.state, stepper.spec, stepper.out
        for run in part:
            stepper.reset(run)
            begun = step.ask_means(state, spec, out)
            while stepper.finish(begun):
                begun = loop.turn(state, spec, self.world, run, out)
                if state.clock[TOTAL] >= self.max_samples or self.cancel[0]:
                    break
            else:
                self.finished[run] = True
                self.right[run] = loop.score(
                    state, spec, self.instance.values, self.acceptable, self.least, out
                )
            self.samples[run] = state.clock[TOTAL]
            self.top_samples[run] = state.counts[self.acceptable].sum()

    def play_all(self, jobs: int, progress: Progress | None) -> None:
        """Spread all runs over threads; an interrupt stops the kernels too."""
        runs = len(self.samples)
        size = max(1, math.ceil(runs / (CHUNKS * jobs)))
        parts = [range(start, min(start + size, runs)) for start in range(0, runs, size)]
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(self.play, part) for part in parts]
            try:
                for future in as_completed(futures):
                    done = future.result()
                    if progress is not None:
                        progress(done)
            except BaseException:
                self.cancel[0] = 1
                pool.shutdown(cancel_futures=True)
                raise


def _load_kernels(python_oracle: bool) -> None:
    """Load or compile the kernels before the clock starts: a few samples of two arms."""
    decision: DecisionClass = TopK(2, 1)
    if python_oracle:
        decision = Oracle(2, lambda weights: np.arange(2) == weights.argmax())
    instance = structured(decision, [1.0, 0.0])
    problem = Problem(decision)
    _Batch.of(problem.configure(0), instance, problem, 1, 10**5).play(range(1))


def _acceptable(instance: Instance, epsilon: float) -> BoolArray:
    """Arms that may be answered: value >= mu_(K) - epsilon; of other classes, the best set."""
    if instance.k is None:
        return instance.optimum
    # with slack, forgive the rounding of the subtraction; without, compare exactly
    rounding = ROUNDING if epsilon > 0 else 0.0
    acceptable: BoolArray = instance.values >= instance.threshold - epsilon - rounding
    return acceptable


def _check(instance: Instance, problem: Problem, runs: int, jobs: int, cap: int | None) -> None:
    for name, value in (("runs", runs), ("jobs", jobs), ("max_samples", cap)):
        if value is not None and not (isinstance(value, Integral) and 1 <= value < 1 << 63):
            raise InputError(f"{name}={value} was refused: it must be an integer of at least 1")
    if np.any(instance.values > instance.decision.ceiling):
        value = instance.means[np.argmax(instance.values)]
        raise InputError(
            f"mean {value} was refused: in a graph with cycles costs must not be negative"
        )
    if instance.pool is not None:
        instance.pool.check(problem.rewards)
    elif isinstance(problem.rewards, Ratings | Bounded):
        raise InputError(
            f"{problem.rewards.name} rewards were refused: a mean alone does not say how to draw"
            " them; simulate gaussian, subgaussian or bernoulli rewards, or replay data"
        )
    outside = (instance.means < 0) | (instance.means > 1)
    if isinstance(problem.rewards, Bernoulli) and np.any(outside):
        value = instance.means[np.flatnonzero(outside)[0]]
        raise InputError(f"mean {value} was refused: Bernoulli means lie in [0, 1]")
    if instance.tied and problem.epsilon == 0:
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
    if k is None:
        raise InputError("k is missing: how many of the arms shall be found?")
    if isinstance(instance, str):
        return make_instance(instance, arms=arms, k=k, alpha=alpha, maximize=maximize)
    return make_instance(arms=arms, k=k, alpha=alpha, means=instance, maximize=maximize)


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
    params: Mapping[str, Any] | None = None,
    runs: int = 100,
    seed: int = 1,
    max_samples: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> SimulationResult:
    """Run a policy many times on an instance with known means.

    `instance` is a name of the paper with `arms`, `k` and `alpha`, a sequence of means with `k` or
    with a `decision` class, or an `Instance`. `delta` is the wanted error probability (the paper's
    nu, and its 0.01 by default). With `maximize` False the smallest means are wanted. With
    `epsilon` > 0 every answered arm is within epsilon of the K-th best; for other decision classes
    the *total* of the answer is within epsilon of the best total. The same seed gives the same
    numbers every time, on any number of `jobs` (default: one a core), and all policies see the
    same rewards. A run that reaches `max_samples` (default 10^9) is unfinished and never right.
    """
    instance = as_instance(instance, arms, k, alpha, decision, maximize)
    problem = Problem(
        instance.decision,
        rewards if rewards is not None else Gaussian(),
        delta,
        epsilon,
        policy,
        variant,
        params or {},
        instance.maximize,
    )
    jobs = jobs if jobs is not None else os.cpu_count() or 1
    _check(instance, problem, runs, jobs, max_samples)
    configured = problem.configure(seed)
    cap = max_samples if max_samples is not None else MAX_SAMPLES
    _load_kernels(is_python(configured.spec))
    batch = _Batch.of(configured, instance, problem, runs, cap)
    started = time.perf_counter()
    # threads gain nothing around a Python oracle, and a user's need not be safe in them
    batch.play_all(1 if is_python(configured.spec) else jobs, progress)
    seconds = time.perf_counter() - started
    return SimulationResult(
        instance=instance,
        problem=problem,
        variant=configured.variant,
        params=configured.params,
        guarantee=configured.guarantee,
        seed=seed,
        max_samples=cap,
        seconds=seconds,
        samples=batch.samples,
        top_samples=batch.top_samples,
        finished=batch.finished,
        right=batch.right,
    )
