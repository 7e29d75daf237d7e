"""The policies in plain Python that come with bestk, as entries of the catalogue.

Fixed budgets, and reference policies of the field: docs/policies.md has their sources.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bestk.policies.catalogue import CATALOGUE
from bestk.policies.fixed_budget.csar import CSAR
from bestk.policies.fixed_budget.sar import SAR
from bestk.policies.fixed_budget.sequential_halving import MEANS, SequentialHalving
from bestk.policies.fixed_confidence import kl_lucb, kl_racing
from bestk.policies.fixed_confidence.eb_tc import EBTC, EXPLORE, SELECT
from bestk.policies.fixed_confidence.pairs import THRESHOLD
from bestk.policies.fixed_confidence.successive_elimination import C, SuccessiveElimination
from bestk.policies.fixed_confidence.track_and_stop import TrackAndStop
from bestk.policies.fixed_confidence.ttts import TTTS
from bestk.policies.registry import register


def _own(name: str, cls: type, title: str, source: str, about: str, **rest: Any) -> None:
    """Register one under a name that nobody else can take: its class is known by its path."""
    register(name, cls, title=title, source=source, about=about, **rest)
    CATALOGUE[name] = replace(CATALOGUE[name], python=f"{cls.__module__}:{cls.__qualname__}")


def add() -> None:
    """Put all of them into the catalogue."""
    _own(
        "sar", SAR, "SAR", "Bubeck, Wang and Viswanathan (2013), Figure 1",
        "accepts or rejects one arm after each of N - 1 phases", budget=True,
    )  # fmt: skip
    _own(
        "sequential-halving", SequentialHalving, "sequential halving",
        "Karnin, Koren and Somekh (2013), Algorithm 3; K > 1: rounds of Kalyanakrishnan and Stone"
        " (2010)",
        "keeps the better half after each round", budget=True, parameters=[MEANS],
    )  # fmt: skip
    _own(
        "csar", CSAR, "CSAR", "Chen, Lin, King, Lyu and Chen (2014), Algorithm 2",
        "accepts or rejects one arm after each of N phases, for any class", budget=True,
        combinatorial=True,
    )  # fmt: skip
    _own(
        "track-and-stop", TrackAndStop, "Track-and-Stop",
        "Garivier and Kaufmann (2016), D-tracking; stop of Kaufmann and Koolen (2021)",
        "samples in proportion to the shares that attain T*", slack=False, parameters=[THRESHOLD],
    )  # fmt: skip
    _own(
        "eb-tc", EBTC, "EB-TC",
        "Jourdan et al. (2022); K > 1: after You, Qin, Wang and Yang (2023)",
        "samples one of the pair that is hardest to tell apart", slack=False,
        parameters=[THRESHOLD, SELECT, EXPLORE],
    )  # fmt: skip
    _own(
        "ttts", TTTS, "TTTS", "Russo (2016, 2020); K > 1: after You, Qin, Wang and Yang (2023)",
        "samples one of two arms that two draws from the posterior disagree on", slack=False,
        parameters=[THRESHOLD],
    )  # fmt: skip
    _own(
        "kl-lucb", kl_lucb.KLLUCB, "KL-LUCB",
        "Kaufmann and Kalyanakrishnan (2013), Algorithm 2",
        "LUCB with bounds of Bernoulli rewards by divergence",
        parameters=[kl_lucb.ALPHA, kl_lucb.K1],
    )  # fmt: skip
    _own(
        "kl-racing", kl_racing.KLRacing, "KL-racing",
        "Kaufmann and Kalyanakrishnan (2013), Algorithm 1",
        "samples all arms in the race, lets one leave a round (Bernoulli rewards)",
        parameters=[kl_lucb.ALPHA, kl_racing.K1],
    )  # fmt: skip
    _own(
        "successive-elimination", SuccessiveElimination, "successive elimination",
        "Even-Dar, Mannor and Mansour (2006), Algorithm 3; K > 1: as a race",
        "samples all arms in the race, lets all leave that are far from the line",
        parameters=[C],
    )  # fmt: skip
