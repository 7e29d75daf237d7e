"""Evidence on a finite set of items: docs/evaluation.md."""

from itertools import permutations

import numpy as np
import pytest

from bestk.decisions import TopK
from bestk.kernels import finite, rng, statistics, step
from bestk.kernels.types import HIGH, LOW
from bestk.problem import Problem
from bestk.rewards import Bounded

# Two arms on four items, whose means 0.4 and 0.6 are edges of cells
SCORES = np.array([[0.0, 0.2, 0.5, 0.9], [0.3, 0.5, 0.7, 0.9]])


def configured(scores, k=1, epsilon=0.0, delta=0.1, seed=1, rewards=None):
    n_arms, n_items = scores.shape
    problem = Problem(TopK(n_arms, k), rewards or Bounded(), delta, epsilon, items=n_items)
    return problem.configure(seed)


def begin(made, orders=None):
    state = made.new_state()
    step.reset(state, made.spec, 0)
    if orders is not None:
        state.items.order[:] = orders
        state.items.drawn[:] = state.items.order.shape[1]
    return state


def score(state, spec, scores, arm):
    item = finite.place(state, spec, arm)
    step.tell(state, spec, arm, scores[arm, item])


def run(made, scores, orders=None, cap=10**6):
    state, out = begin(made, orders), np.zeros(made.spec.n_arms, np.int64)
    while step.ask(state, made.spec, out) and state.counts.sum() < cap:
        score(state, made.spec, scores, int(out[0]))
    return state


def wealth_at_the_truth(state, arm):
    """Both martingales of an arm whose mean is an edge: its cells on either side."""
    edge = round(SCORES[arm].mean() * finite.CELLS)
    rows = state.items.wealth
    return rows[2 * arm + LOW, edge - 1], rows[2 * arm + HIGH, edge]


@pytest.mark.parametrize("plan", [(0, 1, 0, 1, 0, 1), (0, 0, 0, 1, 1, 1), (1, 0, 1, 1, 0)])
def test_wealth_has_mean_one_over_all_orders(plan):
    made = configured(SCORES)
    found = []
    for first in permutations(range(4)):
        for second in permutations(range(4)):
            state = begin(made, np.array([first, second]))
            for arm in plan:
                score(state, made.spec, SCORES, arm)
            (a, b), (c, d) = wealth_at_the_truth(state, 0), wealth_at_the_truth(state, 1)
            found.append([a, b, c, d, a * c, a * d, b * c, b * d])
    np.testing.assert_allclose(np.mean(found, axis=0), 1.0, rtol=1e-12)
    assert np.std(found, axis=0).min() > 0.05  # bets were made


def test_wealth_has_mean_one_when_the_arm_is_chosen_by_what_was_seen():
    made = configured(SCORES)
    found = []
    for first in permutations(range(4)):
        for second in permutations(range(4)):
            state, arm = begin(made, np.array([first, second])), 0
            for _ in range(5):
                score(state, made.spec, SCORES, arm)
                seen = state.items.fits[finite.TOTAL_X, arm]
                wanted = int((seen * 10) % 2)
                arm = wanted if state.counts[wanted] < 4 else 1 - wanted
            (a, b), (c, d) = wealth_at_the_truth(state, 0), wealth_at_the_truth(state, 1)
            found.append([a, b, c, d, a * d, b * c])
    np.testing.assert_allclose(np.mean(found, axis=0), 1.0, rtol=1e-12)


def test_every_order_is_drawn_as_often():
    order = np.zeros(4, np.int32)
    seen = {}
    for run_number in range(2400):
        order[:] = range(4)
        for t in range(4):
            finite.swap_in(order, t, rng.uniform(5, run_number, 2, t, 4))
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    assert len(seen) == 24
    # 24 binomials with mean 100 and deviation 9.8: 60 away has probability below 1e-8 in all
    assert max(abs(many - 100) for many in seen.values()) < 60


def test_bounds_tighten_to_the_mean_that_is_known_at_last():
    scores = np.random.default_rng(1).random((2, 30))
    made = configured(scores)
    state = begin(made)
    for t in range(30):
        for arm in (0, 1):
            score(state, made.spec, scores, arm)
        for arm in (0, 1):
            low = finite.bound(state, made.spec, arm, LOW)
            high = finite.bound(state, made.spec, arm, HIGH)
            assert low <= scores[arm].mean() + 1e-12
            assert high >= scores[arm].mean() - 1e-12
            assert (low == high) == (t == 29)


def test_a_tie_ends_once_both_means_are_known():
    scores = np.array([[0.0, 1.0] * 10, [1.0, 0.0] * 10, [0.0] * 20])
    state = run(configured(scores), scores)
    assert state.counts[:2].tolist() == [20, 20]
    assert state.counts[2] < 20
    assert np.flatnonzero(state.high).tolist() == [0]


@pytest.mark.parametrize("epsilon", [0.0, 0.03])
def test_no_run_scores_a_cell_twice_or_answers_wrongly(epsilon):
    generator = np.random.default_rng(3)
    for seed in range(20):
        scores = (generator.random((6, 25)) < generator.random((6, 1))).astype(float)
        made = configured(scores, k=2, epsilon=epsilon, delta=1e-3, seed=seed)
        state = run(made, scores)
        assert (state.counts <= 25).all()
        means = scores.mean(axis=1)
        assert means[state.high].min() >= np.sort(means)[-2] - epsilon - 1e-12


def test_the_range_does_not_matter():
    scores = np.random.default_rng(4).random((4, 40))
    plain = run(configured(scores, k=2), scores)
    made = configured(scores, k=2, rewards=Bounded(-3.0, 5.0))
    wide = run(made, 8.0 * scores - 3.0)
    assert plain.counts.tolist() == wide.counts.tolist()
    np.testing.assert_allclose(8.0 * plain.ends - 3.0, wide.ends, atol=1e-9)


@pytest.mark.parametrize("graded", [False, True])
def test_scores_read_back_by_numpy_are_the_same_to_the_bit(graded):
    scores = np.random.default_rng(5).random((5, 60))
    scores = scores if graded else np.round(scores)
    made = configured(scores, k=2)
    state, out, arms, rewards = begin(made), np.zeros(5, np.int64), [], []
    while step.ask(state, made.spec, out):
        arm = int(out[0])
        reward = scores[arm, finite.place(state, made.spec, arm)]
        arms.append(arm)
        rewards.append(reward)
        step.tell(state, made.spec, arm, reward)
    again, third = begin(made), len(arms) // 3
    for part in (slice(0, third), slice(third, None)):
        told = np.array(arms[part], np.int64), np.array(rewards[part])
        statistics.tell_many(again, made.spec, *told)
    for name in ("order", "drawn", "wealth", "difficulty", "fits", "grand"):
        one, other = getattr(state.items, name), getattr(again.items, name)
        assert np.array_equal(one, other), name
    assert np.array_equal(state.sums, again.sums)
