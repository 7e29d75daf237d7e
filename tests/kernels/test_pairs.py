"""One mixture for both arms of a pair: a martingale at the true means, and a rigorous search."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from bestk.decisions import TopK
from bestk.kernels import pairs
from bestk.kernels.types import LOWER, UPPER
from helpers.lockstep import Problem, load

SIGMA = 0.5


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("samples_of", ["leader", "rival"])
def test_one_more_sample_of_either_arm_changes_nothing_on_average(ratio, samples_of):
    """By Gauss-Hermite quadrature; `lead` is the leader's excess less ratio times the rival's."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    factor = 1.0 if samples_of == "leader" else -ratio

    def value(t_b, t_a, lead):
        return math.exp(pairs.log_joint(SIGMA, t_b + ratio**2 * t_a, lead)[0])

    assert value(0.0, 0.0, 0.0) == pytest.approx(1.0)
    for t_b, t_a in ((0, 0), (1, 3), (20, 7), (300, 400)):
        for z in (-3.0, 0.0, 2.0):
            lead = z * SIGMA * math.sqrt(t_b + ratio**2 * t_a)
            more = (t_b + 1, t_a) if samples_of == "leader" else (t_b, t_a + 1)
            later = sum(
                w * value(*more, lead + factor * SIGMA * x)
                for w, x in zip(weights, nodes, strict=True)
            )
            assert later == pytest.approx(value(t_b, t_a, lead), rel=1e-9)


def pair_of(dice):
    """A leader and a rival about as far apart as their bounds."""
    decision, epsilon = TopK(dice.choice([2, 3]), 1), dice.choice([0.0, 0.05])
    kernel = Problem(decision, "gaussian", [], nu=0.05, epsilon=epsilon).stepper()
    t = [dice.choice([1, 3, 20, 150, 2000]) for _ in range(2)]
    gap = dice.uniform(0.9, 1.6) * SIGMA * math.sqrt(6.0 / t[0] + 6.0 / t[1])
    third = [(40, -400.0)] * (decision.n_arms - 2)
    load(kernel, [(t[0], t[0] * (gap + 0.1)), (t[1], t[1] * 0.1), *third])
    return kernel.state, kernel.spec


def test_the_search_agrees_with_a_fine_grid_and_never_certifies_what_that_refutes():
    dice, found = random.Random(1), []
    for _ in range(50):
        state, spec = pair_of(dice)
        fails, c = pairs.failure(state, spec, 0, 1)
        low, high = -state.keys[LOWER.row, 0], state.keys[UPPER.row, 1] - spec.epsilon
        grid = np.linspace(min(low, high), max(low, high), 201)
        least = min(pairs.at(state, spec, 0, 1, at)[0] for at in grid)
        assert fails == (least < 0.0) or abs(least) < 1e-3
        if fails:
            assert pairs.at(state, spec, 0, 1, c)[0] < 1e-9
        found.append(fails)
    assert 5 < sum(found) < 45


def test_slopes_are_those_of_the_values():
    dice = random.Random(2)
    for _ in range(40):
        state, spec = pair_of(dice)
        c, d = dice.uniform(-0.5, 1.5), 1e-5
        ends = [pairs.at(state, spec, 0, 1, c + side)[0] for side in (-d, d)]
        slope = pairs.at(state, spec, 0, 1, c)[1]
        assert slope == pytest.approx((ends[1] - ends[0]) / (2 * d), rel=1e-4, abs=1e-3)
