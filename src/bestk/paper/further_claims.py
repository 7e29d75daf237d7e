"""The claims of the paper's text that need runs beyond the plotted ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bestk.paper import statistics as st
from bestk.paper.panels import BEST_K, VARIANTS, variant_of
from bestk.paper.run import Lab
from bestk.paper.statistics import Estimate
from bestk.paper.verdicts import Claim, Comparison, below, not_below, within
from bestk.simulation import SimulationResult, make_instance

RAND = "lil-rand-lucb"
SLIGHTLY = 1.10  # a "slight" improvement: at most 10%
TEN_TIMES = (5.0, 20.0)  # "an order of magnitude": ten within a factor of two

Setting = tuple[str, float | None, str]  # instance, alpha, K
SINGLE: tuple[Setting, ...] = (
    ("1-sparse", None, "1"),
    ("lil-exponential", 0.3, "1"),
    ("lil-exponential", 0.6, "1"),
)
HALF: tuple[Setting, ...] = (("1-sparse", None, "N/2"), ("exponential", 0.3, "N/2"))
SMALL_K: tuple[Setting, ...] = (("1-sparse", None, "2"), ("exponential", 0.3, "2"), *SINGLE[:2])


def _run(
    lab: Lab, setting: Setting, arms: int, policy: str, variant: str, **params: Any
) -> SimulationResult:
    name, alpha, k = setting
    instance = make_instance(name, arms=arms, k=k, alpha=alpha)
    return lab.run(instance, policy, variant_of(policy, variant), **params)


def _label(setting: Setting, arms: int, what: str) -> str:
    name, alpha, k = setting
    power = "" if alpha is None else f" {alpha}"
    return f"{name}{power} K={k} N={arms} {what}"


def _samples(result: SimulationResult) -> Estimate:
    return Estimate(result.mean, result.sem)


def _balance(result: SimulationResult) -> Estimate:
    """Samples of an average top arm over samples of an average other arm."""
    k, n = result.instance.size, result.instance.decision.n_arms
    top = result.top_samples / k
    rest = (result.samples - result.top_samples) / (n - k)
    return st.estimate(top / rest)


def _settings_of_rand(
    lab: Lab,
    parameter: str,
    first: str,
    second: str,
    arms: Sequence[int] = (10, 100),
    measure: Callable[[SimulationResult], Estimate] = _samples,
) -> list[Comparison]:
    """lil-rand-lucb with one value of a parameter against another, for small K."""
    found = []
    for setting in SMALL_K:
        for n in arms:
            for variant in VARIANTS:
                one, two = (
                    measure(_run(lab, setting, n, RAND, variant, **{parameter: value}))
                    for value in (first, second)
                )
                found.append(Comparison(_label(setting, n, variant), one, two))
    return found


def coincide(lab: Lab) -> Claim:
    """Claim 3, on common random numbers and with the same delta (the heuristic one)."""
    runs = different = 0
    for setting in HALF:
        for arms in (10, 100):
            one = _run(lab, setting, arms, "lucb++", "heuristic")
            two = _run(lab, setting, arms, "lil-lucb", "heuristic")
            different += int(np.sum(one.samples != two.samples))
            runs += one.runs
    detail = (
        f"{different} of {runs} runs differ when both use the same delta; their faithful deltas"
        " differ slightly, because their theorems do"
    )
    text, found = "K=N/2: lucb++ and lil-lucb coincide", st.proportion(different, runs)
    return Claim.about("3", text, found, different == 0, detail)


def ten_times(lab: Lab) -> Claim:
    """Claim 5: faithful lil-ucb against the geometric mean of the other five."""
    comparisons = []
    for setting in SINGLE:
        for arms in (10, 100):
            own, *rest = (
                _samples(_run(lab, setting, arms, policy, "faithful"))
                for policy in ("lil-ucb", *BEST_K)
            )
            where = _label(setting, arms, "lil-ucb/others")
            comparisons.append(Comparison(where, own, st.geometric_mean(rest)))
    text = "K=1: faithful lil-ucb about ten times worse than the rest (5 to 20 times)"
    return within("5", text, comparisons, *TEN_TIMES)


def least_sampled(lab: Lab) -> Claim:
    """Claim 7."""
    text = "the least-sampled rule is no better than sampling both"
    return not_below("7", text, _settings_of_rand(lab, "rule", "least-sampled", "both"))


def evens_out(lab: Lab) -> Claim:
    """Claim 8: the imbalance of the random rule over that of sampling both."""
    comparisons = [
        Comparison(f"{where} ({random.mean:.1f} against {both.mean:.1f})", random, both)
        for where, random, both in _settings_of_rand(
            lab, "rule", "random", "both", (100,), _balance
        )
    ]
    text = (
        "small K: the random rule evens out samples between the two groups (samples of a top arm"
        " per sample of another arm, random rule over sampling both)"
    )
    return below("8", text, comparisons)


def slightly(lab: Lab) -> Claim:
    """Claim 9: samples with levels delta/N over samples with split levels."""
    text = "split levels improve on delta/N only slightly (by at most 10%)"
    return below("9", text, _settings_of_rand(lab, "levels", "uniform", "split"), SLIGHTLY)


FURTHER = (coincide, ten_times, least_sampled, evens_out, slightly)
