"""The kernels, decision by decision, against the pseudocode of `reference/naive.py`.

Both are told the same rewards. At every ask they must want the same round, in the end they must
stop at the same time with the same answer. Run as a script this file prints the decisions of some
instances, which is how compiled and interpreted kernels are compared.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from bestk.compiled.live import Machine
from bestk.decisions import TopK
from bestk.kernels import bounds, rng, step
from bestk.kernels.types import BERNOULLI, GAUSSIAN, World
from bestk.policies import configure
from bestk.rewards import Bernoulli, Gaussian
from helpers.compiled import check
from reference import naive

CASES = [
    *(
        ("lil-rand-lucb", variant, {"levels": levels, "rule": rule})
        for variant in ("faithful", "heuristic")
        for levels in ("split", "uniform")
        for rule in ("random", "both", "least-sampled")
    ),
    *(
        (policy, variant, {})
        for policy in ("lil-clucb", "lil-lucb", "lucb++", "lil-ucb", "uniform")
        for variant in ("faithful", "heuristic")
    ),
    *(
        (policy, "faithful", {"eps": 0.1})
        for policy in ("lil-rand-lucb", "lil-clucb", "lil-lucb", "lucb++", "lil-ucb", "uniform")
    ),
    *((policy, None, {}) for policy in ("lucb", "clucb", "ugape")),
]
TIMED = [case for case in CASES if case[1] is None]  # radii that grow with time


def name(case) -> str:
    policy, variant, params = case
    return "-".join(str(part) for part in (policy, variant, *params.values()) if part)


every_policy = pytest.mark.parametrize("case", CASES, ids=name)


def share(case, problems: list) -> list:
    """All of them for the first case of a policy, every third, in turn, for its others."""
    turn = [other for other in CASES if other[0] == case[0]].index(case)
    return problems[(turn + turn // 3) % 3 :: 3] if turn else problems  # rules come in threes


# --- instances ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    k: int
    means: list[float]
    source: int = GAUSSIAN
    sigma: float = 0.5
    nu: float = 0.05
    epsilon: float = 0.0
    seed: int = 7
    runs: tuple[int, ...] = (0,)
    cap: int = 300  # asks
    warm: int = 0  # observations of each arm, all 0, before the first ask
    strays: float = 0.0  # chance, after a round, of an observation that nobody asked for

    @property
    def n(self) -> int:
        return len(self.means)


def some(dice: random.Random, n: int, k: int, **settings) -> Problem:
    """A random instance: a gap, a ladder or no structure, in random order."""
    gap, shape = dice.choice([0.3, 0.6, 1.5]), dice.randrange(3)
    if shape == 0:
        means = [gap] * k + [0.0] * (n - k)
    elif shape == 1:
        means = [gap * i for i in range(n)]
    else:
        means = [dice.uniform(-gap, gap) for _ in range(n)]
    dice.shuffle(means)
    settings.setdefault("cap", 300 if n < 20 else 150)  # pseudocode takes in proportion to arms
    settings.setdefault("nu", dice.choice([0.001, 0.05, 0.3]))
    settings.setdefault("epsilon", dice.choice([0.0, 0.0, 0.2, 0.7]))
    settings.setdefault("sigma", dice.choice([0.5, 0.5, 1.3]))
    return Problem(k, means, seed=dice.randrange(1 << 40), **settings)


def coins(dice: random.Random, n: int, k: int, **settings) -> Problem:
    """A random instance with rewards 0 and 1: means tie all the time."""
    p = dice.choice([0.0, 0.05, 0.5, 1.0])  # all equal, and at 0 and 1 for ever tied
    means = [p] * n if dice.random() < 0.5 else [dice.choice([0.1, 0.5, 0.9]) for _ in range(n)]
    return replace(some(dice, n, k, source=BERNOULLI, sigma=0.5, **settings), means=means)


# --- kernel and pseudocode in lock step -----------------------------------------------------------


def settle(case, problem: Problem) -> Problem:
    """Take out what lil'UCB cannot do: K > 1, slack, and faithfully a large nu."""
    if case[0] != "lil-ucb":
        return problem
    return replace(problem, k=1, epsilon=0.0, nu=min(problem.nu, 0.2))


def spec_of(case, problem: Problem):
    policy, variant, params = case
    rewards = Bernoulli() if problem.source == BERNOULLI else Gaussian(problem.sigma)
    return configure(
        policy,
        variant,
        params,
        decision=TopK(problem.n, problem.k),
        delta=problem.nu,
        epsilon=problem.epsilon,
        rewards=rewards,
        seed=problem.seed,
    ).spec


@dataclass
class Kernel:
    """The kernel behind the interface of `Naive`."""

    spec: object
    state: object = None
    out: np.ndarray = field(init=False)
    best: np.ndarray = field(init=False)

    def __post_init__(self):
        self.state = step.new_state(self.spec)
        self.machine = Machine(self.spec, self.state)
        self.out = np.zeros(max(self.spec.n_arms, 2), np.int64)
        self.best = np.zeros(self.spec.k, np.int64)

    def ask(self) -> list[int]:
        return self.out[: self.machine.call("ask", self.out)].tolist()

    def tell(self, arm: int, reward: float) -> None:
        self.machine.call("tell", arm, reward)

    def answer(self) -> list[int]:
        self.machine.call("recommend", self.best)
        return self.best.tolist()


