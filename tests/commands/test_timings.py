"""Descriptions of times: figures, outliers, histograms, drift, warnings, relative speed."""

import math
import statistics

import numpy as np
import pytest

from bestk.commands.drift import drifting, trend
from bestk.commands.relative import relative
from bestk.commands.runs import NEVER, Run
from bestk.commands.timings import Timing
from bestk.report.terminal.race import duration
from bestk.report.terminal.timings import warnings
from bestk.rewards import Bounded, Quantile


def runs(command, times, cap=math.inf):
    return [Run(command, i, t, t >= min(cap, NEVER), 0.1 * i, 0.2) for i, t in enumerate(times)]


def timing(*times, command="x"):
    return Timing(command, {}, tuple(runs(command, times)), times)


def noisy(median, many, seed):
    return (median * np.exp(0.1 * np.random.default_rng(seed).standard_normal(many))).tolist()


def test_figures_are_the_usual_ones():
    one = timing(3.0, 1.0, 2.0, 6.0)
    assert (one.mean, one.median) == (3.0, 2.5)
    assert one.stddev == statistics.stdev(one.times)
    assert one.used("user") == pytest.approx(0.15)
    assert timing(1.0).stddev is None


def test_outliers_are_far_from_the_median_in_absolute_deviations():
    assert timing(1.0, 1.1, 0.9, 1.05, 9.0).outliers == [4]
    assert timing(1.0, 1.1, 0.9, 1.05, 1.3).outliers == []
    assert timing(1.0, 1.0, 1.0, 1.1).outliers == [3]  # all others alike
    assert timing(1.0).outliers == []


def test_a_histogram_counts_from_the_least_to_the_largest():
    assert timing(0.0, 0.0, 0.0, 0.0, 1.0).histogram(3) == "█ ▂"
    assert len(timing(1.0, 1.0).histogram(5)) == 5


def test_a_trend_is_found_and_noise_is_not():
    rising = [1.0 + 0.01 * i for i in range(30)]
    assert trend(rising) < 1e-6 > trend(rising[::-1])
    assert trend(rising[:9]) == 1.0  # too few
    assert trend([1.0] * 30) == 1.0
    # ten times in ascending order: S = 45, variance 125, z = 44/sqrt(125)
    assert trend(rising[:10]) == pytest.approx(math.erfc(44 / math.sqrt(250)))
    alarms = sum(trend(noisy(1.0, 40, seed)) <= 0.01 for seed in range(1000))
    assert 1 <= alarms <= 29  # tail probability 1e-6 at 1%


def test_drift_is_told_with_its_size():
    (found,) = drifting({"up": [1.0] * 10 + [1.2] * 10 + [1.5] * 10, "x": noisy(1.0, 30, 1)})
    assert (found.command, found.change) == ("up", pytest.approx(0.5))


def test_warnings_name_outliers_drift_and_shells():
    flat = dict.fromkeys(("x",), timing(*noisy(1.0, 30, 1)))
    assert warnings(flat) == warnings(flat, shell=True) == []
    (said,) = warnings({"x": timing(*[1.0 + 0.01 * i for i in range(30)])})
    assert "drift" in said
    assert ", by +19.1% from" in said  # medians of the first and last ten: 1.045 and 1.245
    assert "the guarantee needs times that do not" in said
    (said,) = warnings({"x": timing(*[1.0 + 0.01 * i for i in range(30)])}, paired=True)
    assert "pairs do not mind" in said
    assert "guarantee" not in said
    (said,) = warnings({"x": timing(1.0, 1.1, 0.9, 1.05, 9.0)})
    assert "1 of 5 runs of x is an outlier" in said
    short = {"x": timing(0.004, 0.0041, 0.0039)}
    assert warnings(short) == []
    (said,) = warnings(short, shell=True)
    assert "less than 5.00 ms" in said
    assert "shell" in said


# --- relative speed -------------------------------------------------------------------------------


def test_ratios_hold_at_once_and_at_all_times():
    """Of three commands, looked at after every block, in at most delta of races one is ever out."""
    wrong = 0
    for seed in range(60):
        times = [noisy(median, 60, (seed, i)) for i, median in enumerate((1.0, 1.1, 2.0))]
        for many in range(8, 61, 4):
            seen = [run for i in range(3) for run in runs("abc"[i], times[i][:many])]
            found = relative(seen, Quantile(), 0.2)
            first = min(found, key=lambda c: found[c].value)
            base = {"a": 1.0, "b": 1.1, "c": 2.0}
            truth = {c: base[c] / base[first] for c in "abc"}
            if not all(found[c].low <= truth[c] <= found[c].high for c in "abc"):
                wrong += 1
                break
    assert wrong <= 29  # 60 races at 0.2: tail probability 1e-6


def test_ratios_become_narrow():
    times = {"a": noisy(1.0, 400, 1), "b": noisy(2.0, 400, 2)}
    found = relative([r for c, own in times.items() for r in runs(c, own)], Quantile(), 0.05)
    assert found["a"].to_dict() == {"ratio": 1.0, "low": 1.0, "high": 1.0}
    assert 1.85 < found["b"].low < found["b"].value < found["b"].high < 2.15
    few = relative([*runs("a", [1.0] * 3), *runs("b", [2.0] * 3)], Quantile(), 0.05)
    assert few["b"].to_dict() == {"ratio": 2.0, "low": 0.0, "high": None}
    assert relative([], Quantile(), 0.05) == {}


def test_nothing_is_known_above_the_cap():
    seen = [*runs("a", [1.0] * 40), *runs("b", [5.0] * 40, cap=5.0)]
    assert relative(seen, Quantile(), 0.05)["b"].to_dict() == {
        "ratio": 5.0,
        "low": 5.0,
        "high": None,
    }
    mean = relative(seen, Bounded(0.0, 5.0), 0.05)["b"]
    assert mean.low < 5.0 < mean.high < math.inf
    interrupted = [*runs("a", [1.0] * 40), *runs("b", [NEVER] * 40)]
    assert math.isinf(relative(interrupted, Quantile(), 0.05)["b"].high)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((0.0009996, 0.0001), "1.00 to 0.100 ms"),
        ((0.001234,), "1.23 ms"),
        ((0.9999,), "1.00 s"),
        ((1234.5, 0.5), "1,234 to 0.500 s"),
        ((0.0,), "0 s"),
    ],
)
def test_times_have_three_digits_and_one_unit(times, said):
    assert duration(*times) == said
