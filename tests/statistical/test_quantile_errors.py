"""e-lucb on quantiles is wrong at most as often as it says: with atoms, ties and heavy tails."""

import numpy as np
import pytest
from scipy import stats

import bestk
from bestk.problem import Problem

RUNS, DELTA, FALSE_ALARM = 300, 0.2, 1e-6


def cauchy(dice, shift):
    return shift + 0.3 * float(dice.standard_cauchy())


def clock(dice, shift):
    """Times on a coarse clock: the median of arm 0 is 2, of the others 1, all atoms."""
    return float(dice.choice([0.0, 1.0, 2.0, 5.0], p=[0.3, 0.35, 0.3, 0.05])) + shift


def skewed(dice, shift):
    return shift + float(dice.exponential(1.0)) ** 2


@pytest.mark.parametrize("law", [cauchy, clock, skewed])
@pytest.mark.parametrize("q", [0.3, 0.5, 0.8])
def test_the_error_is_kept(law, q):
    shifts = (1.0, 0.0, 0.0)
    wrong = 0
    for run in range(RUNS // 6):
        dice = np.random.default_rng([run, int(100 * q)])
        stepper = Problem(bestk.TopK(3, 1), bestk.Quantile(q), DELTA).stepper(run)
        for _ in range(400):
            arms = stepper.ask()
            if not arms:
                wrong += stepper.answer() != [0]
                break
            for arm in arms:
                stepper.tell(arm, law(dice, shifts[arm]))
    assert wrong <= stats.binom.isf(FALSE_ALARM, RUNS // 6, DELTA)


@pytest.mark.compiled
@pytest.mark.parametrize("q", [0.2, 0.5, 0.9])
def test_ties_of_true_quantiles_at_atoms_do_no_harm(q):
    """Two of four are wanted. Two share the best quantile, an atom of both; the third is close."""
    grid = np.arange(10.0)
    table = np.stack([np.repeat(grid, 10)] * 4)
    table[1] = np.minimum(table[1], 8.0)
    table[2:] = np.maximum(table[2:] - 1.0, 0.0)
    instance = bestk.replay(table, k=2)
    found = bestk.simulate(
        instance, rewards=bestk.Quantile(q), delta=DELTA, runs=4000, seed=5, max_samples=4000
    )
    assert found.wrong <= stats.binom.isf(FALSE_ALARM, 4000, DELTA)
    assert found.wrong + found.unfinished < 4000


@pytest.mark.compiled
def test_where_nothing_is_to_be_found_it_hardly_ever_stops():
    """Two arms alike: every stop is by chance, and either answer counts as wrong half of the time.

    A swapped side, or 1 - q in place of q, stops here within a few samples.
    """
    for q in (0.1, 0.5, 0.9):
        with pytest.warns(bestk.TiedMeansWarning):
            found = bestk.simulate(
                [0.0, 0.0], k=1, rewards=bestk.Quantile(q), delta=0.1, runs=2000, seed=6,
                max_samples=2000,
            )  # fmt: skip
        assert found.finished.sum() <= stats.binom.isf(FALSE_ALARM, 2000, 0.2)