def play(problem: Problem, run: int, players, watch) -> bool:
    """Let players choose on the same rewards, the first of them in charge; True = stopped."""
    counts, dice = [0] * problem.n, random.Random(run)
    world = World(problem.source, np.array(problem.means), problem.sigma)

    def observe(arm: int) -> None:
        reward = rng.draw(world, problem.seed, run, arm, counts[arm])
        counts[arm] += 1
        for player in players:
            player.tell(arm, reward)

    if problem.warm:  # at once, which is the same to the bit (tests/compiled/test_switch.py)
        arms = np.repeat(np.arange(problem.n), problem.warm)
        counts = [problem.warm] * problem.n
        for player in players:
            if isinstance(player, Kernel):
                player.machine.tell_many(arms, np.zeros(arms.size))
            else:
                player.T = list(counts)  # and S = 0
    for _ in range(problem.cap):
        rounds = [player.ask() for player in players]
        watch(*rounds)
        if not rounds[0]:
            return True
        arms = list(rounds[0])
        if problem.strays:
            while dice.random() < problem.strays:
                arms.append(dice.randrange(problem.n))
            dice.shuffle(arms)
        for arm in arms:
            observe(arm)
    return False


def agree(case, problem: Problem) -> int:
    """Assert that kernel and pseudocode take every decision alike; how many runs stopped."""
    problem = settle(case, problem)
    policy, variant, params = case
    kernel, stopped = Kernel(spec_of(case, problem)), 0
    for run in problem.runs:
        kernel.machine.reset(run)  # the same state again: nothing of the last run may stay
        slow = naive.make(
            policy,
            variant,
            problem.n,
            problem.k,
            problem.nu,
            problem.sigma,
            problem.epsilon,
            params,
            lambda ask, run=run: rng.uniform(problem.seed, run, 0, ask, rng.COIN),
        )

        def watch(got, wanted, slow=slow, run=run):
            if min(slow.T) == 0:
                assert got == wanted
                return
            got, wanted = (got, kernel.answer()), (wanted, slow.answer())
            if got != wanted and policy == "ugape" and problem.source == BERNOULLI:
                assert slow.ties(got[1])  # either J is right, so that the kernel's stands
                wanted = slow.sample(got[1]), got[1]
            assert got == wanted, (
                "(round, answer) of kernel and pseudocode differ: "
                f"{name(case)}, {problem}, run {run}, ask {slow.asks}, T {slow.T}, S {slow.S}"
            )

        stopped += play(problem, run, (kernel, slow), watch)
    return stopped


# --- claims ---------------------------------------------------------------------------------------


@every_policy
def test_the_kernel_makes_every_decision_of_the_pseudocode(case):
    dice = random.Random(1)
    sizes = (2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 31, 33, 47, 60)
    problems = [some(dice, n, dice.randint(1, n - 1), runs=(0, 1)) for n in sizes]
    mine = share(case, problems)
    stopped = sum(agree(case, problem) for problem in mine)
    assert stopped > 0 or len(mine) < len(problems)  # all cases stop in the next test


@every_policy
def test_it_does_so_for_every_k_until_it_stops(case):
    dice = random.Random(2)
    sizes = [(n, k) for n in range(2, 8) for k in range(1, 2 if case[0] == "lil-ucb" else n)]
    for n, k in share(case, sizes):
        means = [1.0] * k + [0.0] * (n - k)
        dice.shuffle(means)
        assert agree(case, Problem(k, means, nu=0.1, seed=n, cap=20_000)) == 1


@every_policy
def test_it_does_so_when_means_tie(case):
    dice = random.Random(3)
    sizes = (2, 3, 3, 4, 5, 6, 8, 11, 16, 23, 40)
    problems = [coins(dice, n, dice.randint(1, n - 1), runs=(0, 1)) for n in sizes]
    for problem in share(case, problems):
        agree(case, problem)


@every_policy
def test_it_does_so_when_told_more_than_it_asked_for(case):
    dice = random.Random(4)
    for source in (some, coins):
        sizes = (2, 3, 4, 7, 8, 12, 16, 30)
        problems = [source(dice, n, dice.randint(1, n - 1), strays=0.3) for n in sizes]
        for problem in share(case, problems):
            agree(case, problem)


@pytest.mark.parametrize("case", TIMED, ids=name)
def test_it_does_so_for_many_samples_where_radii_grow_with_time(case):
    means = [0.01 * i for i in range(20)]
    random.Random(5).shuffle(means)
    rounds = 5_000 if case[0] == "lucb" else 10_000
    assert agree(case, Problem(7, means, cap=rounds)) == 0  # none of them stops that early


@pytest.mark.parametrize("policy", ["lil-rand-lucb", "lil-clucb", "lil-ucb"])
def test_it_does_so_beyond_the_table_of_radii(policy):
    # rewards are all 0, so that radii alone decide
    zeros = Problem(1, [0.0] * 4, BERNOULLI, warm=bounds.TABLE - 20, cap=200)
    agree((policy, "heuristic", {}), zeros)


# --- compiled and interpreted ---------------------------------------------------------------------


def journal() -> list:
    """Every decision of a few instances, and the numbers they rest on, digit for digit."""
    dice, pages = random.Random(6), []
    for case in CASES:
        for source in (some, coins):
            problem = settle(case, source(dice, 9, 4, cap=60, strays=0.1))
            kernel, decisions = Kernel(spec_of(case, problem)), []
            kernel.machine.reset(3)
            play(problem, 3, (kernel,), decisions.append)
            numbers = [x.hex() for x in (*kernel.state.sums, *kernel.state.keys.flat)]
            pages.append([name(case), decisions, kernel.answer(), numbers])
    return pages


def test_interpreted_kernels_decide_like_compiled_ones(monkeypatch):
    check(monkeypatch, journal)
