"""Tournament trees against a plain scan."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bestk.kernels import kinetic, step, trees
from bestk.kernels.types import ALL_SAMPLES, BOTH, UGAPE, Slot, Spec

FIRST = Slot(0)
few = st.sampled_from([-np.inf, -1.0, -0.5, 0.0, 0.5, 1.0])  # many ties, many absent arms


def scan(values, last):
    best = max(values)
    indices = [i for i, v in enumerate(values) if v == best]
    return indices[-1] if last else indices[0]


@settings(max_examples=200)
@given(
    st.integers(1, 6).flatmap(lambda d: st.lists(few, min_size=2**d, max_size=2**d)),
    st.lists(st.tuples(st.integers(0, 10**6), few), max_size=30),
    st.booleans(),
)
def test_the_winner_is_the_largest_key_after_any_updates(start, updates, last):
    slot = Slot(0, last=last)
    keys, nodes = np.array([start]), np.zeros((1, len(start)), np.int32)
    trees.build(nodes, keys, slot)
    assert keys[0, trees.winner(nodes, slot)] == max(start)
    for where, key in updates:
        i = where % len(start)
        keys[0, i] = key
        trees.update(nodes, keys, slot, i)
        assert trees.winner(nodes, slot) == scan(keys[0], last)


@settings(max_examples=200)
@given(st.integers(1, 6).flatmap(lambda d: st.lists(few, min_size=2**d, max_size=2**d)))
def test_following_lists_exactly_the_arms_in_the_tree(start):
    keys, nodes = np.array([start]), np.zeros((1, len(start)), np.int32)
    trees.build(nodes, keys, FIRST)
    found, i = [], trees.following(nodes, keys, FIRST, -1)
    while i >= 0:
        found.append(i)
        i = trees.following(nodes, keys, FIRST, i)
    assert found == [i for i, key in enumerate(start) if key > -np.inf]


def kinetic_state(leaves):
    numbers = (0.5, 0.0, 1.0, 1.0, 1.0, 0.1, 0.0, 0.0)
    return step.new_state(Spec(leaves, 1, UGAPE, ALL_SAMPLES, BOTH, 0, *numbers))


lines = st.tuples(few, st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 0.5, 1.0]))


@settings(max_examples=200)
@given(
    st.integers(1, 5).flatmap(lambda d: st.lists(lines, min_size=2**d, max_size=2**d)),
    st.lists(st.tuples(st.integers(0, 10**6), lines, st.floats(0.0, 0.7)), max_size=40),
    st.booleans(),
)
def test_the_kinetic_winner_is_the_highest_line_at_every_time(start, steps, last):
    state, c, slot = kinetic_state(len(start)), 0.25, Slot(0, last=last)
    state.keys[0], state.slopes[0] = zip(*start, strict=True)
    kinetic.build(state, slot, c)
    for where, (key, slope), wait in steps:
        c += wait
        kinetic.advance(state, slot, c)
        assert trees.winner(state.nodes, slot) == scan(state.keys[0] + c * state.slopes[0], last)
        i = where % len(start)
        state.keys[0, i], state.slopes[0, i] = key, slope
        kinetic.update(state, slot, i, c)
        assert trees.winner(state.nodes, slot) == scan(state.keys[0] + c * state.slopes[0], last)
