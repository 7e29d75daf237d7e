"""Kernel and pseudocode in lock step: both are told the same rewards, the kernel is in charge.

Its round must be allowed at every ask: the only one where rewards are continuous, one of those that
tie where they are not. It may stop only where brute force over many c has found enough evidence for
every pair, and must where brute force still does at 0.99 nu.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from bestk.decisions import DecisionClass, TopK
from bestk.kernels import evidence, rng
from bestk.kernels.types import BERNSTEIN, BETA, BETTING, Evidence
from bestk.policies import Configured, configure
from bestk.policies.stepper import Stepper
from bestk.rewards import Bernoulli, Bounded, Gaussian, Ratings, Rewards
from reference import naive_hybrid, naive_sets
from reference.naive_evidence import Bernstein, Beta, Bets, Coins, Normal, Rounded

STARS = (-1.0, 0.5, 1.0)


def _stars(dice, x) -> float:
    return STARS[(dice.random() < x) + (dice.random() < x)]


def _lopsided(dice, x) -> float:
    return dice.choice([3.0, 0.25, 3 * dice.random()]) if dice.random() < x else -1.0


FAMILIES = {  # the assumption, and a reward of an arm with mean about x
    "gaussian": (Gaussian(0.5), lambda dice, x: dice.gauss(x, 0.5)),
    "wide": (Gaussian(1.3), lambda dice, x: dice.gauss(x, 1.3)),
    "bernoulli": (Bernoulli(), lambda dice, x: float(dice.random() < x)),
    "ratings": (Ratings(STARS), _stars),
    "bounded": (Bounded(), lambda dice, x: dice.betavariate(9 * x, 9 - 9 * x)),
    "ranged": (Bounded(-1, 3), _lopsided),
}
CONTINUOUS = ("gaussian", "wide", "bounded")  # where nothing ties


SHAPES = {evidence.HALF_NORMAL: "half-normal", evidence.RAYLEIGH: "rayleigh"}


def slow_family(rewards: Rewards, e: Evidence, maximize: bool = True):
    """The pseudocode's evidence: of the kernel's it takes what is mixed over, and nothing else."""
    points, weights = e.points.tolist(), np.exp(e.log_weights).tolist()
    if isinstance(rewards, Gaussian):
        shapes = [SHAPES[shape] for shape in e.log_rest.tolist()]
        return _make(Normal, rewards.sigma, tuple(zip(points, weights, shapes, strict=True)))
    low, high = (rewards.low, rewards.high) if maximize else (-rewards.high, -rewards.low)
    if e.kind == BETA:
        return _make(Beta, low, high)
    mixture = tuple(zip(points, weights, strict=True))
    if isinstance(rewards, Bernoulli):
        return _make(Coins, low, high, mixture)
    if isinstance(rewards, Ratings):
        sign = 1 if maximize else -1
        return _make(Bets, tuple(sign * x for x in rewards.levels), mixture)
    return _make(Bernstein if e.kind == BERNSTEIN else Rounded, low, high, mixture)


@cache
def _make(family, *constants):  # one object for the same constants, so that bounds are kept
    return family(*constants)


@dataclass(frozen=True)
class Problem:
    """A policy and its question; `sets` are all feasible ones, None for the K best by pairs."""

    decision: DecisionClass
    family: str
    means: list[float]
    sets: list[list[int]] | None = None
    policy: str = "e-lucb"
    params: dict = field(default_factory=dict)
    nu: float = 0.05
    epsilon: float = 0.0
    maximize: bool = True
    seed: int = 7
    cap: int = 200  # samples
    costs: tuple[float, ...] | None = None
    strays: float = 0.0  # chance, after a round, of an observation that nobody asked for

    @property
    def n(self) -> int:
        return self.decision.n_arms

    @property
    def rewards(self) -> Rewards:
        return FAMILIES[self.family][0]

    @cached_property
    def configured(self) -> Configured:
        own = self.policy in ("e-lucb", "e-clucb", "glr")
        bound = {} if own else {"bound": "evidence"}
        return configure(
            self.policy,
            None,
            {**self.params, **bound},
            decision=self.decision,
            delta=self.nu,
            epsilon=self.epsilon,
            rewards=self.rewards,
            seed=self.seed,
            maximize=self.maximize,
            costs=self.costs,
        )

    def stepper(self) -> Stepper:
        return Stepper(self.decision, self.configured, self.rewards)

    def naive(self, run: int) -> naive_hybrid.Player:
        made = self._naive(run)
        made.costs = self.costs or made.costs
        return made

    def _naive(self, run: int) -> naive_hybrid.Player:
        common = (
            self.nu,
            self.epsilon,
            slow_family(self.rewards, self.configured.evidence, self.maximize),
            self.configured.params,
            lambda ask: rng.uniform(self.seed, run, 0, ask, rng.COIN),
            lambda arm, count: rng.uniform(self.seed, run, arm, count, rng.ROUNDING),
        )
        if self.sets is None:
            assert isinstance(self.decision, TopK)
            return naive_hybrid.make(self.policy, self.n, self.decision.k, *common)
        ceiling = self.decision.ceiling
        if self.configured.code is not None:
            return self._by_sets(common, ceiling)
        matroid = self.decision.kind in ("top-k", "partition", "spanning-tree")
        return naive_hybrid.make_combinatorial(
            self.policy, self.n, self.sets, *common, matroid=matroid, ceiling=ceiling
        )

    def _by_sets(self, common, ceiling) -> naive_sets.ESets:
        """Of the kernel's code it takes what an arm costs; what a difference costs is its own."""
        code, family = self.configured.code, common[2]
        if isinstance(self.rewards, Gaussian):
            family = _make(naive_sets.TwoSided, self.rewards.sigma, ())
        if self.decision.kind == "path":
            acyclic = ceiling == np.inf
            both = not acyclic and not self.decision.directed
            edges = [(tail, head, both) for tail, head in self.decision.edges]
            cost = naive_sets.Code(0, 0, edges, *code.arms)
        else:
            cost = naive_sets.Code(float(code.arms[0, 0]), code.constant)
        spreads = self.decision.structure is None and code.constant > 0.0
        more = cost, self.rewards.sigma, spreads, 100, *common[4:]
        return naive_sets.ESets(self.n, self.sets, self.epsilon, family, *more, ceiling=ceiling)


