"""Reward distributions of the user's own: any function `draw(rng, size)` for each arm.

What is drawn is held to the assumption twice: every reward as a study would read it, and a trial of
each arm before the first run. The trial refutes, with an error below `CHANCE`, that the means are
those that were given and that rewards scatter as assumed; it cannot prove it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bestk.arguments import require_function, shown
from bestk.decisions import DecisionClass, TopK
from bestk.decisions.topk import parse_k
from bestk.errors import InputError
from bestk.kernels.types import FloatArray
from bestk.rewards import Quantile, Rewards, require_rewards
from bestk.simulation.instances import Instance, own_means, structured
from bestk.simulation.streams import Draw, own_rewards, trial_generator

TRIAL = 1000  # rewards of each arm that are looked at before the first run; arbitrary
CHANCE = 1e-9  # that draws which keep the assumption are refused; arbitrary


def custom(
    draws: Sequence[Draw],
    means: Sequence[float] | FloatArray,
    *,
    k: int | str | None = None,
    decision: DecisionClass | None = None,
    rewards: Rewards | None = None,
    maximize: bool = True,
    name: str = "custom",
) -> Instance:
    """An instance whose rewards are drawn by functions of the user's own.

    `draws` has a function for each arm: `draw(rng, size)` returns `size` independent rewards, drawn
    from the `numpy.random.Generator` it is given and from nothing else. `means` are their true
    means. Wanted are the `k` best, or a set of a `decision` class. `rewards` is what simulations
    assume where they are not told: by default `Gaussian()`. The same seed gives the same rewards to
    every policy. What is drawn must keep the assumption: a simulation refuses rewards outside of
    it, and a trial of 1,000 rewards from which another mean or a wider scatter is evident.
    """
    values = own_means(means)
    if isinstance(draws, str) or not isinstance(draws, Sequence):
        raise InputError(
            f"draws {shown(draws)} were refused: give a list with one function for each arm"
        )
    for arm, draw in enumerate(draws):
        require_function(draw, f"the draw of arm {arm}")
    if len(draws) != len(values):
        raise InputError(f"{len(draws)} draws were refused: there are {len(values)} means")
    if rewards is not None:
        require_rewards(rewards)
    if (k is None) == (decision is None):
        raise InputError("give either k, how many arms shall be found, or a decision class")
    if decision is None:
        assert k is not None
        decision = TopK(len(values), parse_k(k, len(values)))
    made = structured(decision, values, maximize=maximize, name=name)
    return Instance(
        made.name, None, made.means, decision, maximize, draws=tuple(draws), assumed=rewards
    )


def check_draws(instance: Instance, rewards: Rewards) -> None:
    """Refuse draws that do not keep the assumption, as far as a trial of each arm shows it.

    With X sub-Gaussian (sigma) around the mean, the mean of n rewards is beyond
    sigma sqrt(2 log(2/p) / n) from it with probability at most p (Hoeffding), and the mean of
    (X - mu)^2 / sigma^2 beyond t > 1 with at most exp(-n/2 (t - 1 - log t)): for 0 < s < 1 and Z
    normal, E exp(s X^2 / (2 sigma^2)) = E exp(sqrt(s) X Z / sigma) <= E exp(s Z^2 / 2)
    = (1-s)^(-1/2), and Chernoff's bound is least at s = 1 - 1/t. Half of `CHANCE` is for each,
    split evenly over the arms. Where every reward can be checked, half the range is a sigma. Of a
    q-quantile at most q of all rewards lie below and 1 - q above it: of n rewards a share larger by
    sqrt(log(1/p) / (2 n)) with probability at most p (Hoeffding).
    """
    assert instance.draws is not None
    if isinstance(rewards, Quantile):
        _check_quantiles(instance, instance.draws, rewards)
        return
    sigma, share = rewards.sigma, CHANCE / (2 * len(instance.draws))
    near = sigma * math.sqrt(2.0 * math.log(2.0 / share) / TRIAL)
    for arm, (draw, mean) in enumerate(zip(instance.draws, instance.means.tolist(), strict=True)):
        drawn = np.array(own_rewards(draw, trial_generator(arm), TRIAL, arm, rewards))
        found = float(drawn.mean())
        if abs(found - mean) > near:
            raise InputError(
                f"the draws of arm {arm} were refused: {TRIAL:,} of them have mean {found:g}, too"
                f" far from {mean:g}, its mean, for {rewards.name} rewards with sigma {sigma:g}"
            )
        wide = float(((drawn - mean) ** 2).mean()) / sigma**2
        if wide > 1.0 and TRIAL / 2.0 * (wide - 1.0 - math.log(wide)) > math.log(1.0 / share):
            raise InputError(
                f"sigma {sigma:g} was refused: {TRIAL:,} draws of arm {arm} scatter by"
                f" {sigma * math.sqrt(wide):g} around its mean {mean:g}"
            )


def _check_quantiles(instance: Instance, draws: Sequence[Draw], rewards: Quantile) -> None:
    most = math.sqrt(math.log(2 * len(draws) / CHANCE) / (2 * TRIAL))
    for arm, (draw, value) in enumerate(zip(draws, instance.means.tolist(), strict=True)):
        drawn = np.array(own_rewards(draw, trial_generator(arm), TRIAL, arm, rewards))
        below, above = float((drawn < value).mean()), float((drawn > value).mean())
        if below > rewards.q + most or above > 1.0 - rewards.q + most:
            raise InputError(
                f"the draws of arm {arm} were refused: of {TRIAL:,} of them {below:.1%} lie below"
                f" {value:g} and {above:.1%} above it, too many for its {rewards.title}"
            )
