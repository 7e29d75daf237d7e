"""Runs of one simulation: what kernels read, and the arrays they fill.

Every draw is a function of (seed, run, arm, n), so a block of runs gives the same numbers wherever
and in whatever company it is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bestk.decisions import DecisionClass, Oracle, TopK
from bestk.kernels import loop, step
from bestk.kernels.types import TOTAL, BoolArray, IntArray, World
from bestk.policies import Configured
from bestk.policies.combinatorial import Stepper, is_python
from bestk.problem import Problem
from bestk.simulation.instances import Instance, structured

ROUNDING = 1e-12  # forgiven when a total or a difference is compared


class Outcome(NamedTuple):
    """What is known of every run, an entry each, in the order of the runs."""

    samples: IntArray
    top_samples: IntArray  # of which from arms that may be answered
    finished: BoolArray
    right: BoolArray  # finished, and a valid answer

    @classmethod
    def of(cls, runs: int) -> Outcome:
        """Room for that many runs."""
        counts, flags = np.zeros((2, runs), np.int64), np.zeros((2, runs), np.bool_)
        return cls(counts[0], counts[1], flags[0], flags[1])

    @classmethod
    def joined(cls, blocks: Sequence[Outcome]) -> Outcome:
        """Blocks of runs, one after the other."""
        return cls(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive runs of one simulation."""

    configured: Configured
    world: World
    instance: Instance
    acceptable: BoolArray
    least: float
    max_samples: int
    runs: range
    outcome: Outcome
    cancel: IntArray

    @classmethod
    def of(cls, instance: Instance, problem: Problem, seed: int, cap: int, runs: range) -> Batch:
        """A batch that is yet to be played."""
        rounding = ROUNDING * (1.0 + abs(instance.best_total))
        return cls(
            configured=problem.configure(seed),
            world=instance.world(problem.rewards),
            instance=instance,
            acceptable=_acceptable(instance, problem.epsilon),
            least=instance.best_total - problem.epsilon - rounding,
            max_samples=cap,
            runs=runs,
            outcome=Outcome.of(len(runs)),
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
        where = slice(part.start - self.runs.start, part.stop - self.runs.start)
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
            self.outcome.samples[where],
            self.outcome.top_samples[where],
            self.outcome.finished[where],
            self.outcome.right[where],
            np.zeros(max(spec.n_arms, 2), np.int64),
            self.cancel,
        )

    def _play_in_python(self, part: range) -> None:
        """The same loop around a Python oracle."""
        stepper = Stepper(self.instance.decision, self.configured)
        state, spec, out = stepper.state, stepper.spec, stepper.out
        for run in part:
            i = run - self.runs.start
            stepper.reset(run)
            begun = step.ask_means(state, spec, out)
            while stepper.finish(begun):
                begun = loop.turn(state, spec, self.world, run, out)
                if state.clock[TOTAL] >= self.max_samples or self.cancel[0]:
                    break
            else:
                self.outcome.finished[i] = True
                self.outcome.right[i] = loop.score(
                    state, spec, self.instance.values, self.acceptable, self.least, out
                )
            self.outcome.samples[i] = state.clock[TOTAL]
            self.outcome.top_samples[i] = state.counts[self.acceptable].sum()


def _acceptable(instance: Instance, epsilon: float) -> BoolArray:
    """Arms that may be answered: value >= mu_(K) - epsilon; of other classes, the best set."""
    if instance.k is None:
        return instance.optimum
    # with slack, forgive the rounding of the subtraction; without, compare exactly
    rounding = ROUNDING if epsilon > 0 else 0.0
    acceptable: BoolArray = instance.values >= instance.threshold - epsilon - rounding
    return acceptable


def load_kernels(python_oracle: bool) -> None:
    """Load or compile the kernels before the clock starts: a few samples of two arms."""
    decision: DecisionClass = TopK(2, 1)
    if python_oracle:
        decision = Oracle(2, lambda weights: np.arange(2) == weights.argmax())
    instance = structured(decision, [1.0, 0.0])
    Batch.of(instance, Problem(decision), 0, 10**5, range(1)).play(range(1))
