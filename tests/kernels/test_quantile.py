"""Evidence on quantiles: against exact fractions, by enumeration with atoms, and its bounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import bestk
from bestk.kernels import quantile, statistics
from bestk.kernels.types import HIGH, LOW, ROOM, START, TAKEN
from bestk.problem import Problem
from bestk.rewards.evidence import Setting
from reference.naive_quantile import ALONE, FRACTIONS, PAIRED, WEIGHTS, Arm, wealth

QS = (0.1, 0.5, 0.9)


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("end", [LOW, HIGH])
def test_evidence_is_the_mixture_of_bets(q, end):
    alone, both = (
        bestk.Quantile(q).policy_evidence(Setting(both=hybrid)) for hybrid in (False, True)
    )
    p = 1 - q if end == LOW else q
    for t in (1, 2, 7, 40):
        for k in range(t + 1):
            for e, log_weights, weights in (
                (alone, alone.log_weights, WEIGHTS),
                (both, both.log_weights, ALONE),
                (both, both.log_paired, PAIRED),
            ):
                found = quantile.log_evidence(e, log_weights, end, float(t), float(k))
                assert found == pytest.approx(math.log(wealth(k, t, p, weights)), abs=1e-12)


@pytest.mark.parametrize("weights", [WEIGHTS, ALONE, PAIRED], ids=["bounds", "alone", "paired"])
@pytest.mark.parametrize("shares", [(0.2, 0.5, 0.3), (0.5, 0.25, 0.25), (0.1, 0.0, 0.9)])
def test_the_expected_evidence_at_the_quantile_is_one_at_most(shares, weights):
    """Over every sequence of up to six draws from three atoms, for every quantile there is."""
    values, shares = (1.0, 2.0, 3.0), [Fraction(share).limit_denominator(100) for share in shares]
    for q in (Fraction(1, 10), Fraction(1, 2), Fraction(7, 10)):
        cumulated = list(itertools.accumulate(shares))
        least = next(x for x, c in zip(values, cumulated, strict=True) if c >= q)
        most = next((x for x, c in zip(values, cumulated, strict=True) if c > q), values[-1])
        for truth in (least, (least + most) / 2, most):
            for hit, p in ((lambda x: x > truth, 1 - q), (lambda x: x < truth, q)):  # noqa: B023
                chance = sum(s for x, s in zip(values, shares, strict=True) if hit(x))
                assert chance <= p
                for t in range(1, 7):
                    expected = sum(
                        math.comb(t, k) * chance**k * (1 - chance) ** (t - k)
                        * wealth(k, t, p, weights)
                        for k in range(t + 1)
                    )  # fmt: skip
                    assert expected <= 1
                    if chance == p:
                        assert expected == 1  # a fair bet: no constant is too small either


@pytest.mark.parametrize("q", QS)
def test_the_hits_needed_are_the_least_with_enough_evidence(q):
    e = bestk.Quantile(q).evidence()
    for end, t in itertools.product((LOW, HIGH), (1, 3, 10, 29, 300, 20_000)):
        for level in (0.5, 0.05, 1e-4, 1e-12):
            target = -math.log(level)
            k = quantile.hits_needed(e, end, t, target)
            assert k == t + 1 or quantile.log_evidence(e, e.log_weights, end, t, k) >= target
            assert quantile.log_evidence(e, e.log_weights, end, t, min(k - 1, t)) < target


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("maximize", [True, False])
def test_bounds_and_quantiles_are_those_of_the_definition(q, maximize):
    """With ties, and with more observations than there was room for at first."""
    problem = Problem(bestk.TopK(3, 1), bestk.Quantile(q), 0.1, maximize=maximize)
    stepper, dice = problem.stepper(1), np.random.default_rng(3)
    arms = [Arm(q if maximize else 1 - q) for _ in range(3)]
    sign = 1.0 if maximize else -1.0
    low, high = np.zeros(3), np.zeros(3)
    for turn in range(240):
        arm = turn % 3 if turn < 6 else int(dice.integers(3))
        reward = float(np.round(dice.normal(arm, 2.0), 1))
        stepper.tell(arm, reward)
        arms[arm].seen.append(sign * reward)
        if turn % 20 == 7:
            stepper.machine.call("intervals", low, high)
            spec, state = stepper.spec, stepper.state
            for i, naive in enumerate(arms):
                assert low[i] == naive.lower(math.exp(spec.log_lower))
                assert high[i] == naive.upper(math.exp(spec.log_upper))
                assert state.means[i] == pytest.approx(naive.quantile(), rel=1e-14, abs=1e-14)
                assert state.means[i] == pytest.approx(np.quantile(naive.seen, naive.q))
                start = state.places[START, i]
                own = state.ordered[start : start + state.counts[i]]
                assert own.tolist() == sorted(naive.seen)


def test_rooms_never_overlap_and_grow_with_what_is_told():
    problem = Problem(bestk.TopK(4, 2), bestk.Quantile(), 0.1)
    stepper = problem.stepper(1)
    for turn in range(500):
        stepper.tell(turn % 4 if turn < 40 else 2, float(-turn))
    state = stepper.state
    starts, rooms = state.places[START], state.places[ROOM]
    spans = sorted(zip(starts.tolist(), (starts + rooms).tolist(), strict=True))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert spans[-1][1] <= state.clock[TAKEN] <= state.ordered.size
    assert (rooms >= state.counts).all()
    assert state.ordered.size < 8 * 500


def test_many_at_once_are_the_same_as_one_by_one():
    problem = Problem(bestk.TopK(3, 1), bestk.Quantile(0.3), 0.1)
    dice = np.random.default_rng(4)
    arms = np.concatenate([[0, 1, 2], dice.integers(3, size=300)])
    rewards = np.round(dice.normal(size=arms.size), 1)
    one, many = problem.stepper(1), problem.stepper(1)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        one.tell(arm, reward)
    for part in np.array_split(np.arange(arms.size), 5):
        many.machine.tell_many(arms[part], rewards[part])
    assert many.ask() == one.ask()
    np.testing.assert_array_equal(many.state.means, one.state.means)
    np.testing.assert_array_equal(many.state.counts, one.state.counts)
    for i in range(3):
        own = [
            s.ordered[s.places[START, i] :][: s.counts[i]].tolist() for s in (one.state, many.state)
        ]
        assert own[0] == own[1]
    statistics.make_room(many.state, 10_000)
    assert many.answer() == one.answer()


def test_fractions_and_weights_are_those_of_the_documents():
    e = bestk.Quantile().evidence()
    assert e.points.tolist() == list(FRACTIONS)
    np.testing.assert_allclose(np.exp(e.log_weights).sum(), 1.0)
