"""The fastest route through a street grid, as a live study with cars that come back when they like.

The streets and times are those of `street_route.py`, but nobody waits for one drive to end before
the next begins. Six cars are on the road. They come back in any order; the clock of one drive in
twenty fails, whatever the drive took, and such a pull is given up (`forget`): harmless, because
what is lost does not depend on the time driven. Everything told is in a file. Half way the program
drops the study without a word, as a crash would, and opens it again by its name: the drives that
were under way are handed out again, and nothing told is lost.

What is measured is the time of one street; what is looked for is the route with the least total.
"""

import argparse
import random
from pathlib import Path

import numpy as np
from answers import draw_graph

import bestk

ROWS, COLUMNS, SIGMA = 4, 5, 0.5  # minutes
CARS, LOST, HALF = 6, 0.05, 700  # at once; the share of lost drives; when the program "crashes"

corners = {f"{'ABCDE'[c]}{r}": (float(c), float(-r)) for r in range(ROWS) for c in range(COLUMNS)}
streets = [
    (a, b)
    for a, (x, y) in corners.items()
    for b, place in corners.items()
    if place in ((x + 1, y), (x, y - 1))
]
minutes = dict(
    zip(streets, np.random.default_rng(4).uniform(1.0, 4.0, len(streets)), strict=True)
)  # the truth, which the study does not see


def drive(study, rng, limit):
    """Keep the cars going until the study has stopped, or has so many observations."""
    road = []
    while study.samples < limit:
        road += study.ask(CARS - len(road))
        if not road:
            return
        pull = road.pop(rng.randrange(len(road)))  # whoever comes back next
        if rng.random() < LOST:
            study.forget(pull)
        else:
            study.tell(pull, rng.gauss(minutes[pull.arm], SIGMA))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", type=Path, nargs="?", default=Path("live_route.png"))
    picture = parser.parse_args().picture
    file = picture.with_suffix(".db")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)

    rng = random.Random(1)
    # streets are two-way, so there are cycles: the class knows that times are not negative
    routes = bestk.Path(streets, "A0", "E3", directed=False)
    study = bestk.Study(
        "route",
        decision=routes,
        delta=0.05,
        epsilon=0.5,
        rewards=bestk.SubGaussian(SIGMA),
        maximize=False,
        storage=file,
        seed=1,
    )
    drive(study, rng, HALF)
    print(f"dropped after {study.samples:,} drives with {len(study.open)} cars on the road")

    study = bestk.Study("route", storage=file)  # the file knows the rest
    print(f"opened again: {study.samples:,} drives, {len(study.open)} cars on the road")
    drive(study, rng, 10**6)

    result = study.result
    print(
        "the fastest route:", ", ".join(f"{a}-{b}" for a, b in study.arms if (a, b) in result.top)
    )
    fastest = routes.best(-np.array([minutes[street] for street in study.arms]))
    best = sum(minutes[street] for street, is_on in zip(study.arms, fastest, strict=True) if is_on)
    true = sum(minutes[street] for street in result.top)
    print(f"true time {true:.2f} minutes, the best is {best:.2f}")
    print(
        f"{result.samples:,} drives; with probability at least {1 - result.error_bound:.0%} another"
        f" route is faster by at most {result.certifiable_epsilon:g} minutes"
    )
    counts = np.array([arm.pulls for arm in result.arms])
    chosen = [i for i, street in enumerate(study.arms) if street in result.top]
    print("drawn in", draw_graph(streets, corners, chosen, counts, picture, "The fastest route"))
    print(f"the whole story: bestk report {file}")


if __name__ == "__main__":
    main()