@dataclass
class Tally:
    """What was compared."""

    stopped: int = 0
    early: int = 0  # of which before the bounds separated
    asks: int = 0
    ties: int = 0  # asks at which more than one round was allowed


def play(problem: Problem, run: int, kernel: Stepper, watch) -> bool:
    """Let the kernel choose; `watch` sees every round and every reward; True = stopped."""
    dice, sign, samples = random.Random(problem.seed + run), 1.0 if problem.maximize else -1.0, 0
    kernel.reset(run)
    while samples < problem.cap:
        arms = kernel.ask()
        watch(arms, None)
        if not arms:
            return True
        while dice.random() < problem.strays:
            arms.append(dice.randrange(problem.n))
        samples += len(arms)
        for arm in arms:
            reward = FAMILIES[problem.family][1](dice, problem.means[arm])
            kernel.tell(arm, reward)
            watch(arm, sign * reward)
    return False


def agree(problem: Problem, tally: Tally, runs=(0,)) -> None:
    """Assert that every decision of the kernel is allowed."""
    kernel = problem.stepper()
    for run in runs:  # the same state again: nothing of the last run may stay
        slow = problem.naive(run)

        def watch(what, reward, slow=slow, run=run):
            if reward is not None:
                slow.tell(what, reward)
                return
            allowed = slow.allowed(kernel.answer)
            assert what in allowed, (
                f"{what} is not one of {allowed}: "
                f"{problem}, run {run}, ask {slow.asks}, seen {slow.seen}"
            )
            tally.asks += 1
            tally.ties += len(allowed) > 1

        stopped = play(problem, run, kernel, watch)
        tally.stopped += stopped
        tally.early += stopped and not slow.apart


def load(kernel, seen) -> None:
    """Put what was seen of every arm where telling rewards would have put it."""
    state = kernel.state
    kernel.reset(0)
    for i, summary in enumerate(seen):
        if state.evidence.kind == BETTING:
            state.levels[i, :-1] = summary
            state.counts[i] = sum(summary)
            state.sums[i] = np.dot(summary, state.evidence.levels)
        else:
            state.counts[i], state.sums[i] = summary
    state.means[:] = state.sums / state.counts
    kernel.machine.call("rebuild")


# --- compiled and interpreted ---------------------------------------------------------------------


def page_of(problem: Problem) -> list:
    """Every decision, and the numbers they rest on, digit for digit."""
    kernel, decisions = problem.stepper(), []
    play(problem, 3, kernel, lambda *what: decisions.append(what))
    state = kernel.state
    arrays = state.sums, state.keys, state.ends, state.weights
    numbers = [float(x).hex() for array in arrays for x in array.flat]
    page = [problem.family, problem.policy, decisions, kernel.answer(), numbers]
    return json.loads(json.dumps(page))
