"""The compiled run loop: a policy against simulated rewards, over and over."""

from __future__ import annotations

from bestk.kernels import rng, step
from bestk.kernels.jit import entry
from bestk.kernels.types import SEEN, TOTAL, BoolArray, FloatArray, IntArray, Spec, State

POLL = 1 << 14  # rounds between two looks at the cancel flag


@entry
def play(
    state: State,
    spec: Spec,
    source: int,
    means: FloatArray,
    sigma: float,
    run: int,
    max_samples: int,
    out: IntArray,
    cancel: IntArray,
) -> bool:
    """One run from scratch; False if it was cut off at `max_samples` (or cancelled)."""
    step.reset(state, run)
    rounds = 0
    while True:
        n = step.ask(state, spec, out)
        if n == 0:
            return True
        rounds += 1
        if rounds % POLL == 0 and cancel[0] != 0:
            return False
        for j in range(n):
            if state.clock[TOTAL] >= max_samples:
                return False
            arm = out[j]
            reward = rng.draw(source, means, sigma, spec.seed, run, arm, state.counts[arm])
            step.tell(state, spec, arm, reward)


@entry
def play_many(
    state: State,
    spec: Spec,
    source: int,
    means: FloatArray,
    sigma: float,
    first_run: int,
    max_samples: int,
    acceptable: BoolArray,
    samples: IntArray,
    top_samples: IntArray,
    finished: BoolArray,
    right: BoolArray,
    out: IntArray,
    cancel: IntArray,
) -> None:
    """Runs first_run, first_run + 1, ...: one entry of each result array a run.

    A run is right if it finished and every arm of its answer is `acceptable`; `top_samples` counts
    the samples of the arms that are `acceptable`.
    """
    for r in range(samples.shape[0]):
        if cancel[0] != 0:
            return
        finished[r] = play(
            state, spec, source, means, sigma, first_run + r, max_samples, out, cancel
        )
        samples[r] = state.clock[TOTAL]
        for i in range(spec.n_arms):
            if acceptable[i]:
                top_samples[r] += state.counts[i]
        right[r] = finished[r]
        if state.clock[SEEN] == spec.n_arms:
            step.recommend(state, spec, out)
            for j in range(spec.k):
                right[r] &= acceptable[out[j]]
