"""T* of an instance, where it is solved."""

from __future__ import annotations

import math

from bestk.hardness import t_star
from bestk.rewards import Bernoulli, Bounded, Ratings, Rewards
from bestk.simulation.instances import Instance

LARGEST_LOWER_BOUND = 10**4  # arms up to which T* is solved


def best_k_limit(instance: Instance, rewards: Rewards) -> tuple[float | None, str | None]:
    """T* of finding the K best without slack, or why there is none."""
    assert instance.k is not None
    if isinstance(rewards, Ratings | Bounded):
        return None, f"not solved for {rewards.name} rewards"
    if instance.tied:
        return None, "tied means cannot be told apart"
    if len(instance.means) > LARGEST_LOWER_BOUND:
        return None, f"not computed for more than {LARGEST_LOWER_BOUND:,} arms"
    if instance.pool is not None and not instance.pool.is_normal(rewards.sigma):
        return None, "not known for rewards drawn from data"
    values = instance.values
    if isinstance(rewards, Bernoulli) and not instance.maximize:
        values = 1.0 - instance.means  # the rarest ones are the most frequent zeros
    value, _ = t_star(values, instance.k, rewards=rewards)
    if not math.isfinite(value):
        return None, "the K-th and the next mean are too close"
    return value, None
