"""The claims of the paper's text that need runs beyond the plotted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestk.paper import statistics as st
from bestk.paper.panels import BEST_K, NU, SIGMA
from bestk.paper.run import SEED
from bestk.paper.statistics import Estimate
from bestk.paper.verdicts import Claim, Comparison, below, not_below, within
from bestk.policies import CATALOGUE
from bestk.rewards import Gaussian
from bestk.simulation import SimulationResult, make_instance, simulate

RAND = "lil-rand-lucb"
SLIGHTLY = 1.10  # a "slight" improvement: at most 10%
TEN_TIMES = (5.0, 20.0)  # "an order of magnitude": ten within a factor of two

SINGLE: tuple[tuple[str, float | None, str], ...] = (
    ("1-sparse", None, "1"),
    ("lil-exponential", 0.3, "1"),
    ("lil-exponential", 0.6, "1"),
)
HALF: tuple[tuple[str, float | None, str], ...] = (
    ("1-sparse", None, "N/2"),
    ("exponential", 0.3, "N/2"),
)
SMALL_K: tuple[tuple[str, float | None, str], ...] = (
    ("1-sparse", None, "2"),
    ("exponential", 0.3, "2"),
    *SINGLE[:2],
)


@dataclass(frozen=True)
class Lab:
    """Runs what a claim asks for."""

    runs: int
    jobs: int | None
    executor: Executor | None = None

    def run(
        self,
        setting: tuple[str, float | None, str],
        arms: int,
        policy: str,
        variant: str,
        **params: Any,
    ) -> SimulationResult:
        """A policy on an instance of the paper, with the paper's nu and sigma."""
        name, alpha, k = setting
        return simulate(
            make_instance(name, arms=arms, k=k, alpha=alpha),
            policy,
            variant if CATALOGUE[policy].variants else None,
            delta=NU,
            rewards=Gaussian(SIGMA),
            params=params,
            runs=self.runs,
            seed=SEED,
            jobs=self.jobs,
            executor=self.executor,
        )


def _label(setting: tuple[str, float | None, str], arms: int, variant: str) -> str:
    name, alpha, k = setting
    power = "" if alpha is None else f" {alpha}"
    return f"{name}{power} K={k} N={arms} {variant}"


def _cases(
    settings: Sequence[tuple[str, float | None, str]], arms: Sequence[int] = (10, 100)
) -> Iterator[tuple[tuple[str, float | None, str], int, str]]:
    for setting in settings:
        for n in arms:
            for variant in ("faithful", "heuristic"):
                yield setting, n, variant


def _samples(result: SimulationResult) -> Estimate:
    return Estimate(result.mean, result.sem)


def _balance(result: SimulationResult) -> Estimate:
    """Samples of an average top arm over samples of an average other arm."""
    k, n = result.instance.size, result.instance.decision.n_arms
    top = result.top_samples / k
    rest = (result.samples - result.top_samples) / (n - k)
    return st.estimate(top / rest)


def coincide(lab: Lab) -> Claim:
    """Claim 3, on common random numbers and with the same delta (the heuristic one)."""
    runs = different = 0
    for setting in HALF:
        for arms in (10, 100):
            one = lab.run(setting, arms, "lucb++", "heuristic")
            two = lab.run(setting, arms, "lil-lucb", "heuristic")
            different += int(np.sum(one.samples != two.samples))
            runs += one.runs
    interval = st.proportion(different, runs)
    return Claim(
        "3",
        "K=N/2: lucb++ and lil-lucb coincide",
        interval.value,
        (interval.low, interval.high),
        different == 0,
        f"{different} of {runs} runs differ when both use the same delta; their faithful deltas"
        " differ slightly, because their theorems do",
    )


def ten_times(lab: Lab) -> Claim:
    """Claim 5: faithful lil-ucb against the geometric mean of the other five."""
    comparisons = []
    for setting in SINGLE:
        for arms in (10, 100):
            rest = [_samples(lab.run(setting, arms, policy, "faithful")) for policy in BEST_K]
            own = _samples(lab.run(setting, arms, "lil-ucb", "faithful"))
            where = _label(setting, arms, "lil-ucb/others")
            comparisons.append(Comparison(where, own, st.geometric_mean(rest)))
    text = "K=1: faithful lil-ucb about ten times worse than the rest (5 to 20 times)"
    return within("5", text, comparisons, *TEN_TIMES)


def least_sampled(lab: Lab) -> Claim:
    """Claim 7."""
    comparisons = [
        Comparison(
            _label(setting, arms, variant),
            _samples(lab.run(setting, arms, RAND, variant, rule="least-sampled")),
            _samples(lab.run(setting, arms, RAND, variant, rule="both")),
        )
        for setting, arms, variant in _cases(SMALL_K)
    ]
    text = "the least-sampled rule is no better than sampling both"
    return not_below("7", text, comparisons)


def evens_out(lab: Lab) -> Claim:
    """Claim 8: the imbalance of the random rule over that of sampling both."""
    comparisons = []
    for setting, arms, variant in _cases(SMALL_K, (100,)):
        random = _balance(lab.run(setting, arms, RAND, variant, rule="random"))
        both = _balance(lab.run(setting, arms, RAND, variant, rule="both"))
        where = f"{_label(setting, arms, variant)} ({random.mean:.1f} against {both.mean:.1f})"
        comparisons.append(Comparison(where, random, both))
    text = (
        "small K: the random rule evens out samples between the two groups (samples of a top arm"
        " per sample of another arm, random rule over sampling both)"
    )
    return below("8", text, comparisons)


def slightly(lab: Lab) -> Claim:
    """Claim 9: samples with levels delta/N over samples with split levels."""
    comparisons = [
        Comparison(
            _label(setting, arms, variant),
            _samples(lab.run(setting, arms, RAND, variant, levels="uniform")),
            _samples(lab.run(setting, arms, RAND, variant, levels="split")),
        )
        for setting, arms, variant in _cases(SMALL_K)
    ]
    text = "split levels improve on delta/N only slightly (by at most 10%)"
    return below("9", text, comparisons, SLIGHTLY)


FURTHER: tuple[Callable[[Lab], Claim], ...] = (
    coincide,
    ten_times,
    least_sampled,
    evens_out,
    slightly,
)
