"""The stop of glr: likelihood ratios by their definition, every pair, and nothing promised."""

from __future__ import annotations

import random
from itertools import permutations, product
from math import log

import numpy as np
import pytest

import bestk
from bestk.errors import InputError, NothingToCertifyError
from bestk.kernels import glr
from bestk.kernels.types import WITNESS_IN, WITNESS_OUT
from bestk.study.certificate import make_certificate
from helpers.lockstep import Problem, load, play


def drawn(dice, family, n, k):
    """A kernel whose arms have been sampled some times, and what was seen of them."""
    kernel = Problem(bestk.TopK(n, k), family, [], policy="glr", nu=0.1).stepper()
    counts = [dice.randint(1, 30) for _ in range(n)]
    if family == "bernoulli":
        seen = [(t, float(dice.randint(0, t))) for t in counts]
    else:
        seen = [(t, t * dice.gauss(0, 0.4)) for t in counts]
    load(kernel, seen)
    return kernel, seen


def divergences(family, m, c):
    if family == "gaussian":
        return (m - c) ** 2 / (2 * 0.5**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit, miss = m * np.log(m / c), (1 - m) * np.log((1 - m) / (1 - c))
    return np.nan_to_num(hit) + np.nan_to_num(miss)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_the_ratio_is_the_least_divergence_from_two_arms_with_one_mean(family):
    dice = random.Random(1)
    for _ in range(20):
        kernel, seen = drawn(dice, family, 2, 1)
        (a,) = kernel.answer()
        means = [s / t for t, s in seen]
        c = np.linspace(min(means), max(means), 20_001)[1:-1]
        if means[0] == means[1]:
            wanted = 0.0
        else:
            parts = [t * divergences(family, m, c) for (t, _), m in zip(seen, means, strict=True)]
            wanted = (parts[0] + parts[1]).min()
        assert glr.ratio(kernel.state, a, 1 - a) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_every_pair_counts_whichever_failed_before(family):
    dice, found = random.Random(2), set()
    for _ in range(300):
        kernel, _ = drawn(dice, family, 4, 2)
        state, spec, inside = kernel.state, kernel.spec, kernel.answer()
        pairs = list(product(inside, set(range(4)) - set(inside)))
        beta = log((1 + log(state.counts.sum())) / 0.1)
        assert glr.threshold(state, spec) == pytest.approx(beta, rel=1e-12)
        wanted = all(glr.ratio(state, a, b) > beta for a, b in pairs)
        for (h, l), witness in product(pairs, [(-1, -1), *permutations(range(4), 2)]):  # noqa: E741
            state.clock[[WITNESS_IN, WITNESS_OUT]] = witness
            assert glr.holds(state, spec, h, l) == wanted
        assert kernel.certifiable_epsilon is None
        found.add((wanted, glr.ratio(state, *pairs[0]) > beta))
    assert (False, True) in found
    assert (True, True) in found


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ratings"])
def test_it_samples_as_e_lucb_does_until_one_of_them_stops(family):
    rounds = []
    for policy in ("e-lucb", "glr"):
        problem = Problem(bestk.TopK(4, 2), family, [0.1, 0.3, 0.5, 0.7], policy=policy, cap=300)
        seen = []
        play(problem, 0, problem.stepper(), lambda what, _, seen=seen: seen.append(what))
        rounds.append(seen)
    proved, unproved = rounds
    assert 50 < len(unproved) < len(proved)
    assert unproved[:-1] == proved[: len(unproved) - 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0.1}, "cannot use a slack"),
        ({"variant": "heuristic"}, "no variants"),
        ({"params": {"threshold": "none"}}, "growing"),
        ({"params": {"rule": "both"}}, "it has threshold"),
        ({"max_arms": 5}, "depend on how many arms"),
        ({"rewards": bestk.Bounded(), "lost": "worst"}, "lost='worst' was refused"),
    ],
)
def test_what_it_cannot_do_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        bestk.Study("s", "abc", k=1, policy="glr", **settings)


def test_it_evaluates_no_finite_set_of_items():
    with pytest.raises(InputError, match="found by e-lucb, not by glr"):
        bestk.Problem(bestk.TopK(3, 1), bestk.Bernoulli(), policy="glr", items=10)


def test_its_answer_is_certified_nowhere(tmp_path):
    file = tmp_path / "s.db"
    study = bestk.Study("s", "abc", k=1, policy="glr", rewards=bestk.Bernoulli(), storage=file)
    while pulls := study.ask():
        for pull in pulls:
            study.tell(pull, float(pull.arm == "b"))
    result = study.result
    assert (result.top, result.stopped) == (("b",), "rule")
    assert not result.certified
    assert result.error_bound is result.theorem is result.certifiable_epsilon is None
    with pytest.raises(NothingToCertifyError, match="nothing is proved of glr"):
        make_certificate(file)
