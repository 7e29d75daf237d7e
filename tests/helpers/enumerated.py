"""Decision classes with all their feasible sets as rows, and what follows from the definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize

from bestk.decisions import (
    BinaryProgram,
    BipartiteMatching,
    DecisionClass,
    ExplicitSets,
    Oracle,
    PartitionMatroid,
    Path,
    SpanningTree,
    TopK,
)
from bestk.hardness.combinatorial import CombinatorialDifficulty

GRID = [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f"), ("a", "d"), ("b", "e"), ("c", "f")]
LAYERED = [
    (0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 5), (4, 5), (0, 4), (3, 4), (2, 5),
]  # fmt: skip
SIDES = [(u, v) for u in "xyz" for v in "pqr"] + [("w", "p"), ("w", "q")]


def subsets(n: int, is_feasible) -> np.ndarray:
    every = np.array(list(itertools.product((False, True), repeat=n)))
    return np.array([row for row in every if is_feasible(np.flatnonzero(row).tolist())])


def is_tree(chosen: list[int]) -> bool:
    part = {node: node for edge in GRID for node in edge}
    for edge in chosen:
        u, v = (part[node] for node in GRID[edge])
        if u == v:
            return False
        part = {node: v if at == u else at for node, at in part.items()}
    return len(set(part.values())) == 1


def is_matching(chosen: list[int]) -> bool:
    ends = [node for edge in chosen for node in SIDES[edge]]
    return len(ends) == len(set(ends))


def is_path(chosen: list[int]) -> bool:
    at, left = 0, {LAYERED[edge] for edge in chosen}
    while step := next((edge for edge in left if edge[0] == at), None):
        left.remove(step)
        at = step[1]
    return at == 5 and not left


def explicit(rng: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    n = int(rng.integers(3, 10))
    rows = np.unique(
        rng.random((int(rng.integers(3, 60)), n)) < rng.choice([0.3, 0.5, 0.8]), axis=0
    )
    rows = rows[rows.any(axis=1)]
    return ExplicitSets([np.flatnonzero(row).tolist() for row in rows], n), rows


def top(rng: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    n = int(rng.integers(2, 9))
    k = int(rng.integers(1, n))
    return TopK(n, k), subsets(n, lambda chosen: len(chosen) == k)


def partition(rng: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    groups = [0, 0, 0, 1, 1, 1, 1, 2, 2]
    caps = [int(rng.integers(1, 3)), int(rng.integers(1, 4)), 1]

    def fits(chosen: list[int]) -> bool:
        return [sum(groups[arm] == g for arm in chosen) for g in range(3)] == caps

    return PartitionMatroid(groups, caps), subsets(len(groups), fits)


def as_oracle(rng: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    """A matroid that the library does not know as one: the general search."""
    inner, rows = top(rng) if rng.random() < 0.5 else partition(rng)
    return Oracle(inner.n_arms, inner.best), rows


def program(rng: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    cost = rng.integers(1, 9, 6)
    budget = int(cost.sum()) // 2
    rows = subsets(6, lambda chosen: cost[chosen].sum() <= budget)
    return BinaryProgram([cost.tolist()], -math.inf, budget), rows


def tree(_: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    return SpanningTree(GRID), subsets(len(GRID), is_tree)


def path(_: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    return Path(LAYERED, 0, 5), subsets(len(LAYERED), is_path)


def matching(_: np.random.Generator) -> tuple[DecisionClass, np.ndarray]:
    return BipartiteMatching(SIDES), subsets(len(SIDES), is_matching)


FAMILIES = [explicit, top, partition, as_oracle, tree, path, matching]
CASES = [(family, seed) for family in FAMILIES for seed in range(4)]
CASES += [(explicit, seed) for seed in range(4, 20)] + [(program, 0)]


def draw(family, seed: int) -> tuple[DecisionClass, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    decision, rows = family(rng)
    means = rng.normal(size=decision.n_arms)
    if seed % 4 == 3:  # gaps of many orders of magnitude
        means *= 10.0 ** rng.uniform(-2, 2, means.size)
    return decision, rows, means


def naive_gaps(rows: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = rows @ means
    optimum = rows[values.argmax()]
    gaps = np.full(means.size, np.inf)
    for arm in range(means.size):
        others = values[rows[:, arm] != optimum[arm]]
        if others.size:
            gaps[arm] = values.max() - others.max()
    return optimum, gaps


def competitors(rows: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric differences with OPT, and their gaps, of all other feasible sets."""
    values = rows @ means
    keep = np.arange(len(rows)) != values.argmax()
    return (rows ^ rows[values.argmax()])[keep], (values.max() - values)[keep]


def naive_t_star(rows: np.ndarray, means: np.ndarray, sigma: float) -> float:
    """min sum 1/y with y(D) <= gap^2 / (2 sigma^2) for ALL competing sets, by a general solver."""
    arms, gaps = competitors(rows, means)
    sampled = arms.any(axis=0)
    unit = gaps.min()
    matrix = arms[:, sampled] / ((gaps / unit) ** 2)[:, None]
    start = np.log(0.9 / (matrix.max(axis=0) * sampled.sum()))
    found = minimize(  # in z = log y, so that y > 0 and far arms are as well scaled as near ones
        lambda z: math.log(np.sum(np.exp(-z))),
        start,
        jac=lambda z: -np.exp(-z) / np.sum(np.exp(-z)),
        constraints={
            "type": "ineq",
            "fun": lambda z: 1.0 - matrix @ np.exp(z),
            "jac": lambda z: -matrix * np.exp(z),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 400},
    )
    scale = np.max(matrix @ np.exp(found.x))  # repair what it violates
    return float(scale * np.sum(np.exp(-found.x)) * 2.0 * sigma**2 / unit**2)


def value_of_shares(rows, means, sigma: float, shares: np.ndarray) -> float:
    """1 / (min over competing sets of gap^2 / (2 sigma^2 sum over D of 1/w_i)), spelt out."""
    arms, gaps = competitors(rows, means)
    return max(
        2.0 * sigma**2 * np.sum(1.0 / shares[d]) / gap**2 for d, gap in zip(arms, gaps, strict=True)
    )


def assert_certified(found: CombinatorialDifficulty) -> None:
    assert 0.0 < found.t_star <= found.t_star_high * (1.0 + 1e-12)
    assert found.t_star_high <= found.t_star * (1.0 + 1.1e-5)
