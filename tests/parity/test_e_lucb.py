"""e-lucb and the paper's policies with evidence bounds, against `tests/naive_evidence.py`.

Both are told the same rewards and the kernel is in charge. Its round must be allowed at every ask:
the only one where rewards are continuous, one of those that tie where they are not. It may stop
only where brute force over many c has found enough evidence for every pair, and must where brute
force still does at 0.99 nu. Run as a script this file prints the decisions of some instances, which
is how compiled and interpreted kernels are compared.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

import numpy as np
import pytest

import naive_evidence as naive
from bestk.confidence import evidence_for, policy_evidence
from bestk.decisions import TopK
from bestk.kernels import evidence as ev
from bestk.kernels import rng
from bestk.policies import configure
from bestk.policies.combinatorial import Stepper
from bestk.rewards import Bernoulli, Bounded, Gaussian, Ratings, Rewards
from interpreted import journal_of, print_journal

STARS = (-1.0, 0.5, 1.0)
FAMILIES = {  # the assumption, the same for the slow side, a reward of an arm with mean about x
    "gaussian": (Gaussian(0.5), naive.Normal(0.5), lambda dice, x: dice.gauss(x, 0.5)),
    "wide": (Gaussian(1.3), naive.Normal(1.3), lambda dice, x: dice.gauss(x, 1.3)),
    "bernoulli": (Bernoulli(), naive.Beta(), lambda dice, x: float(dice.random() < x)),
    "ratings": (Ratings(STARS), naive.Bets(STARS), lambda dice, x: STARS[stars(dice, x)]),
    "bounded": (Bounded(), naive.Rounded(0, 1), lambda dice, x: dice.betavariate(9 * x, 9 - 9 * x)),
    "ranged": (
        Bounded(-1, 3),
        naive.Rounded(-1, 3),
        lambda dice, x: (
            dice.choice([3.0, 0.25, 4 * dice.random() - 1]) if dice.random() < x else -1
        ),
    ),
}
CONTINUOUS = ("gaussian", "wide", "bounded")
CASES = [
    *(("e-lucb", {"rule": rule}) for rule in ("random", "radius", "both", "least-sampled")),
    ("e-lucb", {"independent": False}),
    ("e-lucb", {"weights": [0.1, 0.2, 0.7]}),
    ("lil-rand-lucb", {}),
    ("lil-rand-lucb", {"levels": "uniform", "rule": "radius"}),
    ("lil-lucb", {}),
    ("lucb++", {}),
    ("uniform", {}),
]
every_family = pytest.mark.parametrize("family", FAMILIES)
every_policy = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "-".join(map(str, (case[0], *case[1].values())))
)


def stars(dice, x) -> int:
    return (dice.random() < x) + (dice.random() < x)


# --- instances ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    family: str
    k: int
    means: list[float]
    policy: str = "e-lucb"
    params: dict = field(default_factory=dict)
    nu: float = 0.05
    epsilon: float = 0.0
    maximize: bool = True
    seed: int = 7
    runs: tuple[int, ...] = (0,)
    cap: int = 200  # samples
    strays: float = 0.0  # chance, after a round, of an observation that nobody asked for

    @property
    def n(self) -> int:
        return len(self.means)

    @property
    def rewards(self) -> Rewards:
        return FAMILIES[self.family][0]

    def draw(self, dice, arm) -> float:
        return FAMILIES[self.family][2](dice, self.means[arm])

    def stepper(self) -> Stepper:
        bound = {} if self.policy.startswith("e-") else {"bound": "evidence"}
        configured = configure(
            self.policy,
            None,
            {**self.params, **bound},
            decision=TopK(self.n, self.k),
            delta=self.nu,
            epsilon=self.epsilon,
            rewards=self.rewards,
            seed=self.seed,
            maximize=self.maximize,
        )
        return Stepper(TopK(self.n, self.k), configured, self.rewards)

    def naive(self, run) -> naive.Player:
        family = FAMILIES[self.family][1]
        return naive.make(
            self.policy,
            self.n,
            self.k,
            self.nu,
            self.epsilon,
            family if self.maximize else naive.mirrored(family),
            self.params,
            lambda ask: rng.uniform(self.seed, run, 0, ask, rng.COIN),
            lambda arm, count: rng.uniform(self.seed, run, arm, count, rng.ROUNDING),
        )


def some(dice, family, n, k, **settings) -> Problem:
    """A random instance; means in (0, 1), the best K apart from the rest or not."""
    gap = dice.choice([0.0, 0.3, 0.6])
    means = [dice.uniform(0.05, 0.35) + (gap if i < k else 0.0) for i in range(n)]
    if dice.random() < 0.3:  # arms alike tie all the time where rewards are discrete
        means = [0.9] * k + [0.1] * (n - k)
    dice.shuffle(means)
    settings.setdefault("nu", dice.choice([0.001, 0.05, 0.3]))
    settings.setdefault("epsilon", dice.choice([0.0, 0.0, 0.1, 0.4]))
    settings.setdefault("maximize", dice.random() < 0.6)
    return Problem(family, k, means, seed=dice.randrange(1 << 40), **settings)


# --- kernel and pseudocode in lock step -----------------------------------------------------------


def play(problem: Problem, run: int, kernel: Stepper, watch) -> bool:
    """Let the kernel choose; `watch` sees every round and every reward; True = stopped."""
    dice, sign = random.Random(problem.seed + run), 1.0 if problem.maximize else -1.0
    kernel.reset(run)
    samples = 0
    while samples < problem.cap:
        arms = kernel.ask()
        watch(arms, None)
        if not arms:
            return True
        while dice.random() < problem.strays:
            arms.append(dice.randrange(problem.n))
        samples += len(arms)
        for arm in arms:
            reward = problem.draw(dice, arm)
            kernel.tell(arm, reward)
            watch(arm, sign * reward)
    return False


@dataclass
class Tally:
    """What was compared."""

    stopped: int = 0
    early: int = 0  # of which before the bounds separated
    asks: int = 0
    ties: int = 0  # asks at which more than one round was allowed


def agree(problem: Problem, tally: Tally) -> None:
    """Assert that every decision of the kernel is allowed."""
    kernel = problem.stepper()
    for run in problem.runs:
        slow = problem.naive(run)

        def watch(what, reward, slow=slow, run=run):
            if reward is not None:
                slow.tell(what, reward)
                return
            allowed = slow.allowed(kernel.answer)
            where = f"{problem}, run {run}, ask {slow.asks}, seen {slow.seen}"
            assert what in allowed, f"{what} is not one of {allowed}: {where}"
            tally.asks += 1
            tally.ties += len(allowed) > 1

        stopped = play(problem, run, kernel, watch)
        tally.stopped += stopped
        tally.early += stopped and not slow.apart


# --- claims ---------------------------------------------------------------------------------------


@every_family
@every_policy
def test_the_kernel_makes_every_decision_of_the_pseudocode(case, family):
    policy, params = case
    dice, tally = random.Random(1), Tally()
    for n in (2, 4, 7):
        k = dice.randint(1, n - 1)
        agree(some(dice, family, n, k, policy=policy, params=params, strays=0.05), tally)
    # of continuous rewards only the hybrid stop, between nu and 0.99 nu, leaves a choice
    assert tally.ties <= (2 if family in CONTINUOUS else 0.1 * tally.asks)
    assert tally.stopped > 0


@every_family
@pytest.mark.parametrize("maximize", [True, False])
def test_it_does_so_until_it_stops(family, maximize):
    tally, dice = Tally(), random.Random(2)
    for n, k in ((2, 1), (4, 1), (5, 3), (6, 3)):
        means = [0.85] * k + [0.1] * (n - k)
        dice.shuffle(means)
        k = k if maximize else n - k
        agree(Problem(family, k, means, nu=0.1, cap=3000, maximize=maximize, seed=n), tally)
    assert tally.stopped == 4
    assert tally.early >= 3


def test_it_keeps_every_arm_sampled_and_checks_the_hybrid_stop_more_seldom():
    """A third arm that is never in doubt gets a hundredth of an even share."""
    tally = Tally()
    problem = Problem("gaussian", 1, [0.5, 0.38, -9.0], nu=0.02, cap=2500, seed=3, runs=(0, 1))
    agree(problem, tally)
    assert tally.stopped == tally.early == 2
    assert tally.asks > 2 * 700
    assert tally.ties <= 2


# --- evidence and bounds --------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, "bernstein"])
def test_log_e_and_bounds_are_those_of_plain_formulas(family):
    """log E to 1e-10, and a bound of log E to 3e-10 on the safe side."""
    dice = random.Random(4)
    for t in (1, 2, 5, 30, 200):
        for x in (0.02, 0.4, 0.9):
            rewards, slow, e, seen, stats = observed(dice, family, t, x)
            ends = (-4.0, 4.0) if e.family == ev.NORMAL else (rewards.low, rewards.high)
            for side in (ev.PLUS, ev.MINUS):
                c = np.linspace(*ends, 23)
                ours = [ev.log_evidence(e, side, *stats, 0, point)[0] for point in c]
                np.testing.assert_allclose(ours, slow.log_e(side, seen, c), rtol=1e-10, atol=1e-10)
                for alpha in (0.3, 0.01, 1e-5):
                    found = ev.bound(e, side, *stats, 0, -np.log(alpha), np.nan)
                    wanted = naive.bound(slow, side, seen, alpha)
                    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-8)
                    assert side * found <= side * wanted + 1e-9


def observed(dice, family, t, x):
    """t rewards with mean about x: both sides' evidence of them, and both sides' statistics."""
    rewards, slow, draw = FAMILIES["ranged" if family == "bernstein" else family]
    e = policy_evidence(rewards)
    if family == "bernstein":
        slow, e = naive.Bernstein(rewards.low, rewards.high), evidence_for(rewards)
    data = [slow.see(draw(dice, x), dice.random()) for _ in range(t)]
    counts = np.array([[data.count(level) for level in e.levels]])
    s, v = 0.0, 0.0
    for n, reward in enumerate(data):
        v = ev.spread(e, float(n), s, v, reward) if family == "bernstein" else 0.0
        s += reward
    return rewards, slow, e, slow.summary(data), (float(t), s, v, counts)


# --- compiled and interpreted ---------------------------------------------------------------------


def journal() -> list:
    """Every decision of a few instances, and the numbers they rest on, digit for digit."""
    dice, pages = random.Random(6), []
    for family in FAMILIES:
        for policy, params in CASES:
            problem = some(dice, family, 4, 2, policy=policy, params=params, cap=60, strays=0.1)
            kernel, decisions = problem.stepper(), []
            play(problem, 3, kernel, lambda *what, into=decisions: into.append(what))
            state = kernel.state
            numbers = [float(x).hex() for x in (*state.sums, *state.keys.flat, *state.ends.flat)]
            pages.append([family, policy, decisions, kernel.answer(), numbers])
    return json.loads(json.dumps(pages))


def test_interpreted_kernels_decide_like_compiled_ones():
    for compiled, interpreted in zip(journal(), journal_of(__file__), strict=True):
        assert compiled == interpreted


if __name__ == "__main__":
    print_journal(journal)
