"""Policies in Python by themselves: a problem as they see it, and a driver of a few lines."""

from types import SimpleNamespace

import numpy as np

from bestk import Gaussian, TopK


def question(n_arms=None, k=1, decision=None, rewards=None, delta=0.05, epsilon=0.0, maximize=True,
             **params):  # fmt: skip
    """What `start` is given."""
    decision = TopK(n_arms, k) if decision is None else decision
    return SimpleNamespace(
        decision=decision, n_arms=decision.n_arms, k=getattr(decision, "k", None),
        rewards=rewards or Gaussian(0.5), delta=delta, epsilon=epsilon, maximize=maximize,
        params=params,
    )  # fmt: skip


def play(policy, problem, draw, seed=0, most=10**6):
    """Run it with rewards draw(rng, arm); the answer, sorted, and how often each arm was pulled."""
    rng = np.random.default_rng(seed)
    policy.start(problem, np.random.default_rng(seed + 10**6))
    pulls = np.zeros(problem.n_arms, int)
    while len(arms := list(policy.ask())):
        for arm in arms:
            pulls[arm] += 1
            policy.tell(arm, draw(rng, arm))
        assert pulls.sum() <= most
    return sorted(policy.answer()), pulls


def normal(means, sigma=0.5):
    return lambda rng, arm: rng.normal(means[arm], sigma)


def coins(chances):
    return lambda rng, arm: float(rng.random() < chances[arm])


def exact(means):
    """Rewards without noise."""
    return lambda _, arm: float(means[arm])
