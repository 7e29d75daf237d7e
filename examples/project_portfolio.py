"""A portfolio of projects under a budget: a binary program.

Each project has a known price and an unknown value, which a review estimates with noise. Which (at
most 4) are worth the most in total within a budget of 10, with 95% confidence and up to 1.0?
"""

import sys
from pathlib import Path

import numpy as np
from answers import draw_bars

import bestk

SIGMA = 0.3
rng = np.random.default_rng(5)
prices = np.array([2, 3, 4, 5, 1, 3, 2, 4], float)
worth = np.array([1.0, 2.6, 1.2, 4.2, 0.3, 2.9, 0.6, 1.4])
names = [f"project {x} ({price:.0f})" for x, price in zip("ABCDEFGH", prices, strict=True)]

portfolios = bestk.BinaryProgram(np.vstack([prices, np.ones(8)]), [0, 0], [10, 4])
problem = bestk.Problem(portfolios, bestk.Gaussian(SIGMA), delta=0.05, epsilon=1.0)
stepper = problem.stepper(seed=1)
answer = stepper.run(lambda project: rng.normal(worth[project], SIGMA))

state = stepper.state
print("the best portfolio:", ", ".join(names[i] for i in answer))
best = worth[portfolios.best(worth)].sum()
print(f"true worth {worth[answer].sum():.2f}, the best is {best:.2f}")
print(f"{state.counts.sum():,} reviews; another portfolio could gain at most {stepper.lead:.3f}")
target = Path(sys.argv[1] if len(sys.argv) > 1 else "project_portfolio.png")
print("drawn in", draw_bars(names, state.means, answer, state.counts, target, "The best portfolio"))
