"""Policies in plain Python that tests register: the pseudocode of LUCB, an even split, a coin."""

from contextlib import contextmanager

from bestk.policies import CATALOGUE, Parameter, register
from bestk.simulation.families import REGISTERED
from reference import naive


class Lucb:
    """LUCB from its pseudocode."""

    guarantee = "error <= delta (Kalyanakrishnan et al. 2012)"

    def start(self, problem, rng):  # noqa: ARG002
        sigma = problem.rewards.sigma
        self.naive = naive.Lucb(problem.n_arms, problem.k, problem.epsilon, problem.delta, sigma)

    def ask(self):
        return self.naive.ask()

    def tell(self, arm, reward):
        self.naive.tell(arm, reward)

    def answer(self):
        return self.naive.answer()


class EvenSplit:
    """Every arm equally often, until the budget is spent."""

    def start(self, problem, rng):  # noqa: ARG002
        self.n, self.k, self.left = problem.n_arms, problem.k, problem.params["budget"]
        self.sums = [0.0] * self.n
        self.told = []

    def ask(self):
        if self.left < self.n:
            return []
        self.left -= self.n
        return range(self.n)

    def tell(self, arm, reward):
        self.sums[arm] += reward
        self.told.append((arm, reward))

    def answer(self):
        return naive.best(self.sums, self.k)


class Coins:
    """Samples at random, as often as it is told to, in rounds of three."""

    def start(self, problem, rng):
        self.problem, self.rng, self.rounds = problem, rng, int(problem.params["rounds"])
        self.sums, self.counts = [0.0] * problem.n_arms, [0] * problem.n_arms

    def ask(self):
        self.rounds -= 1
        return [] if self.rounds < 0 else self.rng.integers(self.problem.n_arms, size=3)

    def tell(self, arm, reward):
        self.sums[arm] += reward
        self.counts[arm] += 1

    def answer(self):
        means = [s / max(1, n) for s, n in zip(self.sums, self.counts, strict=True)]
        return self.problem.decision.best(means).nonzero()[0]


ROUNDS = Parameter("rounds", 4, "how many")


@contextmanager
def registered():
    """These policies, under `own-lucb`, `even-split` and `coins`, as long as the block lasts."""
    with forgotten():
        register("own-lucb", Lucb, source="a test")
        register("even-split", EvenSplit, budget=True)
        register("coins", Coins, parameters=[ROUNDS], combinatorial=True)
        yield


@contextmanager
def forgotten():
    """What the block registers, policies and instances, is forgotten at its end."""
    before = [(names, dict(names)) for names in (CATALOGUE, REGISTERED)]
    try:
        yield
    finally:
        for names, old in before:
            names.clear()
            names.update(old)
