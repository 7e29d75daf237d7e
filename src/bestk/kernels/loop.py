"""The compiled run loop: a policy against simulated rewards, over and over."""

from __future__ import annotations

from bestk.kernels import finite, quantile, rng, step
from bestk.kernels.types import (
    CPE,
    EXCHANGE,
    FINITE,
    QUANTILE,
    SETS,
    TAKEN,
    TOTAL,
    BoolArray,
    FloatArray,
    IntArray,
    Spec,
    State,
    World,
    outlined,
)

POLL = 1 << 8  # samples between two looks at the cancel flag
NO_ROOM = -1  # in place of samples: the run must be played again, in a state with more room


@outlined
def play(
    state: State,
    spec: Spec,
    world: World,
    run: int,
    max_samples: int,
    out: IntArray,
    cancel: IntArray,
) -> bool:
    """One run from scratch; False if it reached `max_samples` (or was cancelled)."""
    step.reset(state, spec, run)
    poll = POLL
    while state.clock[TOTAL] < max_samples:
        n = step.ask(state, spec, out)
        if n == 0:
            return True
        for j in range(min(n, max_samples - state.clock[TOTAL])):
            if state.evidence.kind == QUANTILE and not quantile.has_room(state, out[j]):
                state.clock[TAKEN] = NO_ROOM
                return False
            sample(state, spec, world, run, out[j])
        if state.clock[TOTAL] >= poll:
            poll += POLL
            if cancel[0] != 0:
                return False
    return False


def sample(state: State, spec: Spec, world: World, run: int, arm: int) -> None:
    """Draw the next reward of an arm and tell it; a policy that minimises is told its negative."""
    if state.evidence.kind == FINITE:
        reward = world.values[world.first[arm] + finite.place(state, spec, arm)]
    else:
        reward = rng.draw(world, spec.seed, run, arm, state.counts[arm])
    step.tell(state, spec, arm, spec.sign * reward)


def turn(state: State, spec: Spec, world: World, run: int, out: IntArray) -> int:
    """Around a Python oracle: sample the arm that was chosen, begin the next ask."""
    sample(state, spec, world, run, out[0])
    return step.ask_means(state, spec, out)


def score(
    state: State, spec: Spec, values: FloatArray, acceptable: BoolArray, least: float, out: IntArray
) -> bool:
    """Whether the current answer is valid: all arms acceptable, or a total of at least `least`."""
    n = step.recommend(state, spec, out)
    if spec.family in (CPE, EXCHANGE, SETS):
        total = 0.0
        for j in range(n):
            total += values[out[j]]
        return total >= least
    for j in range(n):
        if not acceptable[out[j]]:
            return False
    return True


@outlined
def play_many(
    state: State,
    spec: Spec,
    world: World,
    first_run: int,
    max_samples: int,
    values: FloatArray,
    acceptable: BoolArray,
    least: float,
    samples: IntArray,
    top_samples: IntArray,
    finished: BoolArray,
    right: BoolArray,
    out: IntArray,
    cancel: IntArray,
) -> None:
    """Runs first_run, first_run + 1, ...: one entry of each result array a run.

    `values` are the means as the policy sees them (negated to minimise). A run is right if it
    finished with a valid answer (`score`); `top_samples` counts the samples of the arms that are
    `acceptable`. Where there is no room for another observation, `samples` says so and all ends.
    """
    for r in range(samples.shape[0]):
        if cancel[0] != 0:
            return
        finished[r] = play(state, spec, world, first_run + r, max_samples, out, cancel)
        if state.evidence.kind == QUANTILE and state.clock[TAKEN] == NO_ROOM:
            samples[r] = NO_ROOM
            return
        samples[r] = state.clock[TOTAL]
        for i in range(spec.n_arms):
            if acceptable[i]:
                top_samples[r] += state.counts[i]
        right[r] = finished[r] and score(state, spec, values, acceptable, least, out)
