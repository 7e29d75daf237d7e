"""Codes of the sets rule: exp(-length) adds up to at most delta over all answers, for any best set.

Error rates cannot catch a wrong code; adding up over enumerated classes does.
"""

import math
import random

import numpy as np
import pytest

import bestk
from bestk.bounds.codes import best_rate, set_code
from bestk.decisions.base import Extent
from bestk.errors import InputError
from bestk.kernels.types import CODE, SHARE
from bestk.problem import Problem
from bestk.simulation import generate
from helpers import drawn, feasible


def dag(dice):
    return drawn.dag(dice, 6, 12)


def layered(layers, width):
    found = generate(f"layered:{layers}x{width}", "path", 0.5, True).decision
    return found, feasible.paths(list(found.edges), found.source, found.target, True)


def roads(dice, directed):
    nodes = range(dice.randint(3, 5))
    pairs = [(u, v) for u in nodes for v in nodes if (u != v if directed else u < v)]
    edges = dice.sample(pairs, dice.randint(3, min(12, len(pairs))))
    path = bestk.Path(edges, 0, 1, directed=directed)
    return path, feasible.paths(edges, 0, 1, directed)


def matching(dice, perfect):
    n = dice.randint(2, 4)
    pairs = [(u, v) for u in range(n) for v in range(n)]
    edges = dice.sample(pairs, dice.randint(n + 1, len(pairs)))
    sets = feasible.matchings([(f"l{u}", f"r{v}") for u, v in edges])
    if perfect:
        sets = [one for one in sets if len(one) == len({u for u, _ in edges})]
    return bestk.BipartiteMatching(edges, perfect), sets


def explicit(dice):
    n = dice.randint(3, 8)
    sets = {tuple(sorted(dice.sample(range(n), dice.randint(0, n)))) for _ in range(12)}
    return bestk.ExplicitSets([list(arms) for arms in sets], n), sorted(map(list, sets))


def as_oracle(decision, sets, counted=False):
    n_sets = len(sets) if counted else None
    return bestk.Oracle(decision.n_arms, decision.best, n_sets=n_sets), sets


def program(dice):
    n = dice.randint(3, 6)
    rows = [[dice.choice([0, 1]) for _ in range(n)] for _ in range(2)]
    decision = bestk.BinaryProgram(rows, [0, 0], [1, 2])
    masks = (np.array([x >> i & 1 for i in range(n)], bool) for x in range(1 << n))
    return decision, [np.flatnonzero(one).tolist() for one in masks if decision.contains(one)]


KINDS = {
    "acyclic path": dag,
    "path with cycles": lambda dice: roads(dice, True),
    "undirected path": lambda dice: roads(dice, False),
    "perfect matching": lambda dice: matching(dice, True),
    "matching": lambda dice: matching(dice, False),
    "explicit": explicit,
    "program": program,
    "oracle": lambda dice: as_oracle(*explicit(dice)),
    "oracle of equal sizes": lambda dice: as_oracle(*matching(dice, True)),
    "oracle that was counted": lambda dice: as_oracle(*explicit(dice), counted=True),
}


def some(dice, kind):
    while True:
        try:
            return KINDS[kind](dice)
        except InputError:  # disconnected, a single answer, ...
            continue


def lengths(decision, sets, nu):
    """The length of every answer given every best set, as the kernel has it."""
    maximize, by_sets = not decision.minimise_only, {"stop": "sets"}
    problem = Problem(decision, delta=nu, policy="e-clucb", maximize=maximize, params=by_sets)
    stepper = problem.stepper()
    assert stepper.spec.constant >= 0.0
    masks = np.zeros((len(sets), decision.n_arms), bool)
    for row, arms in zip(masks, sets, strict=True):
        row[arms] = True
    found = np.zeros((len(sets), len(sets)))
    state = stepper.state
    stepper.reset(0)
    for arm in range(decision.n_arms):
        stepper.tell(arm, 0.0)
    for a, answer in enumerate(masks):
        state.high[:], state.other[:] = answer, False
        if stepper._python and stepper.spec.constant > 0.0:
            stepper._spread()
            state.high[:] = answer
        stepper.machine.call("revise") if stepper._python else _start(stepper)
        arms = state.codes[CODE].copy()
        shares = state.codes[SHARE].copy()
        for b, best in enumerate(masks):
            differ = answer != best
            if a != b and stepper.spec.constant > 0.0:
                assert shares[differ].sum() >= 1.0 - 1e-12
            # the constant is paid once by the length that the proof adds up
            spread = stepper.spec.constant * (shares[differ].sum() - (a != b))
            found[a, b] = arms[differ].sum() - spread
    return found


def _start(stepper):
    from bestk.kernels import sets

    sets.start(stepper.state, stepper.spec)


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_of_every_class_adds_up_to_delta_at_most(kind):
    dice = random.Random(1)
    for nu in (0.3, 0.05, 0.001):
        for _ in range(2 if kind == "program" else 12):
            decision, sets = some(dice, kind)
            found = lengths(decision, sets, nu)
            np.fill_diagonal(found, math.inf)  # the best set itself is no wrong answer
            total = np.exp(-found).sum(axis=0)
            assert total.max() <= nu, (decision, nu)


@pytest.mark.parametrize("size", [(2, 3), (3, 3), (4, 2)])
def test_the_code_of_layered_paths_adds_up_too(size):
    found = lengths(*layered(*size), 0.01)
    np.fill_diagonal(found, math.inf)
    assert np.exp(-found).sum(axis=0).max() <= 0.01


def test_more_than_delta_would_be_seen():
    decision, sets = layered(3, 3)
    found = lengths(decision, sets, 0.01) - 3.0  # nats too short
    np.fill_diagonal(found, math.inf)
    assert np.exp(-found).sum(axis=0).max() > 0.01


def test_a_counted_class_has_a_shorter_code():
    def best(weights):
        return np.arange(20) // 4 == np.argmax(weights.reshape(5, 4).sum(axis=1))

    plain, counted = (set_code(bestk.Oracle(20, best, n_sets=n), 0.01) for n in (None, 5))
    assert plain.arms[0, 0] + plain.constant / 8 > counted.arms[0, 0] + counted.constant / 8


def test_perfect_matchings_need_no_constant():
    code = set_code(generate("bipartite:4x4", "matching", 0.5, True).decision, 0.01)
    assert code.constant == 0.0
    counts = {4: 6, 6: 8, 8: 9}  # choices of 2, 3, 4 rows, times derangements
    total = sum(many * math.exp(-d * code.arms[0, 0]) for d, many in counts.items())
    assert total == pytest.approx(0.01, rel=1e-6)


def test_a_rate_never_leaves_a_negative_constant():
    rate, constant = best_rate({1: math.log(3.0), 2: 0.0}, 0.9, None)
    assert constant >= 0.0
    assert 3.0 * math.exp(-rate) + math.exp(-2.0 * rate) <= 0.9 * math.exp(constant) * (1 + 1e-9)


@pytest.mark.parametrize("n_sets", [1, 0, -3, math.nan, "many"])
def test_a_number_of_sets_that_cannot_be_is_refused(n_sets):
    with pytest.raises(InputError, match="n_sets"):
        bestk.Oracle(3, lambda w: [int(np.argmax(w))], n_sets=n_sets)


def test_an_extent_says_what_a_class_says():
    assert bestk.ExplicitSets([[0], [1, 2]]).extent == Extent(1, 2, n_sets=2)
