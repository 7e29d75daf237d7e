"""Runs of one simulation: what kernels read, and the arrays they fill.

Every draw is a function of (seed, run, arm, n), so a block of runs gives the same numbers wherever
and in whatever company it is played.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bestk.compiled.live import Kernels, Machine, is_python
from bestk.compiled.programs import PLAY, TURN, Loaded, Program
from bestk.kernels import loop, statistics
from bestk.kernels.types import TAKEN, TOTAL, BoolArray, IntArray, State
from bestk.policies.driving import Driven, policy_generator
from bestk.policies.stepper import Stepper
from bestk.problem import Problem
from bestk.rewards import Quantile
from bestk.simulation.instances import Instance
from bestk.simulation.streams import Stream

LONG = 60.0  # seconds of a run in Python after which it is warned of; arbitrary
ROUNDING = 1e-12  # forgiven when a total or a difference is compared


class Outcome(NamedTuple):
    """What is known of every run, an entry each, in the order of the runs."""

    samples: IntArray
    top_samples: IntArray  # of which from arms that may be answered
    finished: BoolArray
    right: BoolArray  # finished, and a valid answer


class Batch:
    """Consecutive runs of one simulation, yet to be played."""

    def __init__(
        self,
        instance: Instance,
        problem: Problem,
        seed: int,
        max_samples: int,
        runs: range,
        to_budget: bool = False,  # whether a run that reaches max_samples has finished
    ) -> None:
        self.instance, self.problem, self.seed = instance, problem, seed
        self.max_samples, self.to_budget, self.runs = max_samples, to_budget, runs
        self.configured = problem.configure(seed)
        self.world = instance.world(problem.rewards)
        self.acceptable = _acceptable(instance, problem)
        rounding = ROUNDING * (1.0 + abs(instance.best_total))
        self.least = instance.best_total - problem.epsilon - rounding
        counts, flags = np.zeros((2, len(runs)), np.int64), np.zeros((2, len(runs)), np.bool_)
        self.outcome, self.cancel = Outcome(*counts, *flags), np.zeros(1, np.int64)

    @property
    def program(self) -> Program:
        """What plays it."""
        kind = TURN if is_python(self.configured.spec) else PLAY
        return Program(kind, self.configured.axes)

    def again(self, runs: range) -> Batch:
        """Other runs of the same simulation."""
        given = self.instance, self.problem, self.seed, self.max_samples
        return Batch(*given, runs, self.to_budget)

    @property
    def is_stepped(self) -> bool:
        """Whether the policy, or what draws its rewards, is the user's Python."""
        return self.configured.policy.is_python or self.instance.draws is not None

    def play(self, part: range, loaded: Loaded | None) -> int:
        """Run the runs of `part`, compiled or not; returns how many."""
        if self.is_stepped:
            self._play_steps(part)
        elif is_python(self.configured.spec):
            self._play_in_python(part)
        else:
            self._play(part, self.configured.new_state(), loaded)
        return len(part)

    def counted(self, part: range, loaded: Loaded | None) -> IntArray:
        """Run the runs of `part`; how often each arm was sampled in all of them."""
        if self.is_stepped:
            return self._play_steps(part)
        state, counts = self.configured.new_state(), np.zeros(self.configured.spec.n_arms, np.int64)
        for run in part:
            self._play(range(run, run + 1), state, loaded)
            counts += state.counts
        return counts

    def _play(self, part: range, state: State, loaded: Loaded | None) -> None:
        """Play runs; one that has no room for its observations again, and all after it."""
        samples = self.outcome.samples[part.start - self.runs.start : part.stop - self.runs.start]
        self._play_in(part, state, loaded)
        while (out := np.flatnonzero(samples == loop.NO_ROOM)).size:
            samples[out[0]] = 0
            state.clock[TAKEN] = state.ordered.size
            statistics.make_room(state, state.ordered.size)
            part = range(part.start + int(out[0]), part.stop)
            samples = samples[out[0] :]
            self._play_in(part, state, loaded)

    def _play_in(self, part: range, state: State, loaded: Loaded | None) -> None:
        where = slice(part.start - self.runs.start, part.stop - self.runs.start)
        samples, top_samples, finished, right = self.outcome
        arguments = (
            state, self.configured.spec, self.world, part.start, self.max_samples, self.to_budget,
            self.instance.values, self.acceptable, self.least, samples[where], top_samples[where],
            finished[where], right[where],
            np.zeros(max(self.configured.spec.n_arms, 2), np.int64), self.cancel,
        )  # fmt: skip
        if loaded is None:
            with np.errstate(all="ignore"):  # machine code does not warn either
                loop.play_many(*arguments)
        else:
            loaded.code["play_many"](*map(loaded.lean, arguments))

    def _play_in_python(self, part: range) -> None:
        """The same loop around a Python oracle, which moves to compiled kernels as studies do."""
        program, spec = self.program, self.configured.spec
        stepper = Stepper(self.instance.decision, self.configured)
        machine = Machine(spec, stepper.state, Kernels.of(program.kind, program.axes))
        stepper.machine, state, out = machine, stepper.state, stepper.out
        scored = self.instance.values, self.acceptable, self.least, out
        for run in part:
            i = run - self.runs.start
            stepper.reset(run)
            begun = machine.call("ask_means", out)
            while stepper.finish(begun):
                begun = machine.call("turn", self.world, run, out)
                if state.clock[TOTAL] >= self.max_samples or self.cancel[0]:
                    self.outcome.finished[i] = self.to_budget
                    break
            else:
                self.outcome.finished[i] = True
            if self.outcome.finished[i]:
                self.outcome.right[i] = machine.call("score", *scored)
            self.outcome.samples[i] = state.clock[TOTAL]
            self.outcome.top_samples[i] = state.counts[self.acceptable].sum()

    def _play_steps(self, part: range) -> IntArray:
        """The same loop around a policy in Python, or rewards that the user draws; counts."""
        in_python = self.configured.policy.is_python
        sampled = np.zeros(len(self.acceptable), np.int64)
        for run in part:
            policy: Driven | Stepper
            if in_python:
                params = dict(self.configured.params)  # a copy for each run, whatever it does to it
                question = replace(self.problem, params=params)
                policy = Driven(self.configured, question, policy_generator(self.seed, run))
            else:
                policy = Stepper(self.instance.decision, self.configured)
                policy.reset(run)
            draws, rewards = self.instance.draws, self.problem.rewards
            stream = Stream(self.world, self.seed, run, draws, rewards)
            counts = [0] * len(self.acceptable)
            total, finished = 0, False
            late = time.perf_counter() + LONG
            while total < self.max_samples:
                arms = policy.ask()[: self.max_samples - total]
                if not arms:
                    finished = True
                    break
                for arm in arms:
                    policy.tell(arm, stream.take(arm))
                    counts[arm] += 1
                total += len(arms)
                if time.perf_counter() > late:
                    late = math.inf
                    self._warn_of_long_run()
            i = run - self.runs.start
            self.outcome.samples[i] = total
            self.outcome.top_samples[i] = np.array(counts)[self.acceptable].sum()
            sampled += counts
            self.outcome.finished[i] = finished or self.to_budget
            if self.outcome.finished[i]:
                self.outcome.right[i] = self._is_valid(policy.answer())
        return sampled

    def _warn_of_long_run(self) -> None:
        """In the same words for every run, so that it is said once."""
        warnings.warn(
            f"policy {self.configured.policy.name} has not stopped after {LONG:g} seconds of a run;"
            f" every run may take up to {self.max_samples:,} samples: max_samples"
            " (--max-samples) ends runs before",
            stacklevel=2,
        )

    def _is_valid(self, answer: list[int]) -> bool:
        """As `loop.score` has it."""
        if self.instance.k is None:
            return bool(self.instance.values[answer].sum() >= self.least)
        return bool(self.acceptable[answer].all())


def _acceptable(instance: Instance, problem: Problem) -> BoolArray:
    """Arms that may be answered: value >= mu_(K) - epsilon; of other classes, the best set."""
    epsilon, rewards = problem.epsilon, problem.rewards
    if instance.k is None:
        return instance.optimum
    if isinstance(rewards, Quantile) and rewards.relative and epsilon > 0:
        factor, least = (1.0 + epsilon) * (1.0 + ROUNDING), instance.threshold
        return instance.values >= (least / factor if instance.maximize else least * factor)
    # with slack, forgive the rounding of the subtraction, and of means that were added up from
    # scores in some order; without, compare exactly
    rounding = ROUNDING if epsilon > 0 or instance.items is not None else 0.0
    acceptable: BoolArray = instance.values >= instance.threshold - epsilon - rounding
    return acceptable
