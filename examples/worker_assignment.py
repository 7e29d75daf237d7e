"""Assigning 8 workers to 8 tasks from noisy trial shifts.

A trial shift of a worker at a task shows how much they get done, with noise. Which assignment gets
the most done in total, with 95% confidence and up to a slack of 1.5 (of about 6)?
"""

import sys
from pathlib import Path

import numpy as np
from answers import draw_graph

import bestk

N, SIGMA = 8, 0.25
rng = np.random.default_rng(8)
pairs = [(f"w{w}", f"t{t}") for w in range(N) for t in range(N)]
skill = rng.uniform(0.2, 0.5, len(pairs))
for worker, task in enumerate(rng.permutation(N)):  # everybody has a calling
    skill[worker * N + task] += 0.4

assignments = bestk.BipartiteMatching(pairs, perfect=True)
problem = bestk.Problem(assignments, bestk.SubGaussian(SIGMA), delta=0.05, epsilon=1.5)
stepper = problem.stepper(seed=1)
answer = stepper.run(lambda pair: rng.normal(skill[pair], SIGMA))

counts = stepper.state.counts
print("the best assignment:", ", ".join(f"{w}-{t}" for w, t in (pairs[i] for i in answer)))
best = skill[assignments.best(skill)].sum()
print(f"true total {skill[answer].sum():.2f}, the best is {best:.2f}")
print(f"{counts.sum():,} trial shifts; another could be better by at most {stepper.lead:.3f}")
sides = {f"{side}{i}": (x, -float(i)) for side, x in (("w", 0.0), ("t", 4.0)) for i in range(N)}
target = Path(sys.argv[1] if len(sys.argv) > 1 else "worker_assignment.png")
print("drawn in", draw_graph(pairs, sides, answer, counts, target, "Workers and tasks"))
