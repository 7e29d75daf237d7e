"""What is assumed of rewards, restated: their range or scatter, or which quantile is compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

QUANTILE = "quantile"  # the family of rewards whose means are not compared
REWARDS: dict[str, set[str]] = {
    "gaussian": {"sigma"},
    "subgaussian": {"sigma"},
    "bernoulli": set(),
    "ratings": {"levels"},
    "bounded": {"low", "high"},
    "quantile": {"q"},  # and relative, where it is true
}


def require(condition: bool, what: str) -> None:
    """A condition of a theorem: without it nothing is claimed."""
    if not condition:
        raise ValueError(what)


def limits_of(rewards: Mapping[str, Any]) -> tuple[float, float] | None:
    """The least and the largest reward that a family allows; None where there is no range."""
    family = rewards["family"]
    if family in ("gaussian", "subgaussian", QUANTILE):
        return None
    if family == "bernoulli":
        return 0.0, 1.0
    if family == "ratings":
        return float(min(rewards["levels"])), float(max(rewards["levels"]))
    return float(rewards["low"]), float(rewards["high"])


def scales(rewards: Mapping[str, Any]) -> tuple[float, float]:
    """sigma, given or half the range (Hoeffding's lemma), and what differences are measured by."""
    family = rewards["family"]
    require(family in REWARDS, f"the reward family {family} is unknown")
    known = REWARDS[family] | ({"relative"} & rewards.keys() if family == QUANTILE else set())
    require(rewards.keys() - {"family"} == known, f"settings of {family} rewards")
    if family == QUANTILE:
        q, relative = rewards["q"], rewards.get("relative", True)
        require(type(q) is float and 0.0 < q < 1.0 and relative is True, f"the quantile {q}")
        return math.inf, 0.0  # nothing is assumed; bounds are observations, and exact
    limits = limits_of(rewards)
    if limits is None:
        scale = sigma = float(rewards["sigma"])
    else:
        scale, sigma = limits[1] - limits[0], (limits[1] - limits[0]) / 2
    require(sigma > 0.0 and scale < math.inf, f"sigma = {sigma}")
    return sigma, scale


def seen_quantile(rewards: Mapping[str, Any], maximize: bool, is_covered: bool) -> float:
    """Of rewards as the policy sees them, negated to minimise; 0 where means are compared."""
    if rewards["family"] != QUANTILE:
        return 0.0
    require(is_covered, "quantiles where means or totals are compared")
    return float(rewards["q"] if maximize else 1.0 - rewards["q"])
