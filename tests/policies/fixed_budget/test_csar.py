"""CSAR against its pseudocode over all feasible sets, written out."""

import math
from itertools import combinations

import numpy as np
import pytest

from bestk import (
    BipartiteMatching,
    ExplicitSets,
    InputError,
    Oracle,
    PartitionMatroid,
    Path,
    SpanningTree,
    TopK,
)
from bestk.policies.fixed_budget.csar import CSAR, cumulated
from helpers.driven import question

GRID = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")]
CLASSES = {
    "top-k": TopK(6, 2),
    "partition": PartitionMatroid([0, 0, 0, 1, 1], [1, 1]),
    "spanning-tree": SpanningTree([*GRID, ("s", "t")]),
    "matching": BipartiteMatching([(i, j) for i in range(3) for j in range(3)], perfect=True),
    "path": Path(GRID, "s", "t"),
    "explicit": ExplicitSets([[0, 1], [2, 3], [0, 3, 4], [1]]),
    "oracle": Oracle(3, lambda weights: weights > 0),  # all subsets
}


def feasible_sets(decision):
    """All sets of a class: those that weigh most when they are weighed up."""
    sets = []
    for size in range(decision.n_arms + 1):
        for arms in combinations(range(decision.n_arms), size):
            mask = np.isin(np.arange(decision.n_arms), arms)
            if np.array_equal(decision.best(np.where(mask, 1.0, -1.0)), mask):
                sets.append(frozenset(arms))
    return sets


def written_out(decision, table, budget):
    """Algorithm 2, with COracle over a list of all sets."""
    n, sets = decision.n_arms, feasible_sets(decision)
    log = sum(1 / i for i in range(1, n + 1))
    inside, outside, stopped = set(), set(), {}

    def oracle(weights, inside, outside):
        allowed = [s for s in sets if inside <= s and not outside & s]
        return max(allowed, key=lambda s: sum(weights[i] for i in s), default=None)

    for t in range(1, n + 1):
        pulls = math.ceil((budget - n) / (log * (n - t + 1)))
        free = [e for e in range(n) if e not in inside | outside]
        stopped |= dict.fromkeys(free, pulls)
        mean = [float(np.mean(table[e][: stopped[e]])) for e in range(n)]
        best = oracle(mean, inside, outside)
        loss = {}
        for e in free:
            ins, outs = (inside, outside | {e}) if e in best else (inside | {e}, outside)
            other = oracle(mean, ins, outs)
            total = -math.inf if other is None else sum(mean[i] for i in other)
            loss[e] = sum(mean[i] for i in best) - total
        chosen = max(free, key=lambda e: (loss[e], -e))
        (inside if chosen in best else outside).add(chosen)
    return sorted(inside)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_the_paper_says(kind, seed):
    decision, rng = CLASSES[kind], np.random.default_rng(seed)
    budget = int(rng.integers(decision.n_arms + 1, 150))
    table = rng.normal(rng.normal(size=(decision.n_arms, 1)), 1.0, (decision.n_arms, budget))
    policy, seen = CSAR(), np.zeros(decision.n_arms, int)
    policy.start(question(decision=decision, budget=budget), rng)
    while arms := policy.ask():
        for arm in arms:
            policy.tell(arm, table[arm, seen[arm]])
            seen[arm] += 1
    assert seen.sum() <= budget
    assert sorted(policy.answer()) == written_out(decision, table, budget)


def test_phases_are_as_worked_out_by_hand():
    # log~(3) = 11/6, (25 - 3) / (11/6) = 12: divided by 3, 2 and 1
    assert cumulated(3, 25) == [0, 4, 6, 12]
    # log~(10) = 7381/2520, and 177144 / log~(10) is 60480: with nothing left to round up
    exact = [60480 // share for share in range(10, 0, -1)]
    assert cumulated(10, 177154) == [0, *exact]


def test_paths_in_a_graph_with_cycles_are_refused():
    roads = Path(GRID, "s", "t", directed=False)
    with pytest.raises(InputError, match="path class was refused: csar needs the best set"):
        CSAR().start(question(decision=roads, budget=100, maximize=False), None)
