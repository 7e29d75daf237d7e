"""The fastest route through a street grid with noisy travel times.

Every street can be timed, one drive at a time; driving times vary. Which route from one corner to
the opposite one is the fastest on average, with 95% confidence and up to half a minute?
"""

import sys
from pathlib import Path

import numpy as np
from answers import draw_graph

import bestk

ROWS, COLUMNS, SIGMA = 4, 5, 0.5  # minutes
rng = np.random.default_rng(4)

corners = {f"{'ABCDE'[c]}{r}": (float(c), float(-r)) for r in range(ROWS) for c in range(COLUMNS)}
streets = [
    (a, b)
    for a, (x, y) in corners.items()
    for b, place in corners.items()
    if place in ((x + 1, y), (x, y - 1))
]
minutes = rng.uniform(1.0, 4.0, len(streets))  # the truth, which the policy does not see

# streets are two-way, so there are cycles: the class knows that times are not negative
routes = bestk.Path(streets, "A0", "E3", directed=False)
problem = bestk.Problem(routes, bestk.SubGaussian(SIGMA), delta=0.05, epsilon=0.5, maximize=False)
stepper = problem.stepper(seed=1)
answer = stepper.run(lambda street: rng.normal(minutes[street], SIGMA))

counts = stepper.state.counts
print("the fastest route:", ", ".join(f"{a}-{b}" for a, b in (streets[i] for i in answer)))
print(f"true time {minutes[answer].sum():.2f} minutes, the best is", end=" ")
print(f"{minutes[routes.best(-minutes)].sum():.2f}")
print(
    f"{counts.sum():,} drives; another route could be faster by at most {stepper.lead:.3f} minutes"
)
target = Path(sys.argv[1] if len(sys.argv) > 1 else "street_route.png")
print("drawn in", draw_graph(streets, corners, answer, counts, target, "The fastest route"))
