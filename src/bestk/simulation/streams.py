"""The rewards of one run, one after the other, for policies that are stepped from Python.

The n-th reward of an arm is the same pure function of (seed, run, arm, n) that kernels draw from,
so that policies in Python and compiled ones see the same rewards. They are drawn ahead in blocks:
one by one each would cost as much as a few hundred of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bestk.errors import InputError
from bestk.kernels import rng
from bestk.kernels.types import World
from bestk.rewards import Rewards

FIRST, MOST = 8, 1024  # rewards of a block: of all arms to begin with; then twice as many of one
# the second word of the key of the user's draws, and of a trial of these; 0 is of a policy's coins
OWN_DRAWS, TRIALS = 1, 2

Draw = Callable[[np.random.Generator, int], Any]  # so many rewards of an arm


class Stream:
    """Rewards of every arm in one run."""

    def __init__(
        self,
        world: World,
        seed: int,
        run: int,
        draws: Sequence[Draw] | None,
        rewards: Rewards | None = None,  # what the draws are held to
    ) -> None:
        self._rewards = rewards
        self._world, self._seed, self._run, self._draws = world, seed, run, draws
        n_arms = len(world.means)
        self._drawn = [0] * n_arms  # rewards of every arm so far
        self._blocks: list[list[float]] = [[] for _ in range(n_arms)]  # the next one last
        if draws is None:
            arms, numbers = np.repeat(np.arange(n_arms), FIRST), np.tile(np.arange(FIRST), n_arms)
            shares = rng.uniform(seed, run, arms, numbers, rng.REWARD).reshape(n_arms, FIRST)
            for arm in range(n_arms):
                self._fill(arm, self._shaped(arm, shares[arm]))

    def take(self, arm: int) -> float:
        """The next reward of an arm."""
        block = self._blocks[arm]
        if not block:
            self._refill(arm)
            block = self._blocks[arm]
        return block.pop()

    def _refill(self, arm: int) -> None:
        first = self._drawn[arm]
        size = min(max(first, FIRST), MOST)
        if self._draws is not None:
            generator = self._generator(arm, first)
            self._fill(arm, own_rewards(self._draws[arm], generator, size, arm, self._rewards))
            return
        numbers = np.arange(first, first + size)
        shares = rng.uniform(self._seed, self._run, np.full(size, arm), numbers, rng.REWARD)
        self._fill(arm, self._shaped(arm, shares))

    def _fill(self, arm: int, rewards: list[float]) -> None:
        self._drawn[arm] += len(rewards)
        self._blocks[arm] = rewards[::-1]

    def _shaped(self, arm: int, shares: Any) -> list[float]:
        return [float(rng.shaped(self._world, arm, share)) for share in shares.tolist()]

    def _generator(self, arm: int, first: int) -> np.random.Generator:
        """Of a block of the user's draws: a function of seed, run, arm and where it begins."""
        key, counter = [self._seed, OWN_DRAWS], [0, first, arm, self._run]
        return np.random.Generator(np.random.Philox(key=key, counter=counter))


def own_rewards(
    draw: Draw, generator: np.random.Generator, size: int, arm: int, rewards: Rewards | None
) -> list[float]:
    """So many rewards that a function of the user's draws, as the assumption lets them be."""
    try:
        found = np.asarray(draw(generator, size))
    except Exception as error:  # whatever the user's code raises
        raise InputError(
            f"the draws of arm {arm} were refused: draw(rng, {size}) fails with"
            f" {type(error).__name__}: {error}"
        ) from error
    is_array = found.shape == (size,) and found.dtype.kind in "buif"
    if not is_array or not np.isfinite(found).all():
        what = f"{found.dtype} of shape {found.shape}"
        if is_array:
            what = str(float(found[~np.isfinite(found)][0]))
        raise InputError(
            f"the draws of arm {arm} were refused: draw(rng, {size}) must return {size} finite"
            f" numbers, not {what}"
        )
    drawn: list[float] = found.astype(np.float64).tolist()
    if rewards is not None:
        try:
            for reward in drawn:
                rewards.read_for_policy(reward)
        except InputError as error:
            raise InputError(f"the draws of arm {arm} were refused: {error}") from None
    return drawn


def trial_generator(arm: int) -> np.random.Generator:
    """What a trial of the user's draws is drawn from, the same every time."""
    return np.random.Generator(np.random.Philox(key=[0, TRIALS], counter=[0, 0, arm, 0]))
