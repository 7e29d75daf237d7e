"""The cheapest backbone network: a spanning tree over 10 sites, from noisy quotes.

Every quote for a link is off by some noise. Which links connect all sites at the least total cost,
with 99% confidence and up to a slack of 0.2?
"""

import math
import sys
from pathlib import Path

import numpy as np
from answers import draw_graph

import bestk

SITES, SIGMA = 10, 0.2
rng = np.random.default_rng(3)
places = {s: (float(x), float(y)) for s, (x, y) in enumerate(rng.uniform(0, 4, (SITES, 2)))}
links = [(a, b) for a in places for b in places if a < b and math.dist(places[a], places[b]) < 2.6]
costs = np.array([math.dist(places[a], places[b]) for a, b in links])

networks = bestk.SpanningTree(links)
problem = bestk.Problem(networks, bestk.Gaussian(SIGMA), epsilon=0.2, maximize=False)
stepper = problem.stepper(seed=1)
answer = stepper.run(lambda link: rng.normal(costs[link], SIGMA))

counts = stepper.state.counts
print("the cheapest network:", ", ".join(f"{a}-{b}" for a, b in (links[i] for i in answer)))
best = costs[networks.best(-costs)].sum()
print(f"true cost {costs[answer].sum():.3f}, the least is {best:.3f}")
print(f"{counts.sum():,} quotes; another network could be cheaper by at most {stepper.lead:.3f}")
target = Path(sys.argv[1] if len(sys.argv) > 1 else "backbone_network.png")
print("drawn in", draw_graph(links, places, answer, counts, target, "The cheapest network"))
