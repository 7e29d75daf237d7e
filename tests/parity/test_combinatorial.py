"""Algorithm 3, decision by decision, against its pseudocode (`reference/naive.py`), in every class.

Both are told the same rewards; the pseudocode looks at all feasible sets (`helpers/feasible.py`).
Where sets cannot tie, both must want the same round and the same answer at every ask. Where they
do (rewards 0 and 1, costs cut at 0), rounding tells them apart, and the kernel's round and answer
must be among those that Algorithm 3 leaves open.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bestk.decisions import (
    DecisionClass,
    Oracle,
    TopK,
)
from bestk.errors import InputError
from bestk.kernels import bounds, rng
from bestk.kernels.types import BERNOULLI, DAG, EXPLICIT, FOREST, GAUSSIAN, PARTITION, ROADS, World
from bestk.policies import configure
from bestk.policies.stepper import Stepper
from bestk.rewards import Bernoulli, Gaussian
from helpers import drawn
from helpers.compiled import check
from reference import naive

CASES = [
    ("lil-clucb", "faithful", {}),
    ("lil-clucb", "faithful", {"eps": 0.1}),
    ("lil-clucb", "heuristic", {}),
    ("clucb", None, {}),
]


def name(case) -> str:
    policy, variant, params = case
    return "-".join(str(part) for part in (policy, variant, *params.values()) if part)


every_policy = pytest.mark.parametrize("case", CASES, ids=name)


def share(case, problems: list) -> list:
    """All of them for both policies, every third, in turn, for the variants of lil-clucb."""
    turn = [other for other in CASES if other[0] == case[0]].index(case)
    return problems[turn % 3 :: 3] if turn else problems


# --- classes, each with all its sets --------------------------------------------------------------


def partition(dice):
    return drawn.partition(dice, 5, 12)


def tree(dice):
    return drawn.tree(dice, 6, 12)


def dag(dice):
    return drawn.dag(dice, 7, 20)


def oracle(dice):
    _, sets = dice.choice([partition, tree, drawn.explicit])(dice)
    best = naive.best_of(sets)
    n = 1 + max(max(arms, default=0) for arms in sets)
    return Oracle(n, lambda weights: best(weights.tolist())), sets


CLASSES = {  # how to draw one, its compiled oracle if any, how many problems, asks for each
    "partition": (partition, PARTITION, 6, 120),
    "spanning-tree": (tree, FOREST, 6, 120),
    "acyclic-path": (dag, DAG, 6, 120),
    "cyclic-path": (drawn.roads, ROADS, 6, 120),
    "explicit": (drawn.explicit, EXPLICIT, 6, 120),
    "matching": (drawn.matching, None, 5, 80),
    "perfect-matching": (drawn.perfect_matching, None, 5, 80),
    "program": (drawn.program, None, 2, 16),
    "oracle": (oracle, None, 5, 80),
}
every_class = pytest.mark.parametrize("kind", CLASSES)


# --- instances ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    decision: DecisionClass
    sets: list[list[int]]
    means: list[float]  # of what is maximised: costs come with a minus
    source: int = GAUSSIAN
    sigma: float = 0.5
    nu: float = 0.05
    epsilon: float = 0.0
    seed: int = 7
    runs: tuple[int, ...] = (0, 1)
    cap: int = 300  # asks
    warm: int = 0  # observations of each arm, all 0, before the first ask
    strays: float = 0.0  # chance, after a round, of an observation that nobody asked for

    @property
    def n(self) -> int:
        return len(self.means)

    @property
    def maximize(self) -> bool:
        return self.decision.ceiling > 0  # a graph with cycles is for costs

    @property
    def ties(self) -> bool:
        """Whether two sets may have the same weight: 0 and 1, or costs cut at 0."""
        return self.source == BERNOULLI or max(self.means) > self.decision.ceiling - 10

    def draw(self, run: int, arm: int, count: int) -> float:
        means = np.array(self.means if self.maximize else [-m for m in self.means])
        world = World(self.source, means, self.sigma)
        reward = rng.draw(world, self.seed, run, arm, count)
        return reward if self.maximize else -reward


def draw_class(dice, kind) -> tuple[DecisionClass, list[list[int]]]:
    build, code, _, _ = CLASSES[kind]
    while True:
        try:
            decision, sets = build(dice)
        except InputError:  # disconnected, a single answer, ...
            continue
        if code is None or decision.structure.code == code:
            return decision, sets


def some(dice, kind, **settings) -> Problem:
    """Gaussian rewards: no two sets ever tie."""
    decision, sets = draw_class(dice, kind)
    gap, n = dice.choice([0.3, 1.0, 3.0]), decision.n_arms
    if dice.random() < 0.5:
        top = dice.choice(sets)
        means = [gap if i in top else 0.0 for i in range(n)]
    else:
        means = [dice.uniform(-gap, gap) for _ in range(n)]
    if kind == "cyclic-path":  # so far from 0 that no bound is cut there
        means = [m - 40 for m in means]
    return Problem(
        decision,
        sets,
        means,
        sigma=dice.choice([0.5, 0.5, 1.3]),
        nu=dice.choice([0.001, 0.05, 0.3]),
        epsilon=dice.choice([0.0, 0.0, 0.2, 2.0]),
        seed=dice.randrange(1 << 40),
        cap=CLASSES[kind][3],
        **settings,
    )


def coins(dice, kind, **settings) -> Problem:
    """Rewards 0 and 1: means, and whole sets, tie all the time."""
    decision, sets = draw_class(dice, kind)
    p = dice.choice([0.0, 0.5, 1.0])
    means = [p if dice.random() < 0.5 else dice.choice([0.1, 0.9]) for _ in range(decision.n_arms)]
    return Problem(
        decision,
        sets,
        means if decision.ceiling > 0 else [-m for m in means],
        BERNOULLI,
        nu=dice.choice([0.001, 0.05, 0.3]),
        epsilon=dice.choice([0.0, 0.0, 0.2, 2.0]),
        seed=dice.randrange(1 << 40),
        cap=CLASSES[kind][3],
        **settings,
    )


# --- kernel and pseudocode in lock step -----------------------------------------------------------


def stepper_of(case, problem: Problem, **settings) -> Stepper:
    policy, variant, params = case
    configured = configure(
        policy,
        variant,
        params,
        decision=problem.decision,
        delta=problem.nu,
        epsilon=problem.epsilon,
        rewards=Bernoulli() if problem.source == BERNOULLI else Gaussian(problem.sigma),
        seed=problem.seed,
        maximize=problem.maximize,
        **settings,
    )
    return Stepper(problem.decision, configured)


def play(problem: Problem, run: int, players, watch) -> bool:
    """Let players choose on the same rewards, the first of them in charge; True = stopped."""
    counts, dice = [0] * problem.n, random.Random(run)

    def observe(arm: int) -> None:
        reward = problem.draw(run, arm, counts[arm])
        counts[arm] += 1
        for player in players:
            # rewards are as the pseudocode maximises them; a stepper is told costs as they are
            sign = player.spec.sign if isinstance(player, Stepper) else 1.0
            player.tell(arm, sign * reward)

    if problem.warm:  # at once, which is the same to the bit (tests/compiled/test_switch.py)
        arms = np.repeat(np.arange(problem.n), problem.warm)
        counts = [problem.warm] * problem.n
        for player in players:
            if isinstance(player, Stepper):
                player.machine.tell_many(arms, np.zeros(arms.size))
            else:
                player.T = list(counts)  # and S = 0
    for _ in range(problem.cap):
        rounds = [player.ask() for player in players]
        watch(*rounds)
        if not rounds[0]:
            return True
        observe(rounds[0][0])
        while dice.random() < problem.strays:
            observe(dice.randrange(problem.n))
    return False


def agree(case, problem: Problem) -> int:
    """Assert that kernel and pseudocode take every decision alike; how many runs stopped."""
    policy, variant, params = case
    kernel, stopped = stepper_of(case, problem), 0
    for run in problem.runs:
        kernel.reset(run)  # the same state again: nothing of the last run may stay
        slow = naive.make_combinatorial(
            policy,
            variant,
            problem.sets,
            problem.n,
            problem.nu,
            problem.sigma,
            problem.epsilon,
            params,
            ceiling=problem.decision.ceiling,
        )

        def where(slow=slow, run=run):
            return f"{name(case)}, {problem}, run {run}, ask {slow.asks}, T {slow.T}, S {slow.S}"

        def watch(got, wanted, slow=slow, where=where):
            if min(slow.T) == 0:
                assert got == wanted, where()
                return
            got, wanted = (got, kernel.answer()), (wanted, slow.answer())
            if problem.ties:
                assert got in slow.allowed(problem.sets), f"not a choice of Algorithm 3: {where()}"
            else:
                assert got == wanted, f"(round, answer) of kernel and pseudocode differ: {where()}"

        stopped += play(problem, run, (kernel, slow), watch)
    return stopped


# --- claims ---------------------------------------------------------------------------------------


@every_class
@every_policy
def test_the_kernel_makes_every_decision_of_algorithm_3(case, kind):
    dice = random.Random(1)
    for problem in share(case, [some(dice, kind) for _ in range(CLASSES[kind][2])]):
        agree(case, problem)


@every_class
@every_policy
def test_it_does_so_until_it_stops(case, kind):
    dice = random.Random(2)
    for _ in range(1 if kind == "program" else 3):
        problem = some(dice, kind, strays=0.0)
        top = dice.choice(problem.sets)
        base = sum(problem.means) / problem.n if kind == "cyclic-path" else 0.0
        means = [base + (2.0 if i in top else -2.0) for i in range(problem.n)]
        settings = {"sigma": 0.5, "nu": 0.1, "cap": 5000, "runs": (0,)}
        assert agree(case, replace(problem, means=means, **settings)) == 1


@every_class
@every_policy
def test_it_does_so_when_sets_tie(case, kind):
    dice = random.Random(3)
    for problem in share(case, [coins(dice, kind) for _ in range(CLASSES[kind][2])]):
        agree(case, problem)


@every_class
@every_policy
def test_it_does_so_when_told_more_than_it_asked_for(case, kind):
    dice = random.Random(4)
    for source in (some, coins):
        for _ in range(CLASSES[kind][2] // 2):
            agree(case, source(dice, kind, strays=0.3, runs=(0,)))


@every_policy
def test_it_does_so_when_noise_makes_costs_negative(case):
    dice = random.Random(7)
    for _ in range(6):
        problem = some(dice, "cyclic-path")
        agree(case, replace(problem, means=[-dice.choice([0.0, 0.1, 1.0]) for _ in problem.means]))


@pytest.mark.parametrize("kind", ["partition", "spanning-tree", "matching"])
def test_it_does_so_beyond_the_table_of_radii(kind):
    # rewards are all 0, so that radii alone decide
    problem = replace(coins(random.Random(5), kind), epsilon=0.0, warm=bounds.TABLE - 20, cap=100)
    agree(("lil-clucb", "heuristic", {}), replace(problem, means=[0.0] * problem.n, runs=(0,)))


@every_policy
@pytest.mark.parametrize("source", [GAUSSIAN, BERNOULLI])
def test_on_the_k_largest_it_makes_exactly_the_decisions_of_algorithm_2(case, source):
    dice = random.Random(6)
    stopped = 0
    for n in (2, 3, 4, 5, 8, 13, 20, 33, 60):
        k = dice.randint(1, n - 1)
        means = [dice.choice([0.1, 0.5, 0.9]) for _ in range(n)]
        epsilon = dice.choice([0.0, 0.3, 1.0])
        cap = 400 if n < 20 else 150
        problem = Problem(TopK(n, k), [], means, source, epsilon=epsilon, seed=n, cap=cap)
        general, special = (stepper_of(case, problem, generalised=yes) for yes in (True, False))
        assert general.spec.family != special.spec.family
        for run in (0, 1):
            general.reset(run)
            special.reset(run)

            def watch(got, wanted, general=general, special=special):
                assert (got, general.answer()) == (wanted, special.answer())

            settings = replace(problem, strays=0.2 * run)
            stopped += play(settings, run, (general, special), watch)
    assert stopped > 0


@every_policy
def test_on_the_k_largest_the_two_pseudocodes_agree_as_well(case):
    policy, variant, params = case
    means = [0.0, 3.0, 1.0, 0.0, 4.0, 0.5]
    problem = Problem(TopK(6, 2), [], means, cap=2000)
    one = naive.make(policy, variant, 6, 2, problem.nu, params=params)
    two = naive.make_combinatorial(
        policy, variant, [], 6, problem.nu, params=params, oracle=lambda w: naive.best(w, 2)
    )

    def watch(got, wanted):
        assert got == wanted

    assert play(problem, 0, (one, two), watch)
    assert one.answer() == two.answer() == [1, 4]


# --- compiled and interpreted ---------------------------------------------------------------------


def journal() -> list:
    """Every decision of instances of some classes, and the weights they rest on, to the digit."""
    dice, pages = random.Random(8), []
    kinds = ("spanning-tree", "cyclic-path", "oracle")
    for kind, case in zip(kinds, (CASES[0], CASES[3], CASES[2]), strict=True):  # a program each
        for _ in range(4):
            problem = replace(some(dice, kind), cap=40)
            kernel, decisions = stepper_of(case, problem), []
            kernel.reset(3)
            play(problem, 3, (kernel,), decisions.append)
            weights = [x.hex() for x in kernel.state.weights.flat]
            pages.append([kind, name(case), decisions, kernel.answer(), weights])
    return pages


def test_interpreted_kernels_decide_like_compiled_ones(monkeypatch):
    check(monkeypatch, journal)
