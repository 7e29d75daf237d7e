"""e-clucb, and lil-clucb with evidence bounds, decision by decision (`lockstep.py`).

On a matroid the pseudocode looks for exchanges in the list of all feasible sets, elsewhere it is
Algorithm 3 over that list. Run as a script this file prints the decisions of some instances, which
is how compiled and interpreted kernels are compared.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from bestk.decisions import (
    BipartiteMatching,
    ExplicitSets,
    Path,
    TopK,
)
from bestk.errors import InputError
from helpers import drawn, feasible
from helpers.compiled import check
from helpers.lockstep import (
    CONTINUOUS,
    FAMILIES,
    Problem,
    Tally,
    agree,
    page_of,
)

# --- classes, each with all its sets --------------------------------------------------------------


def top_k(dice):
    n = dice.randint(2, 7)
    k = dice.randint(1, n - 1)
    return TopK(n, k), [list(arms) for arms in combinations(range(n), k)]


def partition(dice):
    return drawn.partition(dice, 4, 8)


def tree(dice):
    return drawn.tree(dice, 5, 8)


def dag(dice):
    return drawn.dag(dice, 5, 9)


def roads(dice):
    nodes = range(dice.randint(3, 4))
    edges = dice.sample([(u, v) for u in nodes for v in nodes if u < v], len(nodes))
    return Path(edges, 0, 1, directed=False), feasible.paths(edges, 0, 1, False)


def explicit(dice):
    n = dice.randint(3, 8)
    sets = {tuple(sorted(dice.sample(range(n), dice.randint(0, n)))) for _ in range(8)}
    return ExplicitSets([list(arms) for arms in sets], n), sorted(map(list, sets))


def matching(dice):  # its oracle is Python
    pairs = [(u, v) for u in range(2) for v in range(3)]
    edges = dice.sample(pairs, dice.randint(3, 5))
    return BipartiteMatching(edges), feasible.matchings([(f"l{u}", f"r{v}") for u, v in edges])


MATROIDS = {"top-k": top_k, "partition": partition, "spanning-tree": tree}
OTHERS = {"dag": dag, "roads": roads, "explicit": explicit, "matching": matching}
CLASSES = MATROIDS | OTHERS

every_family = pytest.mark.parametrize("family", FAMILIES)
every_class = pytest.mark.parametrize("kind", CLASSES)
every_matroid = pytest.mark.parametrize("kind", MATROIDS)
# every policy on every class meets coins and half of the other families, always normal rewards and
# bets among them, and the other policy the other half: all pairs of class and family are met
TRIPLES = [
    (policy, kind, family)
    for h, policy in enumerate(("e-clucb", "lil-clucb"))
    for i, kind in enumerate(CLASSES)
    for j, family in enumerate(FAMILIES)
    if (h + i + j) % 2 == 0 or family == "bernoulli"
]


def some(dice, kind, family, apart=0.6, **settings) -> Problem:
    """A random class, its best set apart from the rest or not; slack is on the total."""
    decision = None
    while decision is None:
        try:
            decision, sets = CLASSES[kind](dice)
        except InputError:  # disconnected, a single answer, ...
            continue
    n, top = decision.n_arms, dice.choice(sets)
    maximize = kind != "roads" and dice.random() < 0.6
    means = [dice.uniform(0.1, 0.9) for _ in range(n)]
    if dice.random() < apart:
        means = [0.9 if (i in top) == maximize else 0.1 for i in range(n)]
    settings.setdefault("epsilon", dice.choice([0.0, 0.0, 0.3, 1.0]))
    settings.setdefault("nu", dice.choice([0.001, 0.05, 0.3]))
    settings.setdefault("policy", "e-clucb")
    seed = dice.randrange(1 << 40)
    return Problem(decision, family, means, sets, maximize=maximize, seed=seed, **settings)


# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "kind", "family"), TRIPLES)
def test_the_kernel_makes_every_decision_of_the_pseudocode(policy, kind, family):
    dice, tally = random.Random(1), Tally()
    by_sets = policy == "e-clucb" and kind in OTHERS  # whose pseudocode is slowest
    for _ in range(3):
        cap = 60 if by_sets else 130
        agree(some(dice, kind, family, policy=policy, cap=cap, strays=0.05), tally)
    if family in CONTINUOUS and kind != "roads":  # where costs are cut at 0
        assert tally.ties <= 2 + 0.03 * tally.asks
    assert tally.asks > 15


@every_family
@every_matroid
def test_it_does_so_until_it_stops(kind, family):
    dice, tally = random.Random(2), Tally()
    for _ in range(4):
        agree(some(dice, kind, family, apart=1.0, nu=0.2, epsilon=0.2, cap=2000), tally)
    assert tally.stopped == 4
    assert tally.early > 0


@every_matroid
@pytest.mark.parametrize("params", [{"independent": False}, {"weights": [0.2, 0.1, 0.7]}])
def test_it_does_so_for_other_weights(kind, params):
    dice, tally = random.Random(3), Tally()
    for family in ("gaussian", "ratings"):
        agree(some(dice, kind, family, params=params, nu=0.2, epsilon=0.3, cap=800), tally)
    assert tally.stopped > 0
    assert (tally.early > 0) == ("weights" in params)


@every_class
@pytest.mark.parametrize("stop", ["sets", "bounds"])
def test_where_pulls_have_costs_the_kernel_follows_the_rule_for_them(kind, stop):
    dice, tally = random.Random(4), Tally()
    params = {"stop": stop} if kind in OTHERS else {}
    for family in ("gaussian", "bounded"):
        problem = some(dice, kind, family, params=params, cap=40)
        costs = tuple(dice.choice([1.0, 16.0, 256.0]) for _ in range(problem.n))
        agree(replace(problem, costs=costs), tally)
    assert tally.asks > 15


# --- compiled and interpreted ---------------------------------------------------------------------


def journal() -> list:
    dice = random.Random(6)
    pairs = [("top-k", "gaussian"), ("partition", "wide"), ("spanning-tree", "gaussian")]
    return [page_of(some(dice, kind, family, cap=80)) for kind, family in pairs]


def test_interpreted_kernels_decide_like_compiled_ones(monkeypatch):
    check(monkeypatch, journal)
