"""SAR against phases worked out by hand, and against the paper's steps written out slowly."""

from fractions import Fraction

import numpy as np
import pytest

from bestk import InputError, SpanningTree
from bestk.policies.fixed_budget.sar import SAR, cumulated, logbar
from helpers.driven import exact, normal, play, question


def test_phases_are_as_worked_out_by_hand():
    assert logbar(4) == Fraction(19, 12)  # 1/2 + 1/2 + 1/3 + 1/4
    assert cumulated(5, 112) == [0, 12, 15, 20, 30]  # 107 / (107/60) is 60, not a bit more
    # (40 - 4) / (19/12) = 22.7: divided by 4, 3 and 2, rounded up
    assert cumulated(4, 40) == [0, 6, 8, 12]


def test_arms_leave_in_order_of_their_gaps():
    # gaps at first: 0.5 (accept), 0.1, 0.1, 0.4; then 0.1, 0.1, 0.4 (reject); then a tie of two
    answer, pulls = play(SAR(), question(4, 2, budget=40), exact([0.9, 0.5, 0.4, 0.1]))
    assert answer == [0, 1]
    assert pulls.tolist() == [6, 12, 12, 8]


def written_out(table, k, budget):
    """Figure 1 of the paper, one line after the other, in exact numbers."""
    n_arms = len(table)
    bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    n = [0] + [
        -((budget - n_arms) * bar.denominator // -(bar.numerator * (n_arms + 1 - phase)))
        for phase in range(1, n_arms)
    ]
    active, accepted, m = list(range(n_arms)), [], k
    for phase in range(1, n_arms):
        mean = {i: float(np.mean(table[i][: n[phase]])) for i in active}
        order = sorted(active, key=lambda i: (-mean[i], i))
        if m in (0, len(active)):
            break
        gap = {
            i: mean[i] - mean[order[m]] if rank < m else mean[order[m - 1]] - mean[i]
            for rank, i in enumerate(order)
        }
        leaves = max(active, key=lambda i: (gap[i], -i))
        active.remove(leaves)
        if mean[leaves] > mean[order[m]]:
            accepted.append(leaves)
            m -= 1
    return sorted(accepted + (active if m else []))


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_the_paper_says(seed):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 9))
    k, budget = int(rng.integers(1, n_arms)), int(rng.integers(n_arms + 1, 200))
    table = rng.normal(rng.normal(size=(n_arms, 1)), 1.0, (n_arms, budget))
    policy, seen = SAR(), np.zeros(n_arms, int)
    policy.start(question(n_arms, k, budget=budget), rng)
    while arms := policy.ask():
        for arm in arms:
            policy.tell(arm, table[arm, seen[arm]])
            seen[arm] += 1
    assert seen.sum() <= budget
    assert sorted(policy.answer()) == written_out(table, k, budget)


def test_where_the_theorem_says_so_it_is_always_right():
    means = np.array([1.0, 0.9, 0.2, 0.1, 0.0])
    gaps = np.sort(np.array([0.8, 0.7, 0.7, 0.8, 0.9]))
    h2 = (np.arange(1, 6) / gaps**2).max()
    budget = 4000
    bound = 2 * 25 * np.exp(-(budget - 5) / (8 * float(logbar(5)) * h2))
    assert bound < 1e-6
    for seed in range(3):
        assert play(SAR(), question(5, 2, budget=budget), normal(means), seed)[0] == [0, 1]


def test_too_small_a_budget_and_other_classes_are_refused():
    with pytest.raises(InputError, match="at least 6 pulls"):
        SAR().start(question(5, 2, budget=5), None)
    tree = SpanningTree([("a", "b"), ("b", "c"), ("a", "c")])
    with pytest.raises(InputError, match="K best"):
        SAR().start(question(decision=tree, budget=50), None)
