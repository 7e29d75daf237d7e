"""What does it cost that arms may come and go? Samples of e-lucb with `max_arms`, as a ratio to the
closed study on the same rewards, and what the same study costs when its arms arrive one by one."""

import numpy as np

import bestk
from bestk.kernels import rng
from bestk.kernels.types import GAUSSIAN, World
from bestk.study import Study

RUNS = 20


def samples(instance, run, max_arms=None, late=0):
    """To the end; the last `late` arms join one by one, every ten samples."""
    world = World(GAUSSIAN, instance.means, 0.5)
    n = len(instance.means)
    study = Study("s", range(n - late), k=instance.k, rewards=bestk.Gaussian(0.5), seed=run,
                  max_arms=max_arms)  # fmt: skip
    told, to_come = [0] * n, list(range(n - late, n))
    while (pulls := study.ask()) or to_come:
        if to_come and (not pulls or study.samples % 10 == 0):
            study.add_arm(to_come.pop(0))
        for pull in pulls:
            study.tell(pull, rng.draw(world, 1, run, pull.arm, told[pull.arm]))
            told[pull.arm] += 1
    return study.samples


def main():
    for name, arms, k in (("1-sparse", 10, 2), ("1-sparse", 100, 2), ("exponential", 50, 25)):
        instance = bestk.make_instance(name, arms=arms, k=k, alpha=0.3 if name[0] == "e" else None)
        closed = np.array([samples(instance, run) for run in range(RUNS)])
        print(f"{name}, {arms} arms, K={k}: closed {closed.mean():,.0f} samples, 1")
        for label, settings in (
            ("max_arms = N", {"max_arms": arms}),
            ("max_arms = 2 N", {"max_arms": 2 * arms}),
            ("max_arms = 10 N", {"max_arms": 10 * arms}),
            ("max_arms = N, half of them late", {"max_arms": arms, "late": arms // 2 - k}),
        ):
            if settings.get("late", 0) < 0:
                continue
            own = np.array([samples(instance, run, **settings) for run in range(RUNS)])
            print(f"  {label}: {own.mean() / closed.mean():.2f} times")


main()
