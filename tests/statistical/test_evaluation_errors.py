"""Evaluations err no more often than they may, on tables made to mislead them.

The best arms stand last, because ties go to low numbers. With delta = 0.1 a family fails at 155
errors or more in 1,000 runs, which has probability below 1e-6 if the guarantee holds.
"""

import numpy as np
import pytest

import bestk
from bestk.compiled.live import Machine
from bestk.decisions import TopK
from bestk.problem import Problem
from bestk.rewards import Bounded

DELTA, RUNS, MOST = 0.1, 1000, 154


def coins(seed, n_items, share=0.5):
    return (np.random.default_rng(seed).random(n_items) < share).astype(float)


def near_copies(n_items, seed=2):
    """Arms that differ in two items each; the last is better by one."""
    base, generator = coins(seed, n_items), np.random.default_rng(3)
    table = np.tile(base, (4, 1))
    for row in table[:3]:
        row[generator.choice(n_items, 2, replace=False)] = generator.random(2) < 0.5
    table[3, np.flatnonzero(base == 0)[:3]] = 1.0
    return table


def one_item_ahead():
    table = np.tile(coins(1, 30), (5, 1))
    table[4, np.argmin(table[4])] = 1.0
    return table


def anti_copies():
    base = np.array([1.0, 0.0] * 15)
    best = base.copy()
    best[1:4] = 1.0
    return np.array([base, 1 - base, base, 1 - base, best])


def shuffled_ties():
    generator = np.random.default_rng(4)
    table = np.array([generator.permutation([0.0, 1.0] * 15) for _ in range(5)])
    table[4, np.argmin(table[4])] = 1.0
    return table


def rare_successes():
    table = np.zeros((6, 40))
    table[np.arange(5), np.arange(5) * 7] = 1.0
    table[5, :3] = 1.0
    return table


def halves():
    places = np.arange(30)
    rows = places < 15, places >= 15, places % 2 == 0, places % 2 == 1, places < 17
    return np.array(rows, float)


def hardly_any_spread():
    table = np.full((5, 30), 0.5)
    table[3, 1], table[4, 0] = 0.7, 0.9
    return table


def item_response():
    generator = np.random.default_rng(5)
    hardness, ability = 3.0 * generator.normal(size=40), np.linspace(-0.4, 0.4, 6)
    table = generator.random((6, 40)) < 1 / (1 + np.exp(hardness - ability[:, None]))
    return table[np.argsort(table.mean(axis=1), kind="stable")].astype(float)


def just_bad():
    """All but the last are worse by a little more than the slack."""
    table = np.tile((np.arange(30) < 15).astype(float), (6, 1))
    table[5, 15:19] = 1.0
    return table


FAMILIES = {
    "near copies": (near_copies(40), 1, 0.0),
    "one item ahead": (one_item_ahead(), 1, 0.0),
    "anti-copies": (anti_copies(), 1, 0.0),
    "shuffled ties": (shuffled_ties(), 1, 0.0),
    "rare successes": (rare_successes(), 1, 0.0),
    "halves": (halves(), 2, 0.0),
    "hardly any spread": (hardly_any_spread(), 2, 0.0),
    "item response": (item_response(), 2, 0.0),
    "just bad under the slack": (just_bad(), 1, 0.13),
}


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    monkeypatch.setenv("BESTK_COMPILE", "now")


def errors(table, k, epsilon, runs, orders):
    """How many of these runs answer wrongly, with orders of the items drawn by `orders`."""
    n_arms, n_items = table.shape
    made = Problem(TopK(n_arms, k), Bounded(), DELTA, epsilon, items=n_items).configure(1)
    state, out = made.new_state(), np.zeros(n_arms, np.int64)
    machine, means = Machine(made.spec, state), table.mean(axis=1)
    least, wrong = np.sort(means)[-k] - epsilon - 1e-12, 0
    for run in range(runs):
        machine.reset(run)
        state.items.order[:] = orders(n_arms, n_items)
        state.items.drawn[:] = n_items
        while machine.call("ask", out):
            arm = int(out[0])
            machine.call("tell", arm, table[arm, state.items.order[arm, state.counts[arm]]])
        wrong += bool((means[state.high] < least).any())
    return wrong


def own_orders(seed):
    generator = np.random.default_rng(seed)
    return lambda n_arms, n_items: np.array([generator.permutation(n_items) for _ in range(n_arms)])


def one_order(seed):
    generator = np.random.default_rng(seed)
    return lambda _, n_items: generator.permutation(n_items)


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_made_to_mislead_do_not(family):
    table, k, epsilon = FAMILIES[family]
    instance = bestk.replay(table, k=k, without_replacement=True)
    result = bestk.simulate(instance, delta=DELTA, epsilon=epsilon, runs=RUNS)
    assert result.unfinished == 0
    assert result.wrong <= MOST


def test_one_order_for_all_arms_is_a_trap():
    """An arm that is ahead reveals the next item of the others: the evidence is no martingale.

    Near copies in one order were answered wrongly in 16 of 200 runs of a prototype, in orders of
    their own in none.
    """
    table = np.tile(coins(2, 100), (4, 1))
    generator = np.random.default_rng(3)
    for row in table:
        places = generator.choice(100, 2, replace=False)
        row[places] = 1.0 - row[places]
    table[3] = coins(2, 100)
    table[3, np.argmin(table[3])] = 1.0
    assert errors(table, 1, 0.0, 300, own_orders(5)) <= 3
    assert errors(table, 1, 0.0, 300, one_order(5)) >= 10
