"""Reward assumptions: what a policy may take for granted about an observation.

The assumption decides which bounds are valid. All but `Quantile` are sub-Gaussian with a sigma
known in advance, which is what Lemma 2.1 and the Hoeffding radii of LUCB, CLUCB and UGapE need.
Each also gives evidence of its own (docs/evidence.md), sharper the more it assumes. A reward that
contradicts the assumption is refused, never clipped. `Quantile` assumes nothing of single rewards,
and says which quantile of theirs arms are compared by, in place of the mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bestk.arguments import shown
from bestk.errors import InputError, UnknownName
from bestk.rewards.base import RewardFamily
from bestk.rewards.families import Bernoulli, Bounded, Gaussian, Ratings, SubGaussian
from bestk.rewards.quantile import Quantile

__all__ = [
    "FAMILIES", "Bernoulli", "Bounded", "Gaussian", "Quantile", "Ratings", "RewardFamily",
    "Rewards", "SubGaussian", "make_rewards", "require_rewards", "rewards_from_dict",
]  # fmt: skip

Rewards = Gaussian | SubGaussian | Bernoulli | Ratings | Bounded | Quantile
FAMILIES: dict[str, type[Rewards]] = {
    family.name: family for family in (Gaussian, SubGaussian, Bernoulli, Ratings, Bounded, Quantile)
}


def require_rewards(rewards: object) -> None:
    """Refuse what is no assumption: its name, its class, a number."""
    if not isinstance(rewards, Rewards):
        raise InputError(
            f"rewards {shown(rewards)} were refused: give an assumption, such as Bernoulli()"
        )


def make_rewards(
    name: str,
    sigma: float | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    levels: Iterable[float] | None = None,
    q: float | None = None,
    relative: bool | None = None,
) -> Rewards:
    """The assumption of that name, from the parameters that it has.

    sigma for gaussian and subgaussian (default 1/2), low and high for bounded (default 0 and 1),
    levels for ratings, q (default 1/2) and relative for quantile. The others have a sigma of their
    own, which may be given if it agrees.
    """
    if name not in FAMILIES:
        raise UnknownName("reward family", name, FAMILIES)
    if name != Bounded.name and (low is not None or high is not None):
        raise InputError(f"low and high were refused: they belong to bounded rewards, not {name}")
    if name != Ratings.name and levels is not None:
        raise InputError(f"levels were refused: they belong to ratings, not to {name} rewards")
    if name != Quantile.name and (q is not None or relative is not None):
        raise InputError(f"q and relative were refused: they belong to quantile, not to {name}")
    if name == Quantile.name:
        if sigma is not None:
            raise InputError(f"sigma {sigma} was refused: a quantile needs none")
        return Quantile(0.5 if q is None else q, False if relative is None else relative)
    if name in (Gaussian.name, SubGaussian.name):
        family = Gaussian if name == Gaussian.name else SubGaussian
        return family() if sigma is None else family(sigma)
    rewards: Rewards
    if name == Bernoulli.name:
        rewards = Bernoulli()
    elif name == Bounded.name:
        rewards = Bounded(0.0 if low is None else low, 1.0 if high is None else high)
    elif levels is None:
        raise InputError("ratings need their levels, such as levels=[1, 2, 3, 4, 5]")
    else:
        rewards = Ratings(tuple(levels))
    if sigma not in (None, rewards.sigma):
        own = "1/2" if rewards.sigma == 0.5 else f"{rewards.sigma:g}"
        title = "Bernoulli" if name == Bernoulli.name else name
        raise InputError(f"sigma {sigma} was refused: {title} rewards have sigma {own}")
    return rewards


def rewards_from_dict(data: Mapping[str, Any]) -> Rewards:
    """Read what `to_dict` wrote."""
    given = dict(data)
    return make_rewards(given.pop("family"), **given)
